"""The patch that suspends or resumes a job of any kind, and the command line that does the same. Pure; input is plain JSON."""

from __future__ import annotations

import shlex

import msgspec

from shunter.api.meta import Json
from shunter.operator.overview import is_v1


def suspend_patch(job: Json, *, suspend: bool) -> Json:
    """The merge patch: `spec.runPolicy.suspend` in kubeflow.org/v1, `spec.suspend` in all others."""
    field = {"suspend": suspend}
    return {"spec": {"runPolicy": field} if is_v1(job) else field}


def suspend_command(job: Json, *, suspend: bool, kubectl: str = "kubectl") -> str:
    """`kubectl patch trainjob bert -n team-a --type=merge -p '{"spec":{"suspend":true}}'`."""
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    patch = shlex.quote(msgspec.json.encode(suspend_patch(job, suspend=suspend)).decode())
    return f"{kubectl} patch {job['kind'].lower()} {name} -n {namespace} --type=merge -p {patch}"
