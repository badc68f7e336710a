"""Defaults that all job kinds of kubeflow.org/v1 share. Applied to what is read, never written back to the object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from shunter.api.meta import Json
from shunter.api.shapes import is_template
from shunter.api.training.job import ReplicaSpec, RunPolicy
from shunter.api.training.job_kind import JobKind, Port


def run_policy_with_defaults(policy: RunPolicy) -> RunPolicy:
    """No pod is deleted at the end unless the job says so."""
    return policy if policy.clean_pod_policy is not None else replace(policy, clean_pod_policy="None")


def replica_specs_with_defaults(specs: Mapping[str, ReplicaSpec], kind: JobKind) -> dict[str, ReplicaSpec]:
    """Every role with its defaults, in the kind's order; roles that the kind does not have come last."""
    given = with_canonical_roles(specs, kind.roles)
    ordered = {role: given[role] for role in kind.roles if role in given} | given
    return {role: replica_with_defaults(spec, kind) for role, spec in ordered.items()}


def with_canonical_roles(specs: Mapping[str, ReplicaSpec], roles: Iterable[str]) -> dict[str, ReplicaSpec]:
    """The replica specs with roles spelled as the kind spells them: `worker` becomes `Worker`."""
    spelling = {role.lower(): role for role in roles}
    return {spelling.get(role.lower(), role): spec for role, spec in specs.items()}


def replica_with_defaults(spec: ReplicaSpec, kind: JobKind, *, replicas: int = 1) -> ReplicaSpec:
    """One role with its number of pods, restart policy and default port. A template that cannot be read, which is for
    validation to name, counts as empty."""
    template = spec.template if is_template(spec.template) else {}
    return ReplicaSpec(
        replicas=replicas if spec.replicas is None else spec.replicas,
        template=template_with_port(template, container=kind.container, port=kind.port) if kind.port else template,
        restart_policy=spec.restart_policy or kind.restart_policy,
    )


def template_with_port(template: Json, *, container: str, port: Port) -> Json:
    """The pod template with the default port on the container of that name, or else on the first one.

    Only a port of the same name counts as there already; one of the same number is doubled, as upstream does.
    """
    containers: list[Json] = (template.get("spec") or {}).get("containers") or []
    if not containers:
        return template
    index = next((i for i, candidate in enumerate(containers) if candidate.get("name") == container), 0)
    ports: list[Json] = containers[index].get("ports") or []
    if any(existing.get("name") == port.name for existing in ports):
        return template
    with_port = {**containers[index], "ports": [*ports, {"name": port.name, "containerPort": port.number}]}
    return {
        **template,
        "spec": {**template["spec"], "containers": [*containers[:index], with_port, *containers[index + 1 :]]},
    }
