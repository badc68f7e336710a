"""The pod templates of the groups: copies of the source's, for the rules after this one to change."""

from __future__ import annotations

from shunter.api.meta import without_nulls
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.rules.restart_policy import JOBSET_RESTART_POLICY, pod_restart_policy, restart_policy
from shunter.migrate.conversion.templates import differing_ports
from shunter.migrate.paths import Path

_METADATA = ("labels", "annotations", "finalizers")
"""What v1's schema keeps of a template's metadata and its operator looks at."""


def apply(draft: Draft) -> None:
    """Gives each group its `pod`, which is the first role's template, with the restart policy and what the kind's module
    changes."""
    for group in draft.groups:
        group.pod = without_nulls(draft.given(draft.template_paths(group)[0]))
        for role, template in zip(group.roles, draft.template_paths(group), strict=True):
            draft.carry(template, "TrainingRuntime", draft.pod_template_path(group))
            draft.default((*draft.role_path(role), "replicas"), f"counted in numNodes, or as the pods of {group.name}")
        for path in differing_ports(draft, group.roles):
            draft.default(path, f"ports are informational; those of {group.roles[0]} stand")
        _leave_out(draft, group)
        policy = pod_restart_policy(restart_policy(draft, group))
        if policy != JOBSET_RESTART_POLICY:
            group.pod["spec"]["restartPolicy"] = policy
        training = draft.training_container(group)
        place: Path = ("spec", "containers", draft.container_index(group.roles[0]))
        for field, change in group.changes.items():
            training[field] = change.value
            draft.changed(group, (*place, field), change.note)


def _leave_out(draft: Draft, group: Group) -> None:
    """What v1 does not look at either, and what Go writes although it says nothing."""
    pod = group.pod
    pod["metadata"] = {field: value for field, value in (pod.get("metadata") or {}).items() if field in _METADATA and value}
    if not pod["metadata"]:
        del pod["metadata"]
    pod.pop("status", None)
    pod["spec"].pop("restartPolicy", None)
    for template in draft.template_paths(group):
        metadata = draft.given((*template, "metadata"))
        for field in metadata if isinstance(metadata, dict) else ():
            if field not in _METADATA:
                draft.default((*template, "metadata", field), "v1 gives pods their own")
        draft.default((*template, "spec", "restartPolicy"), "v1 puts the role's restartPolicy in its place")
        draft.default((*template, "status"), "a template has none")
