"""What the patches of a kustomization select. kustomize says it itself: each patch is replaced by one that only leaves a mark."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shunter.api.meta import Json, annotations_of
from shunter.migrate.conversion.gitops.overlay_check import OURS, Key, KustomizeBuild
from shunter.migrate.conversion.source.kustomization import PATCH_FIELDS, Patch, is_v1

PATCH_STAGE = frozenset(
    (
        "apiVersion", "kind", "resources", "bases", "components", *PATCH_FIELDS, "crds", "openapi", "configurations",
        "generatorOptions", "configMapGenerator", "secretGenerator",
    )
)  # fmt: skip
"""Fields that have done their work when patches are applied; names, images, labels and replacements come after."""


def marked(value: Json, patches: Sequence[Patch]) -> Json:
    """The kustomization as far as patches go, these patches replaced by marks on what they select. Of a patch without target
    only the documents for v1 jobs count."""
    gone = {(patch.field, patch.index) for patch in patches}
    reduced = {key: inner for key, inner in value.items() if key in PATCH_STAGE}
    for field in PATCH_FIELDS:
        if field in reduced:
            reduced[field] = [entry for index, entry in enumerate(reduced[field]) if (field, index) not in gone]
    marks = [mark for number, patch in enumerate(patches) for mark in _marks(patch, _mark(number))]
    return {**reduced, "patches": [*(reduced.get("patches") or []), *marks]}


def selected_by(built: KustomizeBuild, patches: Sequence[Patch]) -> dict[Patch, set[Key]]:
    """The objects that each of the patches selects, from a build of what was `marked`."""
    marks = {key: annotations_of(value) for key, value in built.objects.items()}
    return {patch: {key for key, found in marks.items() if _mark(number) in found} for number, patch in enumerate(patches)}


def _mark(number: int) -> str:
    return f"{OURS}patch-{number}"


def _marks(patch: Patch, mark: str) -> list[Json]:
    if patch.target is not None:
        anything = {"apiVersion": "any/v1", "kind": "Any", "metadata": {"name": "any"}}
        return [{"target": patch.target, "patch": _annotated(anything, mark)}]
    return [{"patch": _annotated(document.value, mark)} for document in patch.documents if is_v1(document.value)]


def _annotated(value: Json, mark: str) -> str:
    names = {key: text for key, text in value["metadata"].items() if key in ("name", "namespace")}
    metadata = {**names, "annotations": {mark: "selected"}}
    return msgspec.json.encode({"apiVersion": value["apiVersion"], "kind": value["kind"], "metadata": metadata}).decode()
