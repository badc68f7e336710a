"""A file that the user names and that is not there."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from shunter.errors import InputError


def missing_file(path: str | Path, *, what: str = "file or directory", pattern: str = "*", remedy: str = "") -> InputError:
    """The error for it. It suggests what has nearly the same name beside it and fits the pattern; else `remedy` holds."""
    folder, name = os.path.split(path)
    beside = sorted(entry.name for entry in Path(folder or ".").glob(pattern))
    close = difflib.get_close_matches(name, beside, n=1, cutoff=0.75)
    return InputError(f"{path}: no such {what}.", f"Did you mean {os.path.join(folder, close[0])}?" if close else remedy)
