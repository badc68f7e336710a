"""The pods a job gets, as upstream writes them: the replica's template plus labels, environment, init containers, policy.

Parts that all pods of a role share are built once and shared between the desired objects, which are never changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.api.pod_security import restrictions
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.job import AnyJob
from shunter.operator.training.names import JOB_ROLE, MASTER_ROLE, replica_labels, replica_name


def desired_pods(framework: AnyFramework, job: AnyJob) -> list[Json]:
    """Every pod of the job, in rank order."""
    roles = ((role, range(job.replica_count(role))) for role in job.replicas)
    return [pod for role, indexes in roles for pod in replicas(framework, job, role, indexes)]


def replicas(framework: AnyFramework, job: AnyJob, replica_type: str, indexes: range | list[int]) -> Iterator[Json]:
    """The pods of one role with these indexes."""
    spec = job.replicas[replica_type]
    template_metadata = spec.template.get("metadata") or {}
    template_spec = spec.template.get("spec") or {}
    containers = template_spec.get("containers") or []
    inherited = {field: template_metadata[field] for field in ("annotations", "finalizers") if template_metadata.get(field)}
    template_labels = template_metadata.get("labels") or {}
    owners = [job.owner_reference]
    shared_spec = {**template_spec, "restartPolicy": pod_restart_policy(spec.restart_policy)}
    init_containers = framework.init_containers(job, replica_type)
    if init_containers:
        trained: Json = next((container for container in containers if container.get("name") == framework.container), {})
        added = [{**restrictions(trained), **container} for container in init_containers]
        shared_spec["initContainers"] = [*(template_spec.get("initContainers") or []), *added]
    environment_of = framework.environment(job, replica_type)
    gets_environment = [framework.shares_environment or container.get("name") == framework.container for container in containers]
    for index in indexes:
        labels = {**template_labels, **replica_labels(job, replica_type, index)}
        if framework.is_master_role(job, replica_type, index):
            labels[JOB_ROLE] = MASTER_ROLE
        environment = environment_of(index)
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": replica_name(job.name, replica_type, index),
                "namespace": job.namespace,
                "labels": labels,
                **inherited,
                "ownerReferences": owners,
            },
            "spec": {
                **shared_spec,
                # The user's variables first: of two with one name the container gets the last, so the operator's win.
                "containers": [
                    {**container, "env": [*(container.get("env") or []), *environment]} if gets_it else container
                    for container, gets_it in zip(containers, gets_environment, strict=True)
                ],
            },
        }


def pod_restart_policy(restart_policy: str) -> str:
    """ExitCode is our own policy: such pods never restart in place, the engine replaces them."""
    return "Never" if restart_policy == "ExitCode" else restart_policy


OVERWRITTEN_RESTART_POLICY = "Restart policy in pod template will be overwritten by restart policy in replica spec"


def sets_own_restart_policy(job: AnyJob, replica_type: str) -> bool:
    """Whether a template has a restart policy, which the replica's overrides."""
    return bool((job.replicas[replica_type].template.get("spec") or {}).get("restartPolicy"))
