"""Reads the directory of a program: lists it, by git where that knows it, and packs what travels."""

from __future__ import annotations

import errno
import itertools
import os
import re
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from shunter.argument_types import typed
from shunter.errors import InputError
from shunter.launch.code.delivery import PackedCode
from shunter.launch.code.files import IGNORE_FILE, VENV_MARK, is_ignored, never_sent, selection
from shunter.launch.code.packing import UNPACKED_LIMIT, Entry, TooLarge, archive, too_large
from shunter.launch.options import Program

GIT_SECONDS = 60
_CLOSED = re.compile(r"^warning: could not open directory '(.+)/': Permission denied$", re.MULTILINE)
"""In git's words; the path is that below the repository's top."""
_MOST_STEPS = 1000
"""Parts of a path and of the links that it follows; links in a circle have no end."""
FILES_LIMIT = 20_000
"""Files, but for those of directories that are left out: a directory of more was not meant, as a home directory."""


@typed
def packed_code(root: Path, program: Program | None = None) -> PackedCode:
    """The files of a directory that travel, packed. InputError when they are too many bytes, when one cannot be read or is a link
    out of the directory, and when the program itself would not travel."""
    root = root.absolute()
    repository = git_directory(root)
    ignored = ignore_lines(root)
    listed = git_files(root, ignored) if repository else walked_files(root, ignored)
    names = list(itertools.islice(listed, FILES_LIMIT + 1))
    if len(names) > FILES_LIMIT:
        raise InputError(
            f"the code does not fit: {root} has more than {FILES_LIMIT:,} files.",
            "Leave directories out with .gitignore or .shunterignore, choose a smaller --workdir, or put the code into an image: "
            "--image IMAGE --no-code.",
        )
    chosen = selection(names, ignored)
    if program is not None:
        require_program(root, program, chosen.kept)
    sizes = {name: size for name in chosen.kept if (size := _size(root, name)) is not None}
    if sum(sizes.values()) > UNPACKED_LIMIT:
        raise too_large(str(root), sizes, packed=False)
    try:
        packed = archive(entries(root, list(sizes)))
    except TooLarge:
        raise too_large(str(root), sizes, packed=True) from None
    commit = _git(root, "rev-parse", "--verify", "--quiet", "HEAD", fails=True).strip() if repository else ""
    is_dirty = bool(commit and _git(root, "status", "--porcelain", "--", "."))
    never = tuple(chosen.never) if repository else ()
    return PackedCode(packed, len(sizes), commit, is_dirty, from_git=bool(repository), left_out=never)


def require_program(root: Path, program: Program, kept: Sequence[str]) -> None:
    """InputError when a script, or a module of which a part is there, is not among the files that travel."""
    names = set(kept)
    if program.path and program.path not in names:
        raise InputError(
            f"{program.path} would not be sent with the job: .gitignore, {IGNORE_FILE} or its name excludes it.",
            f"Add it to git, or rename it; list such files: git -C {root} ls-files -co --exclude-standard",
        )
    if program.module:
        path = program.module.replace(".", "/")
        first = path.partition("/")[0]
        is_ours = any(name.startswith(f"{first}/") or name == f"{first}.py" for name in names)
        if is_ours and not names & {f"{path}.py", f"{path}/__main__.py"}:
            raise InputError(
                f"-m {program.module}: neither {path}.py nor {path}/__main__.py is among the files that are sent from {root}.",
                "Run it in the directory of the package, or name that directory with --workdir.",
            )


def require_mounted(root: Path, names: Sequence[str]) -> None:
    """InputError when one of these files is reached by a link that leads nowhere where the directory is mounted: a relative one
    that leaves it. An absolute one is followed on this machine, and leads where it leads here."""
    for name in names:
        if _leaves(root, name):
            raise _leads_outside(root / name)


def _leaves(root: Path, name: str) -> bool:
    """Whether the path below a directory goes above it by `..` of relative links."""
    ahead, behind = list(reversed(Path(name).parts)), list[str]()
    for _ in range(_MOST_STEPS):
        if not ahead:
            return False
        if (part := ahead.pop()) == os.pardir:
            if not behind:
                return True
            behind.pop()
        elif root.joinpath(*behind, part).is_symlink():
            target = Path(os.readlink(root.joinpath(*behind, part)))
            if target.is_absolute():
                return False
            ahead += reversed(target.parts)
        else:
            behind.append(part)
    return False


def _leads_outside(path: Path) -> InputError:
    return InputError(
        f"{path} is a link to {os.path.realpath(path)}, outside the directory that is sent.",
        f"Copy the file there, name a directory with both by --workdir, or leave it out in {IGNORE_FILE}.",
    )


