"""Everything that a run is given to read: files, directories, standard input, what kustomize and Helm make."""

from __future__ import annotations

import codecs
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec.structs import replace

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.kube.manifests import SUFFIXES
from shunter.migrate.conversion.source import deployers, experiments, templates
from shunter.migrate.conversion.source.documents import Document
from shunter.migrate.conversion.source.embedded import Embedded
from shunter.migrate.conversion.source.files import TextFile, content_of, name_of, text_file
from shunter.migrate.conversion.source.generators import generated
from shunter.migrate.conversion.source.kustomization import FILE_NAMES, is_patch, unbuilt, without_patches
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.versions import OTHER_OPERATOR, is_of_mpi_operator, is_v1_job
from shunter.migrate.findings import Finding, Place, Topic
from shunter.missing_file import missing_file

STANDARD_INPUT = "standard input"
_PARTIAL = ".tpl"
"""What templates of a chart include from: no manifest, but a whole job may be defined there."""

_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that no text has."""
_OF_WINDOWS = re.compile(rb"[\x80-\x9f]")
_BEGINNING = 64
"""Bytes by which UTF-16 is known that has no mark."""
NOT_TEXT = Topic(
    id="INPUT007",
    title="a file that is not UTF-8 text",
    severity="warning",
    change="manual",
    grade="E",
    explanation="Manifests are UTF-8. This file is not, so it is left unchanged and nothing in it is read.",
    remedy="Save it as UTF-8 if it is a manifest.",
)

UNREAD = Topic(
    id="INPUT014",
    title="a file or directory that cannot be read",
    severity="error",
    change="manual",
    grade="N",
    explanation="The path was given, or is in a directory that was given, but cannot be read: its contents are unknown.",
    remedy="Make it readable, remove it (if it is a broken link), or suppress the finding in migration.yaml.",
    acceptable=True,
)

UNRENDERED = Topic(
    id="INPUT016",
    title="a Helm template whose jobs cannot be listed",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "A template of a chart contains a v1 job. The values of the chart decide which jobs it creates, so they are known only "
        "after rendering: none of them is in this list or in its totals."
    ),
    remedy="Render the chart (helm template CHART | shunter migrate inventory -f -), or suppress the finding in migration.yaml.",
    acceptable=True,
)


class Input(msgspec.Struct, frozen=True, dict=True):
    """`files` in the order in which they were named, those of a directory by name; `live` are objects of a cluster."""

    files: tuple[TextFile, ...] = ()
    live: tuple[SourceObject, ...] = ()
    runtimes: tuple[SourceObject, ...] = ()
    """TrainingRuntimes that the cluster has, which jobs of it may take."""
    mpi_operator: bool = False
    """Whether MPIJobs of mpi-operator count as jobs as well."""

    @cached_property
    def objects(self) -> tuple[SourceObject, ...]:
        """All of them: those of files in the order of the texts, then those of a cluster."""
        inner = (found for file in self.files for document in file.documents for found in document.objects)
        return (*inner, *self.live)

    @property
    def jobs(self) -> list[SourceObject]:
        """The v1 jobs, in the order of the input."""
        return [found for found in self.objects if self._is_job(found)]

    @property
    def embedded(self) -> list[Embedded]:
        """v1 jobs within other objects and values of charts."""
        return [
            inner
            for file in self.files
            for document in file.documents
            for inner in document.embedded
            if self._is_job(inner.job) and not (is_patch(file, inner.path) or deployers.is_patch(inner.host, inner.path))
        ]

    @property
    def convertible(self) -> list[SourceObject]:
        """The v1 jobs, and those within other objects that can be converted where they stand."""
        return [*self.jobs, *(embedded.job for embedded in self.embedded if not embedded.is_text)]

    @property
    def others(self) -> list[SourceObject]:
        """All objects but the jobs. MPIJobs of mpi-operator are among them unless `--mpi-operator` was given."""
        return [found for found in self.objects if not self._is_job(found)]

    @property
    def other_objects(self) -> list[Json]:
        """The other objects, and those that kustomizations generate: rules look ConfigMaps and Services up in them."""
        return [*(other.value for other in self.others), *generated(self.files)]

    @property
    def passed_on(self) -> list[Document]:
        """Documents that hold something beside v1 jobs: other objects, values of charts, templates."""
        return [
            document
            for file in self.files
            for document in file.documents
            if (document.node is not None or document.is_template or document.objects)
            and (not document.objects or any(not self._is_job(found) for found in document.objects))
        ]

    @property
    def templates(self) -> list[Document]:
        """Documents with v1 jobs that Helm has to fill in first."""
        return [
            document
            for file in self.files
            for document in file.documents
            if document.is_template and templates.holds_v1_job(document.text)
        ]

    @property
    def unrendered(self) -> list[Finding]:
        """What those tell of templates with v1 jobs, and of kustomizations that change some, who read jobs as they stand."""
        return [
            *self.unbuilt,
            *self._templates_with_jobs(),
        ]

    @property
    def unbuilt(self) -> list[Finding]:
        """What is told of kustomizations that change v1 jobs where nothing is built of them."""
        return unbuilt(self.files)

    def _templates_with_jobs(self) -> list[Finding]:
        return [
            Finding(
                UNRENDERED,
                document.source,
                Place(document.source, document.first_line + 1, 1),
                (),
                "A v1 job is in a template.",
            )
            for document in self.templates
        ]

    @property
    def findings(self) -> list[Finding]:
        """The findings about the input itself, in its order."""
        found: list[Finding] = []
        for file in self.files:
            found += file.findings
            for document in file.documents:
                found += document.findings
        if self.mpi_operator:  # they are converted
            found = [finding for finding in found if finding.topic.id != OTHER_OPERATOR.id]
        inner = self.embedded
        of_deployers = deployers.findings(self.others)
        return [*found, *(embedded.finding for embedded in inner), *experiments.findings(inner), *of_deployers]

    def __add__(self, other: Input) -> Input:
        return Input(
            self.files + other.files,
            self.live + other.live,
            self.runtimes + other.runtimes,
            self.mpi_operator or other.mpi_operator,
        )

    def _is_job(self, found: SourceObject) -> bool:
        return is_v1_job(found) or (self.mpi_operator and is_of_mpi_operator(found))


def read(paths: Sequence[str], done: Callable[[int], None] = lambda count: None) -> Input:
    """What stands in files, in all YAML and JSON files of directories and those below, and on standard input (`-`).

    A file that is named twice is read once; `done` hears of each. Raises InputError for a path that leads nowhere, to no
    manifest file at all, or to what is no text; what cannot be read within a directory is reported.
    """
    files: dict[str, TextFile] = {}
    for path in paths:
        for file in _files(path):
            files.setdefault(os.path.realpath(file.path) if file.path else file.source, file)
            done(1)
    return Input(without_patches(tuple(files.values())))


def _files(path: str) -> Iterator[TextFile]:
    if path == "-":
        try:
            content = content_of(sys.stdin.buffer)
        except OSError as fault:
            raise InputError(f"{STANDARD_INPUT}: cannot be read: {fault.strerror}.") from fault
        yield _named(_decoded(content, STANDARD_INPUT, None, Path("standard-input.yaml")))
        return
    named = Path(path)
    if not os.path.isdir(named):  # a Path raises what `_file` tells
        yield _file(named, name_of(path), Path(named.name))
        return
    closed: list[OSError] = []
    found = sorted(_below(named, closed.append))
    if not (any(file.suffix != _PARTIAL for file in found) or closed):
        raise InputError(f"{path}: neither the directory nor one below it holds a file ending in {', '.join(SUFFIXES)}.")
    for error in closed:
        yield _unread(name_of(error.filename), error.strerror or "", Path(error.filename).relative_to(named))
    for file in found:
        if file.suffix == _PARTIAL:
            yield from _of_partial(file, file.relative_to(named))
            continue
        yield replace(found_file(file, file.relative_to(named)), is_found=True)


def _below(directory: Path, closed: Callable[[OSError], None]) -> Iterator[Path]:
    """Hidden directories (.git) are left out, links to directories are not followed; `closed` hears of what cannot be listed."""
    for folder, inner, names in os.walk(directory, onerror=closed):
        inner[:] = [name for name in inner if not name.startswith(".")]
        yield from (Path(folder, name) for name in names if _is_manifest(name))


def _is_manifest(name: str) -> bool:
    return (name.endswith((*SUFFIXES, _PARTIAL)) and not name.startswith(".")) or name in FILE_NAMES


def found_file(path: Path, relative: Path) -> TextFile:
    """One that was found, not named: where it cannot be read the others are read nevertheless."""
    try:
        if path.exists() and not path.is_file():
            return _unread(name_of(path), "neither a file nor a link to one", relative)
        with path.open("rb") as file:
            return _decoded(content_of(file), name_of(path), path, relative)
    except OSError as error:
        return _unread(name_of(path), error.strerror or "", relative)


def _of_partial(path: Path, relative: Path) -> Iterator[TextFile]:
    """A file of definitions of a chart, where it makes a v1 job; else it is not read."""
    try:
        text = path.read_text(encoding="utf-8") if templates.is_of_chart(path) else ""
    except (OSError, UnicodeDecodeError):
        return
    if templates.holds_v1_job(text):
        source = name_of(path)
        finding = Finding(UNRENDERED, source, Place(source, 1, 1), (), "A v1 job is defined for templates to include.")
        yield TextFile(source, (), path, relative, is_found=True, findings=(finding,))


def unread(source: str, reason: str) -> Finding:
    """The finding about a file or directory that cannot be read."""
    return Finding(UNREAD, source, Place(source), (), f"It cannot be read: {reason}.")


def _unread(source: str, reason: str, relative: Path) -> TextFile:
    return TextFile(source, (), None, relative, findings=(unread(source, reason),))


def _file(path: Path, source: str, relative: Path) -> TextFile:
    try:
        with path.open("rb") as file:
            return _named(_decoded(content_of(file), source, path, relative))
    except FileNotFoundError:
        raise missing_file(source) from None
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror}.") from error


def _named(file: TextFile) -> TextFile:
    """One that was asked for: where it is no text there is nothing that could be done for the user."""
    if file.findings:
        raise InputError(f"{file.source}: {file.findings[0].message}", file.findings[0].advice)
    return file


def _not_utf8(content: bytes, source: str, error: UnicodeDecodeError) -> Finding:
    if encoding := _wide_encoding(content):
        return _in_wide_encoding(source, encoding)
    line = content.count(b"\n", 0, error.start) + 1
    says, remedy = f"Not UTF-8: byte 0x{content[error.start]:02x} in line {line}", ""
    if not content.decode("utf-8", "ignore").isascii() or error.end == len(content):
        says += "; the rest is UTF-8, so the file may be damaged there"
    elif not _CONTROLS.search(content):
        encoding = "WINDOWS-1252" if _OF_WINDOWS.search(content) else "ISO-8859-1"
        says += f"; it seems to be {encoding}" + (" (Latin-1)" if encoding == "ISO-8859-1" else "")
        remedy = _remedy(source, encoding)
    return Finding(NOT_TEXT, source, Place(source, line, 1), (), f"{says}.", remedy)


def _in_wide_encoding(source: str, encoding: str) -> Finding:
    return Finding(NOT_TEXT, source, Place(source, 1, 1), (), f"Not UTF-8, but {encoding}.", _remedy(source, encoding))


def _remedy(source: str, encoding: str) -> str:
    if source == STANDARD_INPUT:
        return f"If it is a manifest, pipe it through iconv -f {encoding} -t UTF-8."
    file = shlex.quote(source)
    return f"If it is a manifest: cp {file} {file}.orig && iconv -f {encoding} -t UTF-8 {file}.orig > {file}"


def _wide_encoding(content: bytes) -> str:
    """UTF-16 or UTF-32, by its mark or where every other byte of the beginning is 0; empty when it is another one."""
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    start = content[:_BEGINNING]
    if len(start) < 4 or not any(start):
        return ""
    return "UTF-16LE" if not any(start[1::2]) else "UTF-16BE" if not any(start[::2]) else ""


def _decoded(content: bytes, source: str, path: Path | None, relative: Path) -> TextFile:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return TextFile(source, (), path, relative, findings=(_not_utf8(content, source, error),))
    if encoding := _wide_encoding(content):
        return TextFile(source, (), path, relative, findings=(_in_wide_encoding(source, encoding),))
    is_of_chart = path is not None and "{{" in text and templates.is_of_chart(path)
    return replace(text_file(text, source, is_of_chart=is_of_chart), path=path, relative=relative)
