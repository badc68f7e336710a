"""Which files of a directory travel with a job. Pure: names go in, names come out.

Secrets and what is never code stay behind whatever git says: who may read a namespace's pods may read the code of its jobs.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".shunterignore"
NEVER = (
    *(".git", ".hg", ".svn", "__pycache__", "*.pyc", ".venv", "venv", "node_modules", ".DS_Store", ".ipynb_checkpoints"),
    *(".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx", "*.gpg"),
    *(".netrc", "_netrc", ".pypirc", ".npmrc", ".git-credentials", ".pgpass", ".htpasswd", "kubeconfig", "*.kubeconfig"),
    *(".aws", ".kube", ".ssh", ".gnupg", ".docker", ".azure", ".gcloud", ".huggingface", "application_default_credentials.json"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
    *("mlruns", "wandb", "mlflow.db", "*.pt", "*.pth", "*.safetensors", "*.ckpt"),
)
"""Patterns of gitignore, against names in lower case. None has `!`: that would bring back files of a directory of secrets."""
_KEY = re.compile(r"id_[^.]*")
"""Keys of ssh are id_KIND and id_KIND.pub; id_map.py is a program, and id_maps/ a package."""
VENV_MARK = "pyvenv.cfg"
"""Stands at the top of a virtual environment."""


class Selection(NamedTuple):
    """Sorted names: those that travel, and those that never do although they were asked for."""

    kept: list[str]
    never: list[str]


def selection(names: Iterable[str], ignored: Sequence[str] = ()) -> Selection:
    """Selects the files of a tree that are sent with the job. `names` are paths relative to its root, with `/`; `ignored` are the
    lines of its .shunterignore."""
    spec = _spec(tuple(ignored))
    asked = [
        name for name in sorted(set(names)) if not spec.match_file(name) and not is_ignored(posixpath.dirname(name), ignored)
    ]
    environments = tuple(name.removesuffix(VENV_MARK) for name in asked if name.rpartition("/")[2] == VENV_MARK and "/" in name)
    kept = [name for name in asked if not never_sent(name) and not name.startswith(environments)]
    chosen = set(kept)
    return Selection(kept, [name for name in asked if name not in chosen])


def never_sent(name: str) -> bool:
    """Whether a file, or a directory if its path ends in `/`, is a secret or what is never code, by its path alone. A directory's
    name decides for all that is in it."""
    lower = name.lower()
    return _spec(NEVER).match_file(lower) or _KEY.fullmatch(posixpath.basename(lower)) is not None


def is_ignored(directory: str, ignored: Sequence[str]) -> bool:
    """Whether the lines of a .shunterignore leave out a whole directory, by its path below the root. Otherwise than in a
    .gitignore a line with `!` brings back files of a directory that a line above it leaves out: as `!*.py` after `*`."""
    return bool(directory and ignored) and _is_left_out(directory, tuple(ignored))


@cache
def _is_left_out(directory: str, lines: tuple[str, ...]) -> bool:
    last = max((number for number, line in enumerate(lines, 1) if line.startswith("!") and _reaches(line, directory)), default=0)
    return _spec(lines[last:]).match_file(f"{directory}/")


def _reaches(line: str, directory: str) -> bool:
    """Whether a line with `!` may be about a file below a directory; true where that is hard to say."""
    path = line[1:].rstrip().rstrip("/")
    if "/" not in path or "\\" in path or "[" in path:
        return True
    above = path.removeprefix("/").split("/")[: directory.count("/") + 1]
    return "**" in above or _spec((f"/{'/'.join(above)}",)).match_file(f"{directory}/")


@cache
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    # A mounted directory needs neither the patterns nor the library.
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)
