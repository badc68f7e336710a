"""A copy of a tree of kustomizations, to be built and to be written in."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path


def copy_tree(root: Path, copy: Path) -> None:
    """Copies a directory so that no link leads out of the copy to a file: what is written there never reaches the original. What
    cannot be read is left out: kustomize says so if it needs it."""
    with suppress(shutil.Error):
        shutil.copytree(root, copy, ignore=_hidden_folders, symlinks=True)
    for link in [Path(folder, name) for folder, _, names in os.walk(copy) for name in names]:
        target = (root / link.relative_to(copy)).resolve()
        if not link.is_symlink() or not target.is_file():
            continue
        link.unlink()
        within = copy / os.path.relpath(target, root.resolve())
        if target.is_relative_to(root.resolve()) and within.exists():
            link.symlink_to(within)
        else:
            with suppress(OSError):
                shutil.copyfile(target, link)


def _hidden_folders(folder: str, names: list[str]) -> list[str]:
    """What of a folder no build needs: .git and its like. Hidden files (.env) do make Secrets and ConfigMaps."""
    return [name for name in names if name.startswith(".") and os.path.isdir(os.path.join(folder, name))]
