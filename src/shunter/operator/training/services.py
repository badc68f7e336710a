"""The services a job gets: one headless service a pod, of the pod's name, with the ports of the training container."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.job import AnyJob
from shunter.operator.training.names import replica_labels, replica_name


def desired_services(framework: AnyFramework, job: AnyJob) -> list[Json]:
    """Every service of the job, in the order of its pods."""
    roles = ((role, range(job.replica_count(role))) for role in job.replicas)
    return [service for role, indexes in roles for service in services(framework, job, role, indexes)]


def services(framework: AnyFramework, job: AnyJob, replica_type: str, indexes: range | list[int]) -> Iterator[Json]:
    """The services of one role with these indexes."""
    ports = service_ports(job.replicas[replica_type].template, framework.container)
    owners = [job.owner_reference]
    for index in indexes:
        labels = replica_labels(job, replica_type, index)
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": replica_name(job.name, replica_type, index),
                "namespace": job.namespace,
                "labels": labels,
                "ownerReferences": owners,
            },
            "spec": {"clusterIP": "None", "selector": labels, **({"ports": ports} if ports else {})},
        }


def service_ports(template: Json, container_name: str) -> list[Json]:
    """The ports of the training container by name: protocols are dropped, and of two of one name the last stays, as upstream.

    The API server refuses a service with one number twice, and unnamed ports beside others. So the first of a number stays, and
    unnamed ones go: a headless service leads to all ports of its pod anyway."""
    containers = (template.get("spec") or {}).get("containers") or []
    container: Json = next((container for container in containers if container.get("name") == container_name), {})
    named = {port.get("name") or "": port.get("containerPort") for port in container.get("ports") or []}
    if len(named) > 1:
        named.pop("", None)
    names: dict[int, str] = {}
    for name, number in named.items():
        names.setdefault(number, name)
    return [{**({"name": name} if name else {}), "port": number} for number, name in names.items()]
