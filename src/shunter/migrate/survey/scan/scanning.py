"""Scans a whole tree, file by file. Skips files with neither words of v1 nor network settings, which are nearly all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from shunter.migrate.conversion.source.files import name_of
from shunter.migrate.conversion.source.provider import unread
from shunter.migrate.findings import Finding
from shunter.migrate.survey.scan import files, network
from shunter.migrate.survey.scan.own_files import OwnFiles
from shunter.migrate.survey.scan.references import findings_of
from shunter.migrate.v1_texts.reference import WORDS

_WORDS = tuple(word.encode() for word in WORDS)


class ScanResult(NamedTuple):
    """What was found in a tree, and how much of it was looked at."""

    findings: tuple[Finding, ...]
    """By file, line and column."""
    files: int
    """Files that were looked at."""
    skipped: int
    """Files that are no text, and links."""
    own: int = 0
    """Files that the migration itself wrote: they are passed over."""


def paths_below(roots: Iterable[Path]) -> list[Path]:
    """The files to look at, each once. InputError for a root that is not there."""
    return list(dict.fromkeys(path for root in roots for path in files.listed(root)))


def scanned(paths: Sequence[Path], advance: Callable[[int], None] = lambda count: None) -> ScanResult:
    """What the files say of v1, and of the network; `advance` hears of each that is done."""
    findings: list[Finding] = []
    read = skipped = own = 0
    own_files = OwnFiles()
    for path in paths:
        try:
            content = files.read(path)
        except OSError as error:
            findings.append(unread(name_of(path), error.strerror or str(error)))
        else:
            if content is None:
                skipped += 1
            elif own_files.has(path, content):
                own += 1
            else:
                read += 1
                if _may_speak_of_v1(content) or network.may_have_settings(content):
                    findings += findings_of(name_of(path), content.decode(errors="replace"))
        advance(1)
    return ScanResult(tuple(findings), read, skipped, own)


def _may_speak_of_v1(content: bytes) -> bool:
    lowered = content.lower()
    return any(word in lowered for word in _WORDS)