def ignore_lines(root: Path) -> list[str]:
    """The lines of the .shunterignore of a directory; empty where there is none. InputError for one that cannot be read."""
    try:
        return (root / IGNORE_FILE).read_text().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(
            f"{root / IGNORE_FILE} cannot be read: {error.strerror or error}.", "Make it readable (chmod)."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{root / IGNORE_FILE} cannot be read: {error}.", "Write it as .gitignore is written.") from error


def git_directory(root: Path) -> Path | None:
    """The `.git` that a directory belongs to, if any: git itself is not asked, since it may be missing or refuse."""
    return next((found for above in (root, *root.parents) if (found := above / ".git").exists()), None)


def git_files(root: Path, ignored: Sequence[str] = ()) -> Iterator[str]:
    """What git knows or would add below a directory, with the files of submodules and of repositories within it, but for
    directories that the lines of a .shunterignore leave out. InputError for any other that cannot be read, which git passes
    over."""
    done = _git_done(root, "ls-files", "-co", "--exclude-standard", "--deduplicate", "-z")
    top = (git_directory(root) or root).parent
    for name in _CLOSED.findall(os.fsdecode(done.stderr)):
        if not is_ignored(os.path.relpath(top / name, root), ignored):
            raise _unreadable(str(top / name), PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    for name in filter(None, os.fsdecode(done.stdout).split("\0")):
        path = root / name
        is_directory = path.is_dir() and not path.is_symlink()
        if is_ignored(name.rstrip("/") if is_directory else os.path.dirname(name), ignored):
            continue
        if is_directory:
            inner = git_files(path) if (path / ".git").exists() else walked_files(path)
            yield from (f"{name.rstrip('/')}/{below}" for below in inner)
        elif os.path.lexists(path):
            yield name


def walked_files(root: Path, ignored: Sequence[str] = ()) -> Iterator[str]:
    """Every file and link below a directory, but for directories that never travel or that the lines of a .shunterignore leave
    out: those need not be readable, and may hold any number of files."""

    def unreadable(error: OSError) -> None:
        raise _unreadable(str(error.filename), error)

    for directory, directories, files in os.walk(root, onerror=unreadable):
        if VENV_MARK in files and directory != str(root):
            directories.clear()
            continue
        linked = [name for name in directories if os.path.islink(os.path.join(directory, name))]
        # What does not travel need not be listed: an environment has tens of thousands of files.
        directories[:] = [
            name
            for name in directories
            if name not in linked
            and not never_sent(f"{name}/")
            and not is_ignored(os.path.relpath(os.path.join(directory, name), root), ignored)
        ]
        for name in (*files, *linked):
            yield os.path.relpath(os.path.join(directory, name), root)


def entries(root: Path, names: Sequence[str]) -> Iterator[Entry]:
    """Files as they are read; links as links, so that nothing travels under another name than its own."""
    resolved = Path(os.path.realpath(root))
    for name in names:
        path = root / name
        if path.is_symlink():
            target = Path(os.path.realpath(path))
            if not target.is_relative_to(resolved):
                raise _leads_outside(path)
            yield Entry(name, link=os.path.relpath(target, os.path.realpath(path.parent)))
            continue
        if not Path(os.path.realpath(path)).is_relative_to(resolved):
            raise InputError(f"{path} is reached by a link out of the directory that is sent.", f"Leave it out in {IGNORE_FILE}.")
        try:
            yield Entry(name, path.read_bytes(), is_executable=bool(path.stat().st_mode & stat.S_IXUSR))
        except OSError as error:
            raise _unreadable(str(path), error) from error


def _size(root: Path, name: str) -> int | None:
    """In bytes; None for what is neither file nor link, as a socket, or is gone."""
    path = root / name
    if path.is_symlink():
        return 0
    return path.stat().st_size if path.is_file() else None


def _unreadable(path: str, error: OSError) -> InputError:
    return InputError(
        f"{path} cannot be read: {error.strerror or error}.", f"Make it readable (chmod), or leave it out in {IGNORE_FILE}."
    )


def _git(root: Path, *arguments: str, fails: bool = False) -> str:
    """What git prints about a directory; with `fails` nothing where it exits with an error."""
    done = _git_done(root, *arguments, fails=fails)
    return "" if done.returncode else os.fsdecode(done.stdout)


def _git_done(root: Path, *arguments: str, fails: bool = False) -> subprocess.CompletedProcess[bytes]:
    """What becomes of git; without `fails` InputError where it exits with an error: without its answer files would travel that
    .gitignore keeps back."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {"LC_ALL": "C"}
    command = ["git", "-C", str(root), *arguments]
    remedy = "Fix that, or copy the files to send to a directory outside the repository and name it with --workdir."
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=GIT_SECONDS, check=False)
    except FileNotFoundError as error:
        raise InputError(
            f"{root} belongs to a git repository, and git is not installed: what .gitignore excludes is unknown.",
            "Install git, or copy the files to send to a directory outside the repository and name it with --workdir.",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"git did not list {root} within {GIT_SECONDS} s.", remedy) from error
    if done.returncode and not fails:
        raise InputError(f"git cannot list {root}: {os.fsdecode(done.stderr).strip().partition(chr(10))[0]}.", remedy)
    return done
