"""What admission refuses in every job kind of kubeflow.org/v1. Texts are upstream's; ids in brackets are its specification's.

Beside these rules nothing is checked on admission: replicas, templates and run policy may change at any time.
"""

from __future__ import annotations

from collections.abc import Mapping

from shunter.api.batch import MOST_PODS
from shunter.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from shunter.api.names import label_1035_faults
from shunter.api.scheduling.kueue import MANAGED_BY_KUEUE
from shunter.api.shapes import template_fault
from shunter.api.training.job import MANAGED_BY_US, JobView, ReplicaSpec, RunPolicy
from shunter.api.training.job_kind import JobKind

RUN_POLICY = "spec.runPolicy"
TOO_MANY = f"must not be more than {MOST_PODS}"


def job_errors(job: JobView, old: JobView | None) -> list[FieldError]:
    """What every kind refuses: the name, and the run policy (`old` is None on creation)."""
    return [
        *_name_errors(job.metadata.name),
        *_run_policy_errors(job.spec.run_policy, old.spec.run_policy if old else None),
    ]


def replica_errors(role: str, spec: ReplicaSpec, kind: JobKind, *, container: str = "") -> list[FieldError]:
    """What most kinds refuse of a role: one that the kind does not have, its containers, and too many pods. `container` is how
    the text writes the name of the container that trains."""
    field = f"spec.{kind.replica_specs}[{role}]"
    return [
        *([] if role in kind.roles else [not_supported(field, role, list(kind.roles))]),
        *container_errors(spec, field=field, container=kind.container, shown=container),
        *too_many_errors(spec, field=field),
    ]


def _name_errors(name: str) -> list[FieldError]:
    """The name becomes part of service names, so it is a DNS-1035 label."""
    # Upstream was built with an older apimachinery, which counts characters where today's counts bytes.
    faults = [fault.replace("63 bytes", "63 characters") for fault in label_1035_faults(name)]
    return [invalid("metadata.name", name, f"should match: {','.join(faults)}")] if faults else []


def _run_policy_errors(policy: RunPolicy, old: RunPolicy | None) -> list[FieldError]:
    """`managedBy` names one of two managers and never changes, for every kind (upstream: for some).

    A stored value that names neither manager may be corrected. `old` is None on creation."""
    field, manager = f"{RUN_POLICY}.managedBy", policy.managed_by
    errors = []
    if old is not None and manager != old.managed_by and _is_manager(old.managed_by):
        errors.append(invalid(field, manager, "field is immutable"))
    if not _is_manager(manager):
        errors.append(not_supported(field, manager, [MANAGED_BY_KUEUE, MANAGED_BY_US]))
    return errors


def _is_manager(name: str | None) -> bool:
    return name in (None, MANAGED_BY_KUEUE, MANAGED_BY_US)


def missing_roles_errors(specs: Mapping[str, ReplicaSpec], kind: JobKind) -> list[FieldError]:
    """A job without roles. Upstream accepts an empty map, and then never looks at the job again."""
    return [] if specs else [required(f"spec.{kind.replica_specs}", "must be required")]


def container_errors(spec: ReplicaSpec, *, field: str, container: str, shown: str = "") -> list[FieldError]:
    """Every container has an image, and one is called `container`; `shown` is how the text writes that name."""
    if misshapen := template_errors(spec, field=field):
        return misshapen
    containers = (spec.template.get("spec") or {}).get("containers") or []
    at = f"{field}.template.spec.containers"
    errors = [] if containers else [required(at, "must be specified")]
    errors += [
        required(f"{at}[{index}].image", "must be required")
        for index, candidate in enumerate(containers)
        if not candidate.get("image")
    ]
    if not any(candidate.get("name") == container for candidate in containers):
        errors.append(required(at, f"must have at least one container with name {shown or container}"))
    return errors


def template_errors(spec: ReplicaSpec, *, field: str) -> list[FieldError]:
    """The first part of the pod template that is of another type than everything here relies on."""
    fault = template_fault(spec.template)
    if fault is None:
        return []
    at = f"{field}.template.{fault.field}".rstrip(".")
    return [FieldError("FieldValueTypeInvalid", at, f"Invalid value: {fault.text}")]


def too_many_errors(spec: ReplicaSpec, *, field: str) -> list[FieldError]:
    """Refuses absurd numbers of pods of one role: upstream accepts any number, and loops over all in every reconcile."""
    if spec.replicas is None or spec.replicas <= MOST_PODS:
        return []
    return [invalid(f"{field}.replicas", spec.replicas, TOO_MANY)]


def exactly_one_errors(spec: ReplicaSpec, *, field: str) -> list[FieldError]:
    """A master's number of replicas is written down, and is 1."""
    return [] if spec.replicas == 1 else [forbidden(f"{field}.replicas", "must be 1")]
