"""The version of a wheel built from this source, from the git tag; hatchling asks for it (pyproject.toml, `tool.hatch.version`).

    at tag v1.2.3                    1.2.3; `__version__` in src/shunter/__init__.py must say the same
    7 commits after tag v1.2.3       1.2.4.dev7, or 2.0.0.dev7 once `__version__` says 2.0.0
    no such tag (a shallow clone)    `__version__`.dev0
    a source distribution            the version in its PKG-INFO
    no git, as in an archive         `__version__`.dev0

`__version__` in the source names the release that it becomes: the manifests in deploy/ hold it, so that those of a tag name the
image of that release.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_NUMBER = r"\d+\.\d+\.\d+"
_TAG = re.compile(rf"v(?P<version>{_NUMBER}(?:(?:a|b|rc)\d+)?)-(?P<commits>\d+)-g[0-9a-f]+")


class VersionMismatchError(Exception):
    """The tag of this commit and `__version__` disagree."""


def version(root: Path = ROOT) -> str:
    """The version of the source at `root`, as PEP 440 spells it. Raises VersionMismatchError."""
    packed = root / "PKG-INFO"
    if packed.exists():
        return _match(r"^Version: (.+)$", packed.read_text(encoding="utf-8"))
    declared = _match(r'^ *__version__ = "(.+)"$', (root / "src/shunter/__init__.py").read_text(encoding="utf-8"))
    described = _TAG.fullmatch(_described(root))
    return version_at(declared, described["version"], int(described["commits"])) if described else f"{declared}.dev0"


def version_at(declared: str, tagged: str, commits: int) -> str:
    """The version of a source that declares one release, commits after the tag of another. Raises VersionMismatchError."""
    if commits == 0 and declared != tagged:
        raise VersionMismatchError(
            f'the tag is v{tagged}, but src/shunter/__init__.py says __version__ = "{declared}": '
            f"set it to {tagged}, run `make generate`, commit, and tag that commit"
        )
    if commits == 0:
        return tagged
    return f"{declared if declared != tagged else _next(tagged)}.dev{commits}"


def _next(tagged: str) -> str:
    """The release after one: the next pre-release, or the next patch. Its development versions come before it."""
    number = _match(f"^({_NUMBER})", tagged)
    if number != tagged:
        return re.sub(r"\d+$", lambda last: str(int(last[0]) + 1), tagged)
    major, minor, patch = number.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"


def _described(root: Path) -> str:
    """`git describe` of the repository at `root`; empty without git or a tag, or where `root` is inside another repository."""
    try:
        if Path(_git(root, "rev-parse", "--show-toplevel")).resolve() != root.resolve():
            return ""
        return _git(root, "describe", "--tags", "--long", "--match", "v[0-9]*")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True).stdout.strip()


def _match(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    assert found, f"{pattern} not found"
    return found[1]
