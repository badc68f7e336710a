"""What a pod's spec asks for that this node does not do, though nothing refuses it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.cluster.node.content import user_identity


def ignored(spec: Json, *, switches_users: bool, has_namespaces: bool) -> Iterator[tuple[str, str]]:
    """The reason and message of each event that says so. `has_namespaces` of a node whose containers have processes and a network
    of their own; without, they see all of the machine's."""
    if not switches_users and (message := user_identity.ignored(spec)):
        yield "UserIgnored", message
    fields = [*_sysctls(spec), *(_of_namespaces(spec) if has_namespaces else ())]
    if fields:
        yield "FieldsIgnored", f"this node does not do: {'; '.join(fields)}"


def _sysctls(spec: Json) -> Iterator[str]:
    names = [one["name"] for one in (spec.get("securityContext") or {}).get("sysctls") or ()]
    if names:
        yield f"spec.securityContext.sysctls ({', '.join(names)} are those of the machine or of a new network)"


def _of_namespaces(spec: Json) -> Iterator[str]:
    if spec.get("hostPID"):
        yield "spec.hostPID (each container sees its own processes only)"
    if spec.get("shareProcessNamespace"):
        yield "spec.shareProcessNamespace (each container sees its own processes only)"
    if spec.get("hostIPC"):
        yield "spec.hostIPC (the pod has shared memory and semaphores of its own)"
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    ports = [str(port["hostPort"]) for one in containers for port in one.get("ports") or () if port.get("hostPort")]
    if ports and not spec.get("hostNetwork"):
        yield f"hostPort ({', '.join(ports)} of the machine lead nowhere: use kubectl port-forward, or hostNetwork)"
