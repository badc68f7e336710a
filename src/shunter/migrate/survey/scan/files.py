"""The files of a tree to read: those that git tracks or would track, or without git all that no .gitignore excludes."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from shunter.errors import InputError
from shunter.migrate.conversion.source.files import content_of
from shunter.missing_file import missing_file

_BINARY_PROBE = 8192
"""A file with a NUL in its first bytes is binary, as in git."""

_COULD_NOT_OPEN = re.compile(rb"^warning: could not open directory '(.*?)/?': ", re.MULTILINE)
_TOKENS = re.compile(r"\*\*/|/\*\*$|\*|\?|\[[^]]+\]|\\.|.")
_NOTHING = re.compile(r"(?!)")
"""For an invalid pattern, such as `[z-a]`."""
_WILDCARDS = {"**/": "(?:.*/)?", "/**": "/.*", "*": "[^/]*", "?": "[^/]"}


def listed(root: Path) -> list[Path]:
    """The files at or below `root`, and directories that cannot be listed, sorted. InputError if it does not exist."""
    try:
        is_directory = stat.S_ISDIR(root.stat().st_mode)
    except FileNotFoundError:
        raise missing_file(root) from None
    except OSError as error:
        raise InputError(f"{root}: cannot be read: {error.strerror}.") from error
    if not is_directory:
        return [root.resolve() if root.is_symlink() else root]
    tracked = _of_git(root)
    return sorted(tracked if tracked is not None else _walked(root, []))


def read(path: Path) -> bytes | None:
    """The bytes of a text file, with UTF-16 converted to UTF-8; None for links and binary files. OSError if a file cannot be
    read, or a directory listed."""
    if path.is_symlink():
        return None
    if path.is_dir():
        os.scandir(path).close()
    with path.open("rb") as file:
        head = file.read(_BINARY_PROBE)
        is_utf16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if b"\0" in head and not is_utf16:
            return None
        file.seek(0)
        content = content_of(file)
    return content.decode("utf-16", errors="replace").encode() if is_utf16 else content


def _of_git(root: Path) -> list[Path] | None:
    """The files by git; None without git or repository, and for a directory that git ignores, because the user named it."""
    if shutil.which("git") is None or _git(root, "check-ignore", "-q", ".").returncode == 0:
        return None
    answer = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if answer.returncode:
        return None
    found = _unlistable(root, answer.stderr)
    unlistable = set(found)
    for path in {root / name for name in os.fsdecode(answer.stdout).split("\0") if name}:
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            if unlistable.isdisjoint(path.parents):
                found.append(path)  # `read` raises the reason
            continue
        if stat.S_ISREG(mode):
            found.append(path)
        elif path != root and stat.S_ISDIR(mode) and not path.is_symlink():
            found += listed(path)  # a submodule or another repository: git lists only its directory
    return found


def _unlistable(root: Path, warnings: bytes) -> list[Path]:
    """The directories that git could not list, by its warnings, which have their paths in the repository."""
    names = [os.fsdecode(name) for name in _COULD_NOT_OPEN.findall(warnings)]
    prefix = os.fsdecode(_git(root, "rev-parse", "--show-prefix").stdout).rstrip("\n") if names else ""
    return [root / os.path.relpath(name, prefix or ".") for name in names]


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    in_english = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False, env=in_english)


class Patterns:
    """The lines of one .gitignore, for paths relative to its directory."""

    def __init__(self, text: str) -> None:
        lines = (line.rstrip() for line in text.splitlines())
        self._rules = [_rule(line) for line in lines if line and not line.startswith("#")]

    def verdict(self, path: str, *, is_dir: bool) -> bool | None:
        """Whether the last matching line ignores the path; None if no line matches."""
        for negated, only_dirs, pattern in reversed(self._rules):
            if pattern.fullmatch(path) and (is_dir or not only_dirs):
                return not negated
        return None


def _rule(line: str) -> tuple[bool, bool, re.Pattern[str]]:
    negated = line.startswith("!")
    text = line.removeprefix("!")
    only_dirs = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    text = text.removeprefix("/")
    try:
        return negated, only_dirs, re.compile(("" if anchored else "(?:.*/)?") + _as_regex(text))
    except re.error:
        return negated, only_dirs, _NOTHING


def _as_regex(glob: str) -> str:
    return "".join(map(_token_as_regex, _TOKENS.findall(glob)))


def _token_as_regex(token: str) -> str:
    if token in _WILDCARDS:
        return _WILDCARDS[token]
    if token.startswith("[") and len(token) > 1:
        return f"[^{token[2:]}" if token[1] == "!" else token
    return re.escape(token.removeprefix("\\") if len(token) > 1 else token)


def _walked(directory: Path, outer: list[tuple[Path, Patterns]]) -> Iterator[Path]:
    rules = outer
    with contextlib.suppress(OSError):
        text = (directory / ".gitignore").read_text(encoding="utf-8", errors="replace")
        rules = [*outer, (directory, Patterns(text))]
    try:
        entries = list(os.scandir(directory))
    except OSError:
        yield directory
        return
    for entry in entries:
        path, is_dir = Path(entry.path), entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or _is_ignored(path, rules, is_dir=is_dir):
            continue
        if is_dir:
            yield from _walked(path, rules)
        elif entry.is_file(follow_symlinks=False):
            yield path


def _is_ignored(path: Path, rules: list[tuple[Path, Patterns]], *, is_dir: bool) -> bool:
    for base, patterns in reversed(rules):
        verdict = patterns.verdict(path.relative_to(base).as_posix(), is_dir=is_dir)
        if verdict is not None:
            return verdict
    return False
