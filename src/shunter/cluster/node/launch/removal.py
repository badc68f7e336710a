"""Removes what a pod left on the machine: mounts, then files. Works from the file system alone, so `down` needs no agent."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

from shunter.cluster.node.launch import linux


def remove_trees(request: dict[str, Any]) -> None:
    """Unmounts everything below each of the `directories` (innermost first) and deletes them. Ignores missing ones. Raises the
    first OSError after trying all."""
    problems: list[OSError] = []
    for directory in request["directories"]:
        try:
            unmount_below(directory)
            delete_tree(directory)
        except OSError as error:
            problems.append(error)
    if problems:
        raise problems[0]


def unmount_below(directory: str) -> None:
    """Unmounts everything at or below a directory; ignores mounts that another process unmounts meanwhile."""
    for path in mounts_below(directory):
        try:
            linux.unmount(path)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT):
                raise


def delete_tree(directory: str) -> None:
    """Deletes a directory tree. Directories that their owner may not enter, such as an overlay's work directory, get the
    permissions first. Raises the first OSError for a directory where that fails, after deleting all else."""
    shutil.rmtree(directory, ignore_errors=True)
    if not os.path.isdir(directory):
        return
    problems = _opened(directory)
    for parent, names, _ in os.walk(directory):
        for path in (os.path.join(parent, name) for name in names):
            if not os.path.islink(path):
                problems += _opened(path)
    shutil.rmtree(directory, ignore_errors=True)
    if problems and os.path.exists(directory):
        raise problems[0]


def _opened(directory: str) -> list[OSError]:
    """Gives the owner access to the directory; returns the error when that fails."""
    try:
        os.chmod(directory, 0o700)
    except OSError as error:
        return [error]
    return []


def delete(path: Path) -> None:
    """Deletes a file or a whole directory, if it exists."""
    if path.is_dir() and not path.is_symlink():
        delete_tree(str(path))
    else:
        path.unlink(missing_ok=True)


def mounts_below(directory: str) -> list[str]:
    """Mount points at or below a directory, innermost first; one that is mounted twice is listed twice."""
    prefix = os.path.realpath(directory)
    with open("/proc/self/mountinfo", errors="surrogateescape") as file:
        paths = [linux.mount_point(line) for line in file]
    return sorted((path for path in paths if path == prefix or path.startswith(prefix + "/")), reverse=True)
