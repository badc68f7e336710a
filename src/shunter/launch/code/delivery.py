"""How a program's files reach its pods: mounted from this machine, packed into ConfigMaps, or in the image already."""

from __future__ import annotations

import dataclasses
import hashlib
from functools import cached_property
from typing import TypeAlias

from shunter.launch.code.packing import PIECE_BYTES


@dataclasses.dataclass(frozen=True)
class MountedCode:
    """A directory of the machine on which the pods run, as on the embedded cluster. Later edits show in running jobs."""

    directory: str


@dataclasses.dataclass(frozen=True)
class ImageCode:
    """The program is in the container's image, below its working directory."""


@dataclasses.dataclass(frozen=True)
class PackedCode:
    """An archive (tar.gz) of a directory; its git commit, if it has one, and whether that says all."""

    archive: bytes
    files: int = 0
    commit: str = ""
    is_dirty: bool = False
    from_git: bool = False
    left_out: tuple[str, ...] = ()
    """Files of git that never travel: secrets, weights."""

    @cached_property
    def digest(self) -> str:
        """sha256 of the archive, in hex."""
        return hashlib.sha256(self.archive).hexdigest()

    @property
    def pieces(self) -> list[bytes]:
        """The archive in parts that fit into a ConfigMap each."""
        return [self.archive[at : at + PIECE_BYTES] for at in range(0, len(self.archive), PIECE_BYTES)]


@dataclasses.dataclass(frozen=True)
class StoredCode:
    """Code that another job of the namespace has sent: its digest, and how many ConfigMaps hold it."""

    digest: str
    count: int


Code: TypeAlias = MountedCode | ImageCode | PackedCode
