"""Fields of a v1 job that its schema does not have: what was meant, and those of pod templates, which no rule looks at."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.late_patterns import late_pattern
from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError
from shunter.migrate.conversion.newer_fields import newer_fields
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.paths import Path, path_text, value_at
from shunter.migrate.pods.admission import field_names, unknown_fields

OF_TEMPLATE = Topic(
    id="FIELD003",
    title="a field of a pod template that v1 does not have",
    severity="error",
    change="unsupported",
    grade="L",
    explanation=(
        "The schema of the v1 kind does not have the field: kubectl rejects the job, or, with validation off, the API server "
        "drops the field. So it had no effect in v1, and a result with it is rejected or behaves differently. The schemas of "
        "Training Operator v1.9 have the pod fields of Kubernetes 1.31; Trainer and JobSet have later ones: resources of the "
        "pod as a whole (1.32), restartPolicyRules, hostnameOverride (1.34), ... Where Shunter serves v1 it keeps these fields, "
        "and the proof assumes so; for jobs read from a cluster they are not reported."
    ),
    remedy="Remove the field, or correct its spelling. --accept FIELD003 keeps it unchanged, for clusters that support it.",
    acceptable=True,
)
_NEWER_REMEDY = (
    "Remove it to keep the behavior of Training Operator, or keep it in the result, where v2 acts on it, with --accept FIELD003."
)
_STEP = late_pattern(r"([^.\[\]]+)|\[(\d+)\]")
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
    return did_you_mean(nearest(str(name), field_names(source.api_version, source.kind, tuple(parent))))


def of_templates(source: SourceObject) -> Iterator[Finding]:
    """What there is to tell of unknown fields in pod templates; nothing for an object that no API server can read."""
    if not field_names(source.api_version, source.kind, ()):
        return
    try:
        unknown = unknown_fields(source.value)
    except InputError:
        return
    yield from _newer(source)
    for field in unknown:
        path = tuple(int(index) if index else key for key, index in _STEP.findall(field))
        if len(path) <= _ROLE + 1 or path[_ROLE] != "template" or path[_ROLE + 1 :] in _OF_METADATA:
            continue
        message = f"{path_text(path)} is not a field of pods in v1."
        remedy = " ".join(filter(None, (meant(source, path), OF_TEMPLATE.remedy)))
        yield Finding(OF_TEMPLATE, source.title, source.place(path), path, message, remedy)


def _newer(source: SourceObject) -> Iterator[Finding]:
    """The findings about fields that came after v1, in jobs that no API server has seen."""
    if source.metadata.get("uid"):
        return
    spec = source.value.get("spec")
    for field, roles in spec.items() if isinstance(spec, dict) else ():
        for role in roles if field.endswith("ReplicaSpecs") and isinstance(roles, dict) else ():
            template: Path = ("spec", field, role, "template", "spec")
            for path, since in newer_fields(value_at(source.value, template)):
                place = (*template, *path)
                message = f"{path_text(place)} came with Kubernetes {since}: Training Operator v1.9 drops it, and v2 acts on it."
                yield Finding(OF_TEMPLATE, source.title, source.place(place), place, message, _NEWER_REMEDY)
