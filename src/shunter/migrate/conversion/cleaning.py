"""What of an object its user wrote: the rest, which a cluster adds, would stand in the way when it is applied again."""

from __future__ import annotations

import hashlib

import msgspec

from shunter.api.meta import LAST_APPLIED, Json
from shunter.migrate.conversion.rules.metadata import OF_THE_CLUSTER
from shunter.operator.overview import is_v2

_BOUND_TO_THE_PAST = ("ownerReferences", "finalizers")
"""The owner has another uid when it is made again, and the garbage collector would delete what names the old one; a finalizer is
set anew by the controller that honours it."""


def clean(obj: Json) -> Json:
    """The object as it can be applied again: no status, nothing that the server counts, no owners."""
    metadata = {field: value for field, value in obj["metadata"].items() if field not in (*OF_THE_CLUSTER, *_BOUND_TO_THE_PAST)}
    annotations = {key: value for key, value in (metadata.pop("annotations", None) or {}).items() if key != LAST_APPLIED}
    if annotations:
        metadata["annotations"] = annotations
    return {field: metadata if field == "metadata" else value for field, value in obj.items() if field != "status"}


def suspended(job: Json) -> Json:
    """The job, of either generation, as one that runs nothing until it is resumed."""
    return _with_suspend(job, True)


def resumed(job: Json) -> Json:
    """The job, of either generation, as one that was resumed."""
    return _with_suspend(job, False)


def _with_suspend(job: Json, suspend: bool) -> Json:
    spec = job.get("spec") or {}
    if is_v2(job):
        return {**job, "spec": {**spec, "suspend": suspend}}
    return {**job, "spec": {**spec, "runPolicy": {**(spec.get("runPolicy") or {}), "suspend": suspend}}}


def digest(obj: Json) -> str:
    """SHA-256 (hex) of what the user wrote: equal for two readings of an object that was not changed in between."""
    return digest_of(msgspec.json.encode(clean(obj), order="deterministic"))


def digest_of(content: bytes) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
