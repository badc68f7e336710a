"""The pod templates: what a TrainJob says of its training container, and all the rest in the runtime (3.3)."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import ANCESTOR_LABEL, ANCESTOR_TRAINER, NODE
from shunter.migrate.draft import Draft, Group
from shunter.migrate.rules.restart_policy import pod_restart_policy

_OF_THE_TRAINER = {"image": "image", "command": "command", "args": "args", "env": "env", "resources": "resourcesPerNode"}
"""Fields of the training container that the TrainJob itself says."""


def apply(draft: Draft) -> None:
    draft.jobset["replicatedJobs"] = [_replicated_job(draft, group) for group in draft.groups]
    for group in draft.groups:
        for role in group.roles:
            draft.carry((*draft.role_path(role), "template"), "TrainingRuntime", draft.pod_template_path(group))
            draft.default((*draft.role_path(role), "replicas"), f"counted in numNodes, or as the pods of {group.name}")
            if group.trains:
                _account_for_trainer(draft, role)


def _account_for_trainer(draft: Draft, role: str) -> None:
    container = (*draft.role_path(role), "template", "spec", "containers", draft.container_index(role))
    for field, name in _OF_THE_TRAINER.items():
        if draft.is_given((*container, field)):
            draft.carry((*container, field), "TrainJob", ("spec", "trainer", name))


def _replicated_job(draft: Draft, group: Group) -> Json:
    role = group.roles[0]
    template = draft.job.replicas[role].template
    spec: Json = dict(template.get("spec") or {})
    containers = [dict(container) for container in spec.get("containers") or []]
    training = containers[draft.container_index(role)]
    group.container_names[training.get("name", "")] = training["name"] = NODE
    training["env"] = [*group.plugin_placeholders, *group.environment, *(training.get("env") or [])]
    if group.trains:
        own = training["env"][: len(group.plugin_placeholders) + len(group.environment)]
        for field, name in _OF_THE_TRAINER.items():
            if field in training:
                value = training.pop(field)
                draft.trainer[name] = value[len(own) :] if field == "env" else value
        training["env"] = own
    spec |= {"containers": containers, "restartPolicy": pod_restart_policy(draft, group)}
    pod: Json = {"spec": spec}
    if template.get("metadata"):
        pod = {"metadata": template["metadata"], **pod}
    labels = {"metadata": {"labels": {ANCESTOR_LABEL: ANCESTOR_TRAINER}}} if group.trains else {}
    count = {"parallelism": group.count, "completions": group.count}
    return {
        "name": group.name,
        **({"replicas": group.replicas} if group.replicas > 1 else {}),
        "template": {**labels, "spec": {**group.job_spec, **count, "template": pod}},
    }
