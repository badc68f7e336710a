"""Kustomizations among the files: which files are patches, and not objects of their own; which patches are aimed at v1 jobs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
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
from shunter.migrate.findings import Place
from shunter.migrate.paths import Path as FieldPath

FILE_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
PATCH_FIELDS = ("patches", "patchesStrategicMerge", "patchesJson6902")
_KINDS = frozenset(kind.resource.kind for kind in JOB_KINDS)
_FIELDS_OF_V1 = ("runPolicy", *(kind.replica_specs for kind in JOB_KINDS))


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
        """As it was parsed. Not to be changed."""
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
        """Of all fields for patches, each in the order of its entries."""
        found = []
        for field in PATCH_FIELDS:
            entries = self.value.get(field)
            for index, entry in enumerate(entries if isinstance(entries, list) else ()):
                found.append(self._patch(field, index, entry))
        return found

    @property
    def v1_patches(self) -> list[Patch]:
        """Those that are aimed at v1 jobs, mixed ones too."""
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
        if target is not None and target.get("kind"):
            is_for_v1 = _selects_v1(str(target["kind"]))
        else:
            is_for_v1 = any(is_v1(document.value) or (target and _is_about_v1(document.value)) for document in documents or ())
        return Patch(field, index, file, bool(is_for_v1), target, documents or (), documents is None)

    def _documents(self, file: Path) -> tuple[Document, ...] | None:
        """Of a patch's file, which need not be among the files of the input; None when it cannot be read."""
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


def _selects_v1(pattern: str) -> bool:
    """Whether a target's kind, an anchored pattern, is one of v1 and does not go on to work when the jobs are TrainJobs."""
    try:
        matches = re.compile(pattern).fullmatch
    except re.error:
        return pattern in _KINDS
    return any(matches(kind) for kind in _KINDS) and not matches(TRAIN_JOBS.kind)


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
