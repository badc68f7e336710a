"""Directories as they are on disks: listed, packed to the same bytes each time, and refused with a sentence."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.launch.code import tree
from shunter.launch.code.delivery import PackedCode
from shunter.launch.code.tree import packed_code
from shunter.launch.options import Program

NOBODY = 65534


def write(root: Path, *names: str, content: str = "x = 1\n") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


def git(root: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, "-C", str(root), *words], check=True, capture_output=True)


def packed_names(code: PackedCode) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(code.archive)) as tar:
        return tar.getnames()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q")
    return root


@pytest.mark.integration
def test_git_says_which_files_travel(repository: Path) -> None:
    write(repository, "train.py", "pkg/model.py", "new.py", "out/log.txt", "gone.py", ".env", "weights.pt")
    write(repository, ".gitignore", content="out/\n")
    git(repository, "add", "train.py", "pkg", "gone.py", ".gitignore", "-f", ".env", "weights.pt")
    git(repository, "commit", "-qm", "one")
    (repository / "gone.py").unlink()
    code = packed_code(repository)
    assert packed_names(code) == [".gitignore", "new.py", "pkg/model.py", "train.py"]
    assert (code.from_git, code.is_dirty, len(code.commit), code.left_out) == (True, True, 40, (".env", "weights.pt"))


@pytest.mark.integration
def test_a_part_of_a_repository_travels_alone(repository: Path) -> None:
    write(repository, "a/train.py", "b/other.py")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "one")
    code = packed_code(repository / "a")
    assert (packed_names(code), code.is_dirty) == (["train.py"], False)


@pytest.mark.integration
def test_files_of_submodules_and_inner_repositories_travel(repository: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    write(library, "lib.py", "junk.log")
    write(library, ".gitignore", content="*.log\n")
    git(library, "add", "lib.py", ".gitignore")
    git(library, "commit", "-qm", "one")
    write(repository, "train.py")
    git(repository, "submodule", "add", "-q", str(library), "vendored")
    shutil.copytree(library, repository / "inner")
    names = packed_names(packed_code(repository))
    assert {"train.py", "vendored/lib.py", "inner/lib.py"} <= set(names)
    assert not [name for name in names if "junk" in name or ".git/" in name]


@pytest.mark.integration
def test_git_that_refuses_is_an_error_and_not_a_reason_to_send_everything(repository: Path) -> None:
    write(repository, "train.py", "secret.txt")
    (repository / ".git/config").write_text("[broken")
    with pytest.raises(InputError, match=r"git cannot list .*bad config"):
        packed_code(repository)


@pytest.mark.integration
def test_git_that_is_missing_is_said(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(repository, "train.py")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(InputError, match=r"git is not installed: what .gitignore excludes is unknown"):
        packed_code(repository)


def test_without_a_repository_git_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "code", "train.py", "data/a.txt")
    write(tmp_path / "code", ".shunterignore", content="data/\n")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    code = packed_code(tmp_path / "code")
    assert (packed_names(code), code.from_git, code.commit) == ([".shunterignore", "train.py"], False, "")


def test_a_link_out_of_the_directory_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "root/train.py", "outside.py", "elsewhere/a.py")
    (tmp_path / "root/link.py").symlink_to(tmp_path / "outside.py")
    with pytest.raises(InputError, match=r"root/link.py is a link to .*/outside.py, outside the directory that is sent"):
        packed_code(tmp_path / "root")
    (tmp_path / "root/link.py").unlink()
    (tmp_path / "root/folder").symlink_to("../elsewhere")
    with pytest.raises(InputError, match=r"root/folder is a link to .*/elsewhere, outside"):
        packed_code(tmp_path / "root")


def test_a_package_that_is_named_like_a_key_of_ssh_travels(tmp_path: Path) -> None:
    write(tmp_path, "id_maps/__init__.py", "id_maps/id_work", "id_work")
    assert packed_names(packed_code(tmp_path)) == ["id_maps/__init__.py"]


def test_a_link_does_not_carry_a_secret_out(tmp_path: Path) -> None:
    write(tmp_path, "train.py")
    write(tmp_path, ".env", content="TOKEN=abc123\n")
    (tmp_path / "settings.txt").symlink_to(".env")
    assert b"abc123" not in gzip.decompress(packed_code(tmp_path).archive)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that other users can reach, as pytest's own are not."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    yield root
    shutil.rmtree(root)


@pytest.mark.parametrize("closed", ["secret.txt", "data"])
def test_a_file_that_cannot_be_read_is_named(open_directory: Path, closed: str) -> None:
    write(open_directory, "train.py", "secret.txt", "data/a.txt", ".shunterignore")
    (open_directory / ".shunterignore").chmod(0o666)
    (open_directory / closed).chmod(0)
    as_root = os.geteuid() == 0
    if as_root:
        os.seteuid(NOBODY)
    try:
        with pytest.raises(InputError, match=rf"/{closed} cannot be read: Permission denied. Make it readable"):
            packed_code(open_directory)
        write(open_directory, ".shunterignore", content=f"{closed}\n")
        assert closed not in {name.partition("/")[0] for name in packed_names(packed_code(open_directory))}, "the remedy works"
    finally:
        if as_root:
            os.seteuid(0)
        (open_directory / closed).chmod(0o700)


@pytest.mark.integration
def test_a_directory_that_git_cannot_read_is_named_and_not_passed_over(
    open_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = open_directory / "sub"
    write(root, "train.py", "data/a.txt", ".shunterignore", content="# nothing\n")
    git(open_directory, "init", "-q")
    monkeypatch.setenv("HOME", str(open_directory))
    as_root = os.geteuid() == 0
    if as_root:
        for path in (open_directory, *open_directory.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    (root / "data").chmod(0)
    if as_root:
        os.seteuid(NOBODY)
    try:
        with pytest.raises(InputError, match=r"/sub/data cannot be read: Permission denied. Make it readable"):
            packed_code(root)
        write(root, ".shunterignore", content="data/\n")
        assert packed_names(packed_code(root)) == [".shunterignore", "train.py"]
        write(root, ".shunterignore", content="# nothing\n")
        write(open_directory, ".gitignore", content="data\n")
        assert packed_names(packed_code(root)) == [".shunterignore", "train.py"]
    finally:
        if as_root:
            os.seteuid(0)
        (root / "data").chmod(0o700)


def test_a_directory_of_2_gigabytes_is_refused_without_being_read(tmp_path: Path) -> None:
    write(tmp_path, "train.py", "a.bin", "b.bin")
    for name, size in (("a.bin", 2 * 10**9), ("b.bin", 5 * 10**6)):
        os.truncate(tmp_path / name, size)
    expected = (
        r"the 3 files in .* have 2.0 GB, more than 268 MB. Largest: a.bin \(2.0 GB\), b.bin \(5.0 MB\), train.py \(6 bytes\)."
    )
    before = os.stat(tmp_path / "a.bin").st_atime_ns
    with pytest.raises(InputError, match=expected):
        packed_code(tmp_path)
    assert os.stat(tmp_path / "a.bin").st_atime_ns == before


def test_a_directory_with_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *(f"{number}.py" for number in range(4)), *(f"env/{number}.py" for number in range(9)), "env/pyvenv.cfg")
    monkeypatch.setattr(tree, "FILES_LIMIT", 4)
    assert packed_code(tmp_path).files == 4, "a virtual environment is not even listed"
    write(tmp_path, "5.py")
    with pytest.raises(InputError, match="has more than 4 files"):
        packed_code(tmp_path)
    write(tmp_path, *(f"data/runs/{number}.txt" for number in range(9)))
    write(tmp_path, ".shunterignore", content="data/runs/\n[45].py\n")
    monkeypatch.setattr(tree, "FILES_LIMIT", 6)
    assert packed_code(tmp_path).files == 5, "nor is what .shunterignore leaves out"


@pytest.mark.parametrize(
    "by_git", [pytest.param(True, marks=pytest.mark.integration, id="git"), pytest.param(False, id="no git")]
)
@pytest.mark.parametrize(
    ("lines", "sent"),
    [
        pytest.param("*\n!*.py\n", ["data/b.py", "pkg/a.py", "pkg/sub/c.py", "train.py"], id="any name"),
        pytest.param("*\n!*/\n!*.py\n", ["data/b.py", "pkg/a.py", "pkg/sub/c.py", "train.py"], id="as git wants it"),
        pytest.param("*\n!/pkg/**/*.py\n", ["pkg/a.py", "pkg/sub/c.py"], id="any depth"),
        pytest.param("*\n!/pkg/*.py\n", ["pkg/a.py"], id="one directory"),
        pytest.param("*\n!*.py\ndata/\n", ["pkg/a.py", "pkg/sub/c.py", "train.py"], id="a directory after it"),
        pytest.param("pkg/\n!pkg/sub/\ndata/\n", [".shunterignore", "pkg/sub/c.py", "pkg/sub/d.txt", "train.py"], id="below it"),
    ],
)
def test_what_a_line_of_shunterignore_brings_back_travels_with_and_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_git: bool, lines: str, sent: list[str]
) -> None:
    """A directory that is left out by the last line may have any number of files."""
    write(tmp_path, "train.py", "pkg/a.py", "pkg/e.txt", "pkg/sub/c.py", "pkg/sub/d.txt", "data/b.py", "data/f.txt")
    write(tmp_path, ".shunterignore", content=lines)
    if by_git:
        git(tmp_path, "init", "-q")
    code = packed_code(tmp_path)
    assert (packed_names(code), code.from_git) == (sent, by_git)
    if lines.endswith("data/\n"):
        monkeypatch.setattr(tree, "FILES_LIMIT", 6)
        assert packed_names(packed_code(tmp_path)) == sent


@pytest.mark.integration
@pytest.mark.parametrize(
    ("program", "message"),
    [
        (Program(path="ignored.py"), "ignored.py would not be sent with the job"),
        (Program(module="pkg.trian"), "-m pkg.trian: neither pkg/trian.py nor pkg/trian/__main__.py is among the files"),
    ],
    ids=["a script that is ignored", "a module that is not in its package"],
)
def test_a_program_that_would_not_travel_is_refused(repository: Path, program: Program, message: str) -> None:
    write(repository, "ignored.py", "pkg/__init__.py", "pkg/train.py")
    write(repository, ".gitignore", content="ignored.py\n")
    with pytest.raises(InputError, match=message):
        packed_code(repository, program)


@pytest.mark.parametrize("module", ["pkg.train", "pkg.sub", "torch.distributed.run"])
def test_modules_of_the_directory_and_of_the_image_may_be_run(tmp_path: Path, module: str) -> None:
    write(tmp_path, "pkg/train.py", "pkg/sub/__main__.py")
    assert packed_code(tmp_path, Program(module=module)).files == 2
