"""Files that are either old or new, whatever happens in between."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from shunter.errors import EnvironmentProblem


def write_whole(path: Path, text: str) -> None:
    """Puts the text in the file's place in one step, on disk before it is seen; the file's mode stays, links are followed. A
    process that is killed leaves the old file, and at most a hidden one beside it. EnvironmentProblem when it cannot be written.

    What is no file, as /dev/null and /dev/stdout, is written to, not replaced.
    """
    target = path.resolve()
    try:
        if _is_stream(path):
            path.write_text(text, encoding="utf-8")
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, _mode(target))
                file.write(text.encode())
                file.flush()
                os.fsync(descriptor)
            os.replace(name, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(name)
            raise
    except OSError as error:
        raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror}.", "Nothing of it was changed.") from error


def require_writable(path: Path) -> None:
    """EnvironmentProblem when `write_whole` could not write the file: for who has long work to do first. Makes its folder."""
    target = path.resolve()
    try:
        if _is_stream(path):
            return
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent):
            return
    except OSError as error:
        raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror}.", "Name another file.") from error


def remove(path: Path) -> None:
    """Takes the file away; one that is gone already is fine. EnvironmentProblem when that is not possible."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentProblem(f"{path}: cannot be removed: {error.strerror}.") from error


def _is_stream(path: Path) -> bool:
    """Whether it is a device, a pipe or the like."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return 0o644
