"""Whether git can bring a file back, and which kustomizations it knows."""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePosixPath

from shunter.kube.manifests import SUFFIXES
from shunter.migrate.conversion.source.kustomization import FILE_NAMES

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
    prefix = _git(folder, "rev-parse", "--show-prefix") or ""
    found = [(line[:2], line[3:]) for line in changed.splitlines()]
    return [
        f"{name} {_STATES.get(state, 'has changes')}"
        for state, name in found
        if state != "!!" or path.is_file() or _may_change(name.strip('"').removeprefix(prefix))
    ]


def known_kustomizations(folder: Path) -> list[Path]:
    """All kustomizations of the working tree that the directory is in, which git does not ignore; none outside of one."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    patterns = [pattern for name in FILE_NAMES for pattern in (name, f"**/{name}")]
    listed = top and _git(Path(top), "ls-files", "-z", "-co", "--exclude-standard", "--", *(f":(glob){one}" for one in patterns))
    return [Path(top or "", name) for name in (listed or "").split("\0") if name]


def _may_change(name: str) -> bool:
    """Whether an ignored file, or one in an ignored directory, would be read: not those of .venv or __pycache__."""
    place = PurePosixPath(name)
    is_manifest = name.endswith(("/", *SUFFIXES)) or place.name in FILE_NAMES
    return is_manifest and not any(part.startswith(".") for part in place.parts)


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
