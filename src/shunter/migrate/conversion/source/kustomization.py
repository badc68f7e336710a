"""Kustomizations among the files: which files are patches, and not objects of their own; which patches are aimed at v1 jobs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion.source.documents import Document, parsed
from shunter.migrate.conversion.source.files import TextFile
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.versions import is_convertible
from shunter.migrate.findings import Finding, Place, Topic
from shunter.migrate.paths import Path as FieldPath

FILE_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
PATCH_FIELDS = ("patches", "patchesStrategicMerge", "patchesJson6902")
_KIND = ("group", "version", "kind")
_V1 = [{"group": kind.resource.group, "version": kind.resource.version, "kind": kind.resource.kind} for kind in JOB_KINDS]
_TRAIN_JOB = {"group": TRAIN_JOBS.group, "version": TRAIN_JOBS.version, "kind": TRAIN_JOBS.kind}
_FIELDS_OF_V1 = ("runPolicy", *(kind.replica_specs for kind in JOB_KINDS))


UNBUILT = Topic(
    id="KUSTOMIZE008",
    title="a kustomization that builds other jobs than its files say",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "A kustomization has patches of v1 jobs, or replacements in them. The command reads the jobs as they are in the files: "
        "what the kustomization builds of them is not in its result, and no verdict is about it."
    ),
    remedy=(
        "Name the kustomization with --kustomize DIRECTORY, convert the tree with --output-dir or --in-place, or suppress the "
        "finding in migration.yaml."
    ),
    acceptable=True,
)


class Patch(msgspec.Struct, frozen=True, eq=False):
    """One entry of a kustomization."""

    field: str
    index: int
    file: Path | None
    """None when it is written out in the kustomization."""
    is_for_v1: bool
    target: Json | None = None
    documents: tuple[Document, ...] = ()
    is_missing: bool = False
    """Whether its file is not there, so that its purpose is unknown."""

    @property
    def title(self) -> str:
        """`patches[0] (big.yaml)`."""
        return f"{self.field}[{self.index}]" + (f" ({self.file.name})" if self.file is not None else "")

    @property
    def others(self) -> list[Document]:
        """Its documents for objects that are no v1 jobs; with a target there is one document, for what the target selects."""
        return [each for each in self.documents if self.target is None and each.value is not None and not is_v1(each.value)]

    @property
    def is_mixed(self) -> bool:
        """Whether one part of it is for v1 jobs and another is not, so that it can neither go nor stay as a whole."""
        return self.is_for_v1 and bool(self.others)


class Kustomization(msgspec.Struct, frozen=True, dict=True):
    """A kustomization, or a Component. Nothing is built: only the files that it names are read."""

    file: TextFile
    document: Document
    files: dict[str, TextFile]
    """All files of the input by their real paths."""

    @property
    def directory(self) -> Path:
        """The directory that its paths are relative to."""
        assert self.file.path is not None, "kustomizations are files"
        return self.file.path.parent

    @property
    def value(self) -> Json:
        """The parsed kustomization. Must not be changed."""
        value: Json = self.document.value
        return value

    def place(self, path: FieldPath = ()) -> Place:
        """Where a field of it stands."""
        document = self.document
        return SourceObject(self.value, document.source, document.node, document.first_line).place(path)

    @property
    def is_component(self) -> bool:
        """Components are built only as a part of other kustomizations."""
        return self.value.get("kind") == "Component"

    @cached_property
    def patches(self) -> list[Patch]:
        """The patches of all fields, each in the order of its entries."""
        found = []
        for field in PATCH_FIELDS:
            entries = self.value.get(field)
            for index, entry in enumerate(entries if isinstance(entries, list) else ()):
                found.append(self._patch(field, index, entry))
        return found

    @property
    def v1_patches(self) -> list[Patch]:
        """The patches that target v1 jobs, including those that also target other objects."""
        return [patch for patch in self.patches if patch.is_for_v1]

    def references(self, field: str) -> list[Path]:
        """The files and directories that a list of the kustomization names, as far as they are here."""
        entries = self.value.get(field)
        named = [entry for entry in entries if isinstance(entry, str)] if isinstance(entries, list) else []
        return [self.directory / entry for entry in named if "://" not in entry and (self.directory / entry).exists()]

    def _patch(self, field: str, index: int, entry: Any) -> Patch:
        if isinstance(entry, str):
            written: Any = entry
            path: Any = entry if "\n" not in entry else None
            target: Any = None
        elif isinstance(entry, dict):
            path, target, written = entry.get("path"), entry.get("target"), entry.get("patch")
        else:
            return Patch(field, index, None, False)
        file = self.directory / path if isinstance(path, str) else None
        target = target if isinstance(target, dict) else None
        documents = self._documents(file) if file is not None else parsed(written, "") if isinstance(written, str) else ()
        return Patch(field, index, file, _is_for_v1(target, documents or ()), target, documents or (), documents is None)

    def _documents(self, file: Path) -> tuple[Document, ...] | None:
        """The documents of a patch's file, which need not be among the files of the input; None when it cannot be read."""
        known = self.files.get(os.path.realpath(file))
        if known is not None:
            return known.documents
        try:
            return parsed(file.read_text(encoding="utf-8"), str(file))
        except (OSError, UnicodeDecodeError):
            return None


