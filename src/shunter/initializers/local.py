"""file://: a file or a directory that is mounted already, of a PersistentVolumeClaim for example."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import unquote, urlsplit

from shunter.errors import EnvironmentProblem, InputError
from shunter.initializers.files import BLOCK, Advance, Checksum, RemoteFile, digest_of
from shunter.initializers.settings import Settings
from shunter.initializers.streams import OpenedStream, resume


class Local:
    """The copy is compared with the original by SHA-256."""

    def __init__(self, settings: Settings) -> None:
        parts = urlsplit(settings.uri)
        if parts.netloc not in ("", "localhost"):
            raise InputError(
                f"{settings.uri} names the host {parts.netloc}.",
                f"Write a path with three slashes: file:///{parts.netloc}{parts.path}",
            )
        self._root = Path(unquote(parts.path))
        self._ignored = settings.ignore_patterns or ()

    def files(self) -> list[RemoteFile]:
        """The one file, or all below the directory. InputError where the path is not there."""
        try:
            if self._root.is_file():
                return [_described(self._root, self._root.name)]
            if not self._root.is_dir():
                raise InputError(
                    f"{self._root} does not exist.", "Mount the volume that holds it into the initializer's container."
                )
            return [_described(path, name) for path, name in self._walk()]
        except OSError as error:
            raise _unreadable(error) from error

    def fetch(self, file: RemoteFile, part: Path, advance: Advance) -> None:
        """Held to the checksum of the original: a copy that differs is removed, with EnvironmentProblem."""

        @contextmanager
        def open_at(offset: int) -> Iterator[OpenedStream]:
            with self._path(file).open("rb") as content:
                content.seek(offset)
                yield OpenedStream(offset, iter(lambda: content.read(BLOCK), b""))

        try:
            checksum = Checksum("sha256", digest_of(self._path(file), "sha256"))
        except OSError as error:
            raise _unreadable(error) from error
        resume(part, open_at, advance, size=file.size)
        found = digest_of(part, checksum.algorithm)
        if found != checksum.digest:
            part.unlink()
            raise EnvironmentProblem(
                f"The copy of {self._path(file)} is not like it.", "It changed while it was copied: try again."
            )

    def _path(self, file: RemoteFile) -> Path:
        return self._root if self._root.is_file() else self._root / file.path

    def _walk(self) -> Iterator[tuple[Path, str]]:
        """Files below the directory, also behind links, in the order of their names."""

        def refuse(error: OSError) -> None:
            raise error

        for folder, folders, names in os.walk(self._root, onerror=refuse, followlinks=False):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                relative = path.relative_to(self._root).as_posix()
                if path.is_file() and not any(fnmatch(relative, pattern) for pattern in self._ignored):
                    yield path, relative


def _described(path: Path, name: str) -> RemoteFile:
    stat = path.stat()
    return RemoteFile(name, stat.st_size, f"{stat.st_mtime_ns} {stat.st_size}")


def _unreadable(error: OSError) -> InputError:
    return InputError(f"{error.filename} cannot be read: {error.strerror}.", "Look at its permissions and the container's user.")
