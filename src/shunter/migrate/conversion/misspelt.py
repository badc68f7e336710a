"""Fields of a v1 job that its schema does not have: what was meant, and those of pod templates, which no rule looks at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from shunter.api.resources import TRAINING_RUNTIMES
from shunter.errors import InputError
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.paths import Path, shown
from shunter.migrate.pods.admission import field_names, unknown_fields

OF_TEMPLATE = Topic(
    id="FIELD003",
    title="a field of a pod template that v1 does not have",
    severity="error",
    change="unsupported",
    grade="L",
    explanation=(
        "The schema of the v1 kind does not have the field: kubectl refuses the job, and where the check is off the API server "
        "drops the field. So it had no effect in v1, and a result with it is refused or means something else."
    ),
    remedy="Remove the field, or spell it right. --accept FIELD003 passes it on as it is, for clusters that know it.",
    acceptable=True,
)
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_RUNTIME_TEMPLATE: Path = ("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template")
_OF_METADATA = {
    ("metadata", name)
    for name in (
        *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generateName", "generation", "managedFields"),
        *("namespace", "ownerReferences", "resourceVersion", "selfLink", "uid"),
    )
}
"""Fields of any object's metadata, which have no meaning in a template."""
_ROLE = 3
"""Steps from the root of a v1 job to one of its roles."""


def meant(source: SourceObject, path: Path) -> str:
    """`Did you mean imagePullPolicy?`; empty when the kind has no such field nearby."""
    *parent, name = path
    close = get_close_matches(str(name), field_names(source.api_version, source.kind, tuple(parent)), n=1)
    return f"Did you mean {close[0]}?" if close else ""


def of_templates(source: SourceObject) -> Iterator[Finding]:
    """What there is to tell of unknown fields in pod templates; nothing for an object that no API server can read."""
    if not field_names(source.api_version, source.kind, ()):
        return
    try:
        unknown = unknown_fields(source.value)
    except InputError:
        return
    for field in unknown:
        path = tuple(int(index) if index else key for key, index in _STEP.findall(field))
        if len(path) <= _ROLE + 1 or path[_ROLE] != "template" or path[_ROLE + 1 :] in _OF_METADATA:
            continue
        of_v2 = field_names(TRAINING_RUNTIMES.api_version, TRAINING_RUNTIMES.kind, (*_RUNTIME_TEMPLATE, *path[_ROLE + 1 : -1]))
        if path[-1] in of_v2:
            message = f"{shown(path)} is not a field of v1, which drops it; v2 has it, and acts on it."
            remedy = "Remove it to keep what v1 did, or take it on with --accept FIELD003."
        else:
            message = f"{shown(path)} is not a field of pods in v1."
            remedy = " ".join(filter(None, (meant(source, path), OF_TEMPLATE.remedy)))
        yield Finding(OF_TEMPLATE, source.title, source.place(path), path, message, remedy)
