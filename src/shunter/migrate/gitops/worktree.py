"""Whether git can bring a file back."""

from __future__ import annotations

import subprocess
from pathlib import Path

SECONDS = 30


def unsaved(path: Path) -> list[str]:
    """What git could not bring back if the file, or any below the directory, were changed: a sentence each. Of a link it is about
    what it leads to."""
    path = path.resolve()
    folder = path if path.is_dir() else path.parent
    if _git(folder, "rev-parse", "--is-inside-work-tree") != "true":
        return [f"{path} is in no git working tree"]
    changed = _git(folder, "status", "--porcelain", "--untracked-files=all", "--ignored", "--", str(path))
    if changed is None:
        return [f"git status does not answer for {path}"]
    return [f"{line[3:]} {_STATES.get(line[:2], 'has changes')}" for line in changed.splitlines()]


_STATES = {"??": "is not known to git", "!!": "is ignored by git"}


def _git(folder: Path, *arguments: str) -> str | None:
    """What git answers; None when it refuses or is not there."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.rstrip("\n") if done.returncode == 0 else None
