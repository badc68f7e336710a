"""Scans a tree, file by file. Files without words of v1 or network settings (nearly all) are not parsed."""

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
    """The findings in a tree, and the numbers of files."""

    findings: tuple[Finding, ...]
    """The findings, ordered by file, line and column."""
    files: int
    """Files that were scanned."""
    skipped: int
    """Binary files and links."""
    own: int = 0
    """Files that the migration itself wrote, which are skipped."""


def paths_below(roots: Iterable[Path]) -> list[Path]:
    """The files to scan, each once. InputError for a root that does not exist."""
    return list(dict.fromkeys(path for root in roots for path in files.listed(root)))


def scanned(paths: Sequence[Path], advance: Callable[[int], None] = lambda count: None) -> ScanResult:
    """The findings in the files; `advance` is called after each file."""
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
                if _may_mention_v1(content) or network.may_have_settings(content):
                    findings += findings_of(name_of(path), content.decode(errors="replace"))
        advance(1)
    return ScanResult(tuple(findings), read, skipped, own)


def _may_mention_v1(content: bytes) -> bool:
    lowered = content.lower()
    return any(word in lowered for word in _WORDS)
