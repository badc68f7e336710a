"""What there is to fetch, and how a file is known to be right."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

from shunter.errors import EnvironmentProblem, InputError

BLOCK = 1024 * 1024

Advance = Callable[[int], None]
"""Told how many more bytes are there; negative when some were thrown away."""


class Checksum(NamedTuple):
    """`algorithm`: sha256, sha1, md5, crc32 (hexadecimal), or git (the name of a git blob)."""

    algorithm: str
    digest: str


class RemoteFile(NamedTuple):
    """`path` is relative to the directory that is filled; `version` changes when the content does."""

    path: str
    size: int | None
    version: str
    checksum: Checksum | None = None


class Source(Protocol):
    """One place to fetch from."""

    def files(self) -> list[RemoteFile]:
        """Everything that is to be fetched. Raises ShunterError."""

    def fetch(self, file: RemoteFile, part: Path, advance: Advance) -> None:
        """Brings the file to `part`, going on from what is there. Called by several threads. Raises ShunterError."""


def target_of(directory: Path, path: str) -> Path:
    """Where a file goes. Raises InputError for a path that leads out of the directory."""
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or PurePosixPath(path).is_absolute() or "\0" in path:
        raise InputError(f"{path!r} is not the name of a file in a directory.", "Rename it at the source.")
    return directory.joinpath(*parts)


def digest_of(path: Path, algorithm: str) -> str:
    """The file's checksum of that kind, in hexadecimal."""
    if algorithm == "crc32":
        crc = 0
        with path.open("rb") as content:
            while block := content.read(BLOCK):
                crc = zlib.crc32(block, crc)
        return f"{crc:08x}"
    digest = hashlib.new("sha1" if algorithm == "git" else algorithm, usedforsecurity=False)
    if algorithm == "git":
        digest.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as content:
        while block := content.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def hexadecimal(base64_digest: str) -> str:
    """`abcdef` of `q83v`: checksums come in base64 from some servers, and are compared in hexadecimal."""
    return base64.b64decode(base64_digest).hex()


def check(file: RemoteFile, path: Path) -> None:
    """Raises EnvironmentProblem when what was fetched is not what the source said it is."""
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        raise EnvironmentProblem(
            f"{file.path} has {size} bytes, not {file.size}.",
            "It changed while it was fetched, or the connection broke: try again.",
        )
    if file.checksum is not None:
        found = digest_of(path, file.checksum.algorithm)
        if found != file.checksum.digest:
            raise EnvironmentProblem(
                f"{file.path} is damaged: its {file.checksum.algorithm} is {found}, not {file.checksum.digest}.",
                "It was thrown away; try again. If it stays so, the copy at the source is damaged.",
            )
