"""A file that the user names and that is not there."""

from __future__ import annotations

import os
from pathlib import Path

from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError


def missing_file(path: str | Path, *, what: str = "file or directory", pattern: str = "*", remedy: str = "") -> InputError:
    """The error for it. It suggests what is nearly so called and fits the pattern; else `remedy` holds. Of a link it names where
    that leads."""
    if os.path.islink(path):
        return InputError(f"{path} is a link to {os.readlink(path)}, which does not exist.", remedy)
    meant = _meant(str(path), pattern)
    return InputError(f"{path}: no such {what}.", did_you_mean([meant] if meant else [], remedy))


def _meant(path: str, pattern: str) -> str:
    """A path that exists and is nearly so called; empty when there is none."""
    folder, name = os.path.split(path)
    if folder and not os.path.exists(folder):
        there = _meant(folder, "*")
        return meant if there and os.path.exists(meant := os.path.join(there, name)) else ""
    beside = sorted(entry.name for entry in Path(folder or ".").glob(pattern) if entry.exists())
    close = nearest(name, beside, cutoff=0.75)
    return os.path.join(folder, close[0]) if close else ""
