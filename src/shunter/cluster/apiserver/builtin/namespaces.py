"""The Namespace kind. Its finalizer `kubernetes` keeps it until the namespace controller has emptied it.

Source: k8s.io/kubernetes 1.36 `registry/core/namespace`.
"""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.field_errors import FieldError, invalid
from shunter.api.meta import Json
from shunter.api.names import label_faults, label_key_faults
from shunter.api.resources import NAMESPACES
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import faults
from shunter.cluster.apiserver.kinds import Kind

_FINALIZER = "kubernetes"
_STANDARD_FINALIZERS = (_FINALIZER, "orphan", "foregroundDeletion")
_NAME_LABEL = "kubernetes.io/metadata.name"


def kind() -> Kind:
    """An update keeps the stored spec, finalizers included. Names are labels: they have no dots and at most 63 characters."""
    return typed(
        NAMESPACES,
        short_names=("ns",),
        has_status=True,
        tracks_generation=False,
        selectable_fields=("status.phase",),
        name_faults=label_faults,
        default=_default,
        prepare=_prepare,
        validate=_validate,
        validate_status=_status_errors,
    )


def _default(namespace: Json) -> None:
    metadata = namespace["metadata"]
    if name := metadata.get("name"):
        metadata["labels"] = dict(sorted({**metadata.get("labels", {}), _NAME_LABEL: name}.items()))
    namespace.setdefault("status", {}).setdefault("phase", "Active")


def _prepare(namespace: Json, old: Json | None) -> None:
    if old is not None:
        namespace["spec"] = dict(old["spec"])
        return
    _default(namespace)
    namespace["status"] = {"phase": "Active"}
    finalizers = namespace["spec"].get("finalizers", [])
    namespace["spec"]["finalizers"] = finalizers if _FINALIZER in finalizers else [*finalizers, _FINALIZER]


def _status_errors(namespace: Json, old: Json | None) -> list[FieldError]:
    goes, phase = "deletionTimestamp" in namespace["metadata"], namespace["status"].get("phase", "")
    if goes == (phase == "Terminating") and (goes or phase == "Active"):
        return []
    allowed = ("Terminating", "not empty") if goes else ("Active", "empty")
    return [invalid("status.Phase", phase, "may only be '{}' if `deletionTimestamp` is {}".format(*allowed))]


def finalizer_errors(finalizers: list[str]) -> list[FieldError]:
    """What is wrong with those that the subresource `finalize` is given."""
    return _finalizer_errors(finalizers, "spec.finalizers[{}]")


def _validate(namespace: Json, old: Json | None) -> list[FieldError]:
    return _finalizer_errors(namespace["spec"].get("finalizers", ()), "spec.finalizers")


def _finalizer_errors(finalizers: Sequence[str], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, name in enumerate(finalizers):
        here = field.format(index)
        errors += faults(here, name, label_key_faults(name))
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(invalid(here, name, detail))
    return errors
