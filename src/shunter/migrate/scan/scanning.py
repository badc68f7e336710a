"""A whole tree, file by file: bytes that cannot speak of v1 are not looked at any further, which is nearly all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from shunter.jobs.masking import masked
from shunter.migrate.findings import Finding, Place
from shunter.migrate.scan import files, manifests, network, notebooks, python_code, text
from shunter.migrate.scan.own_files import OwnFiles, own_lines
from shunter.migrate.scan.reference import WORDS, Reference
from shunter.migrate.source.files import name_of

_WORDS = tuple(word.encode() for word in WORDS)
_OBJECTS = (".yaml", ".yml", ".json")
_PYTHON = (".py", ".pyi")


class Scanned(NamedTuple):
    findings: tuple[Finding, ...]
    """By file, line and column."""
    files: int
    """Files that were looked at."""
    skipped: int
    """Files that are no text, too large, or not readable."""
    own: int = 0
    """Files that the migration itself wrote: they are passed over."""


def paths_below(roots: Iterable[Path]) -> list[Path]:
    """The files to look at, each once. InputError for a root that is not there."""
    return list(dict.fromkeys(path for root in roots for path in files.listed(root)))


def scanned(paths: Sequence[Path], advance: Callable[[int], None] = lambda count: None) -> Scanned:
    """What the files say of v1, and of the network; `advance` hears of each that is done."""
    findings: list[Finding] = []
    skipped = own = 0
    own_files = OwnFiles()
    for path in paths:
        content = files.read(path)
        if content is None:
            skipped += 1
        elif own_files.has(path, content):
            own += 1
        elif _may_speak_of_v1(content) or network.may_have_settings(content):
            findings += findings_of(name_of(path), content.decode(errors="replace"))
        advance(1)
    return Scanned(tuple(findings), len(paths) - skipped - own, skipped, own)


def findings_of(name: str, content: str) -> list[Finding]:
    """What one file says of v1 and of the network, by line and column."""
    content = content.removeprefix("\ufeff")
    told: list[Reference] = []
    jobs: list[range] = []
    if name.endswith(_PYTHON):
        told = list(python_code.references(content))
    elif name.endswith(".ipynb"):
        told = notebooks.references(content)
    elif name.endswith(_OBJECTS):
        found = manifests.references(content)
        told, jobs = found.references, found.jobs
    told += text.references(content, list(told), skipped=[*jobs, *own_lines(content)])
    told += network.references(content)
    told.sort(key=lambda reference: (reference.line, reference.column, reference.topic.id))
    return [_finding(name, reference) for reference in told]


def _finding(name: str, reference: Reference) -> Finding:
    """Without credentials: what is told of a repository stands in logs and pages that more people read."""
    place = Place(name, reference.line, reference.column)
    return Finding(reference.topic, name, place, (), masked(reference.message, ()), masked(reference.remedy, ()))


def _may_speak_of_v1(content: bytes) -> bool:
    lowered = content.lower()
    return any(word in lowered for word in _WORDS)
