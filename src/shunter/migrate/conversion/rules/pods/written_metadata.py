"""Labels and annotations in pod templates that a controller writes, not the job's user: Kueue for jobs that it admits, v1's
operator for all. One list for all that looks at templates.
"""

from __future__ import annotations

from collections.abc import Mapping

from shunter.api.meta import Json
from shunter.operator.training.names import PREFIX as V1_PREFIX

BY_KUEUE: Mapping[str, tuple[str, ...]] = {
    "labels": (
        "kueue.x-k8s.io/podset",
        "kueue.x-k8s.io/tas",
        "kueue.x-k8s.io/managed",
        "kueue.x-k8s.io/cluster-queue-name",
        "kueue.x-k8s.io/local-queue-name",
    ),
    "annotations": ("kueue.x-k8s.io/workload",),
}
"""What Kueue writes, by the field of the template's metadata. Source: Kueue, pkg/controller/constants and its workload and podset
labels."""


def by_kueue(metadata: Json, field: str) -> list[str]:
    """The keys of a field of a template's metadata that Kueue wrote."""
    return [key for key in metadata.get(field) or {} if key in BY_KUEUE[field]]


def by_v1(metadata: Json) -> list[str]:
    """The labels that v1's operator sets, whatever the template says."""
    return [key for key in metadata.get("labels") or {} if key.startswith(V1_PREFIX)]


def of_the_user(metadata: Json) -> Json:
    """A template's metadata without what controllers write."""
    kept = dict(metadata)
    for field in BY_KUEUE:
        written = {*by_kueue(metadata, field), *(by_v1(metadata) if field == "labels" else ())}
        if written:
            kept[field] = {key: value for key, value in metadata[field].items() if key not in written}
    return kept