def kustomizations(files: Iterable[TextFile]) -> list[Kustomization]:
    """The kustomizations among the files, in their order."""
    files = [file for file in files if file.path is not None]
    if not any(file.path is not None and file.path.name in FILE_NAMES for file in files):
        return []
    known = {os.path.realpath(file.path): file for file in files if file.path is not None}
    return [
        Kustomization(file, document, known)
        for file in known.values()
        if file.path is not None and file.path.name in FILE_NAMES
        for document in file.documents
        if isinstance(document.value, dict)
    ]


def unbuilt(files: Iterable[TextFile]) -> list[Finding]:
    """What is told of kustomizations that change v1 jobs, where the jobs are read as they stand in their files."""
    found = []
    for each in kustomizations(files):
        changing: list[tuple[FieldPath, str]] = [((patch.field, patch.index), patch.title) for patch in each.v1_patches]
        if names_v1_kind(each.value.get("replacements")):
            changing.append((("replacements",), "replacements"))
        if changing:
            titles = ", ".join(title for _, title in changing)
            says = f"{titles} of {each.directory}: a component, for those who name it." if each.is_component else ""
            says = says or f"What {each.directory} builds with {titles} is not analyzed."
            found.append(Finding(UNBUILT, str(each.file.source), each.place(changing[0][0]), changing[0][0], says))
    return found


def names_v1_kind(value: Any) -> bool:
    """Whether some text in the value is a kind of v1."""
    text = msgspec.json.encode(value).decode()
    return any(f'"{kind.resource.kind}"' in text for kind in JOB_KINDS)


def without_patches(files: Sequence[TextFile]) -> tuple[TextFile, ...]:
    """The files, with no objects in those that some kustomization among them takes as patches: a patch of a job is no job."""
    found = kustomizations(files)
    patches = {os.path.realpath(patch.file) for each in found for patch in each.patches if patch.file is not None}
    if not patches:
        return tuple(files)
    return tuple(_without_objects(file) if file.path and os.path.realpath(file.path) in patches else file for file in files)


def is_patch(file: TextFile, path: FieldPath) -> bool:
    """Whether what stands at this place of a file is a patch, or a part of one, that a kustomization holds written out."""
    return file.path is not None and file.path.name in FILE_NAMES and path[0] in PATCH_FIELDS


def is_v1(value: Any) -> bool:
    """Whether a value is a job that can be converted; a patch counts if it says kind and apiVersion."""
    return isinstance(value, dict) and is_convertible(SourceObject(value, ""))


def is_entry_for_v1(entry: Any) -> bool:
    """Whether an entry of a list of patches that something else than a kustomization holds is aimed at v1 jobs."""
    target = entry.get("target") if isinstance(entry, dict) else None
    written = entry.get("patch") if isinstance(entry, dict) and isinstance(entry.get("patch"), (str, list)) else entry
    text = written if isinstance(written, str) else msgspec.json.encode(written).decode()
    return _is_for_v1(target if isinstance(target, dict) else None, parsed(text, ""))


def _is_for_v1(target: Json | None, documents: Sequence[Document]) -> bool:
    """Whether a patch is aimed at v1 jobs. One whose target selects TrainJobs as well, or by other things than its kind, is so
    where it sets a field that only v1 jobs have."""
    kind = {field: str(target[field]) for field in _KIND if target.get(field)} if target else {}
    if kind:
        selected = [_selects(kind, gvk) for gvk in (*_V1, _TRAIN_JOB)]
        if not selected[-1] or not any(selected[:-1]):
            return any(selected[:-1])
        return any(_is_about_v1(document.value) for document in documents)
    return any(is_v1(document.value) or (target is not None and _is_about_v1(document.value)) for document in documents)


def _selects(patterns: Json, gvk: Mapping[str, str]) -> bool:
    """Whether a target's group, version and kind, anchored patterns, are those of a kind."""
    try:
        return all(re.compile(pattern).fullmatch(gvk[field]) for field, pattern in patterns.items())
    except re.error:
        return all(pattern == gvk[field] for field, pattern in patterns.items())


def _is_about_v1(value: Any) -> bool:
    """Whether a patch with a target that names no kind sets a field that only v1 jobs have."""
    if isinstance(value, dict):
        spec = value.get("spec")
        return isinstance(spec, dict) and any(field in spec for field in _FIELDS_OF_V1)
    entries = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    steps = [str(each.get("path", "")).split("/") for each in entries]
    return any(step[1:2] == ["spec"] and step[2:] and step[2] in _FIELDS_OF_V1 for step in steps)


def _without_objects(file: TextFile) -> TextFile:
    return replace(file, documents=tuple(replace(document, objects=(), findings=()) for document in file.documents))
