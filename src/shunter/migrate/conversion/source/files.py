"""A text that was read: its documents, and where it is."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import BinaryIO

import msgspec

from shunter.migrate.conversion.source.documents import Document, parsed
from shunter.migrate.findings import Finding

BOM = "\ufeff"
LARGEST = 256 * 1024 * 1024
"""Bytes of one file."""


class TextFile(msgspec.Struct, frozen=True):
    """A text that was read, in full: its documents, joined and behind `prefix`, are its bytes again."""

    source: str
    """The path as it was given or found, or `standard input`."""
    documents: tuple[Document, ...]
    path: Path | None = None
    """None for what is no file: standard input, a build of kustomize."""
    relative: Path = Path()
    """The path below the directory that was named; where `--output-dir` puts the result."""
    is_found: bool = False
    """Whether it was found in a directory, not named itself."""
    prefix: str = ""
    """A byte order mark, if there is one."""
    findings: tuple[Finding, ...] = ()
    """Why it could not be read, if so: it has no documents then."""

    @property
    def text(self) -> str:
        """The text as read, byte for byte if encoded in UTF-8."""
        return self.prefix + "".join(document.text for document in self.documents)


def name_of(path: str | Path) -> str:
    """A file's name as text that can be printed, whatever bytes it is made of."""
    return os.fsencode(path).decode(errors="replace")


def content_of(file: BinaryIO) -> bytes:
    """All of it. OSError for what is too large to be manifests, or has no end."""
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(errno.EFBIG, f"it has more than {LARGEST >> 20} MiB")
    return content


def text_file(text: str, source: str, *, is_of_chart: bool = False) -> TextFile:
    """A text as a file; by itself it is none that one could change."""
    prefix = BOM if text.startswith(BOM) else ""
    return TextFile(source, parsed(text.removeprefix(BOM), source, is_of_chart=is_of_chart), prefix=prefix)
