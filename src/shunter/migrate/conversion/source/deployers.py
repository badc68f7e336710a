"""Objects of Argo CD and Flux: the patches that they give to kustomize, beside those of the kustomizations that they deploy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shunter.migrate.conversion.source.kustomization import PATCH_FIELDS, is_entry_for_v1
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.paths import Path, path_text

PATCH = Topic(
    id="KUSTOMIZE007",
    title="a patch of v1 jobs in an object of Argo CD or Flux",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "An Application, an ApplicationSet, or a Kustomization or HelmRelease of Flux gives patches to kustomize. Once the jobs "
        "are converted, one with a target selects nothing and has no effect, without an error. It is not rewritten: what it "
        "changes stands in another place, perhaps in another repository."
    ),
    remedy="Rewrite the patch for TrainJob or its runtime, or move it into the kustomization and convert that again.",
    effort=3,
    acceptable=True,
)
_GROUPS = ("argoproj.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io")


def is_patch(host: SourceObject, path: Path) -> bool:
    """Whether what stands at this place of an object is a patch that it gives to kustomize, or a part of one."""
    return _deploys(host) and any(field in path for field in PATCH_FIELDS)


def findings(hosts: list[SourceObject]) -> list[Finding]:
    """What is told of the patches of v1 jobs in these objects."""
    return [
        Finding(PATCH, host.title, host.place(path), path, f"{path_text(path)} of {host.title} is for v1 jobs.")
        for host in hosts
        if _deploys(host)
        for path in _patches(host.value, ())
    ]


def _deploys(host: SourceObject) -> bool:
    return str(host.value.get("apiVersion")).partition("/")[0] in _GROUPS


def _patches(value: Any, path: Path) -> Iterator[Path]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        if key in PATCH_FIELDS and isinstance(inner, list):
            yield from ((*path, key, index) for index, entry in enumerate(inner) if is_entry_for_v1(entry))
        else:
            yield from _patches(inner, (*path, key))
