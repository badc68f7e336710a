"""Which files of a tree are scanned."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.migrate.conversion.source import files as source_files
from shunter.migrate.survey.scan import files
from shunter.migrate.survey.scan.scanning import paths_below, scanned


def write(root: Path, tree: dict[str, str | bytes]) -> None:
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


SPEAKS = "kubectl get pytorchjobs\n"
TREE: dict[str, str | bytes] = {
    ".gitignore": "build/\n*.log\n!kept.log\n/top.sh\ndocs/**/*.tmp\n",
    "a.sh": SPEAKS,
    "build/a.sh": SPEAKS,
    "sub/build/a.sh": SPEAKS,
    "x.log": SPEAKS,
    "kept.log": SPEAKS,
    "top.sh": SPEAKS,
    "sub/top.sh": SPEAKS,
    "docs/a/b/c.tmp": SPEAKS,
    "sub/.gitignore": "own.sh\n",
    "sub/own.sh": SPEAKS,
    "own.sh": SPEAKS,
    "binary.sh": b"\0" + SPEAKS.encode(),
    "latin.sh": b"# caf\xe9\n" + SPEAKS.encode(),
}
READ = ["a.sh", "kept.log", "latin.sh", "own.sh", "sub/top.sh"]


@pytest.mark.integration
@pytest.mark.parametrize("with_git", [True, False], ids=["git lists", "no repository"])
def test_ignored_and_binary_files_are_left_out(tmp_path: Path, with_git: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, TREE)
    if with_git:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
    else:
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    found = scanned(paths_below([tmp_path]))
    assert [Path(finding.place.source).relative_to(tmp_path).as_posix() for finding in found.findings] == READ
    assert found.skipped == 1


@pytest.mark.integration
def test_without_git_the_same_files_are_listed_as_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, TREE)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    walked = files.listed(tmp_path)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert files.listed(tmp_path) == walked


PATHS = [
    "a.txt",
    "b.txt",
    "c.txt",
    "#x",
    "!y",
    "d/e.txt",
    "d/f/g.txt",
    "d/f/h/i.txt",
    "k/l/m.txt",
    "m/k/l/m.txt",
    "n o.txt",
    "build",
    "x/build",
]


@pytest.mark.integration
@pytest.mark.parametrize(
    "patterns",
    [
        "[ab].txt", "[!a].txt", "?.txt", "d/*", "d/**", "**/f", "d/**/i.txt", "**/i.txt", "\\#x", "\\!y", "#x", "k/l", "/k/l",
        "l", "build/", "build", "*\n!*.txt", "*\n!*/\n!*.txt", "d/f/\n!d/f/g.txt", "n o.txt", "n\\ o.txt", "*.txt   ",
        "d/f/h/i.tx[t]", "[z-a].txt", "[",
    ],
)  # fmt: skip
def test_patterns_mean_what_they_mean_to_git(tmp_path: Path, patterns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {**dict.fromkeys(PATHS, SPEAKS), ".gitignore": f"{patterns}\n"})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    walked = files.listed(tmp_path)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert walked == files.listed(tmp_path)


@pytest.mark.integration
def test_a_directory_that_git_ignores_is_read_when_it_is_named(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "vendor/\n", "vendor/a.sh": SPEAKS, "b.sh": SPEAKS})
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert paths_below([tmp_path / "vendor"]) == [tmp_path / "vendor" / "a.sh"]
    assert tmp_path / "vendor" / "a.sh" not in paths_below([tmp_path])


@pytest.mark.integration
def test_repositories_within_the_repository_are_read(tmp_path: Path) -> None:
    for name in ("submodule", "other", "empty"):
        write(tmp_path, {f"{name}/a.sh": SPEAKS, f"{name}/.gitignore": "b.sh\n", f"{name}/b.sh": SPEAKS})
        subprocess.run(["git", "init", "-q", tmp_path / name], check=True)
    commit = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tmp_path / "submodule")]
    subprocess.run([*commit, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    head = subprocess.run([*commit, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name in ("submodule", "gone"):
        (tmp_path / name).mkdir(exist_ok=True)
        subprocess.run(["git", "-C", tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{head},{name}"], check=True)
    read = [str(path.relative_to(tmp_path)) for path in paths_below([tmp_path]) if path.name.endswith(".sh")]
    assert read == ["empty/a.sh", "other/a.sh", "submodule/a.sh"]


@pytest.mark.integration
def test_a_directory_that_may_not_be_listed_is_told_and_the_rest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a/a.sh": SPEAKS, "b/b.sh": SPEAKS})
    listed = os.scandir

    def refused(path: Path) -> object:
        if Path(path).name == "a":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listed(path)

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(os, "scandir", refused)
    found = scanned(paths_below([tmp_path]))
    assert [(Path(finding.place.source).name, finding.topic.id) for finding in found.findings] == [
        ("a", "INPUT014"),
        ("b.sh", "SCAN016"),
    ]
    assert found.findings[0].message == "It cannot be read: Permission denied."
    assert (found.files, found.skipped) == (1, 0)


WITH_PERMISSIONS = """
import ctypes, os, sys
if os.geteuid() == 0:
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH: without them permissions count for root too
        assert ctypes.CDLL(None, use_errno=True).prctl(24, capability, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
"""


def found_with_permissions(root: Path, modes: dict[Path, int]) -> list[tuple[str, str]]:
    """The files and ids that a scan of the root tells, with directories of those modes."""
    command = [str(shutil.which("shunter", path=Path(sys.executable).parent)), "migrate", "scan", "-o", "json", str(root)]
    for directory, mode in modes.items():
        directory.chmod(mode)
    try:
        done = subprocess.run([sys.executable, "-c", WITH_PERMISSIONS, *command], check=True, capture_output=True)
    finally:
        for directory in modes:
            directory.chmod(0o700)
    findings = [finding for item in json.loads(done.stdout)["items"] for finding in item["findings"]]
    return sorted((Path(finding["source"]).relative_to(root).as_posix(), finding["id"]) for finding in findings)


def tracked(root: Path, *paths: str) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "add", *paths], check=True)


@pytest.mark.integration
@pytest.mark.parametrize("below", ["", "sub"])
def test_a_directory_that_git_may_not_list_is_told_and_the_rest_is_read(tmp_path: Path, below: str) -> None:
    write(tmp_path, {f"sub/{name}/a.sh": SPEAKS for name in ("tracked", "new", "it's another", "open")})
    tracked(tmp_path, "sub/tracked")
    root = tmp_path / below
    modes = {tmp_path / "sub" / name: 0 for name in ("it's another", "new", "tracked")}
    prefix = "" if below else "sub/"
    assert found_with_permissions(root, modes) == [
        (f"{prefix}it's another", "INPUT014"),
        (f"{prefix}new", "INPUT014"),
        (f"{prefix}open/a.sh", "SCAN016"),
        (f"{prefix}tracked", "INPUT014"),
    ]


@pytest.mark.integration
def test_tracked_files_of_a_directory_that_may_not_be_listed_are_read_where_they_can_be(tmp_path: Path) -> None:
    write(tmp_path, {"sub/a.sh": SPEAKS, "sub/inner/b.sh": SPEAKS, "sub/new.sh": SPEAKS})
    tracked(tmp_path, "sub/a.sh", "sub/inner")
    expected = [("sub", "INPUT014"), ("sub/a.sh", "SCAN016"), ("sub/inner/b.sh", "SCAN016")]
    assert found_with_permissions(tmp_path, {tmp_path / "sub": 0o311}) == expected


@pytest.mark.integration
def test_a_submodule_that_may_not_be_listed_is_told(tmp_path: Path) -> None:
    module = tmp_path / "module"
    write(module, {"a.sh": SPEAKS, "new.sh": SPEAKS})
    tracked(module, "a.sh")
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", module, *author, "commit", "-q", "-m", "a"], check=True)
    tracked(tmp_path, "module")
    assert found_with_permissions(tmp_path, {module: 0o311}) == [("module", "INPUT014"), ("module/a.sh", "SCAN016")]


@pytest.mark.integration
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"large.sh": SPEAKS})
    monkeypatch.setattr(source_files, "LARGEST", len(SPEAKS) - 1)
    (told,) = scanned(paths_below([tmp_path])).findings
    assert (Path(told.place.source).name, told.topic.id) == ("large.sh", "INPUT014")


@pytest.mark.integration
def test_what_speaks_of_v1_is_found_in_a_long_file_and_in_utf_16(tmp_path: Path) -> None:
    write(tmp_path, {"long.sh": f"{'# data' * 2**20}\n{SPEAKS}", "windows.ps1": SPEAKS.encode("utf-16")})
    found = scanned(paths_below([tmp_path]))
    assert [Path(finding.place.source).name for finding in found.findings] == ["long.sh", "windows.ps1"]


@pytest.mark.integration
def test_a_link_is_read_when_it_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.sh": SPEAKS})
    (tmp_path / "link.sh").symlink_to("a.sh")
    assert len(scanned(paths_below([tmp_path / "link.sh", tmp_path])).findings) == 1


@pytest.mark.integration
def test_a_file_is_read_once_though_two_roots_name_it(tmp_path: Path) -> None:
    write(tmp_path, {"a.sh": SPEAKS})
    assert len(paths_below([tmp_path, tmp_path / "a.sh"])) == 1


def test_a_root_of_an_impossible_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        paths_below([tmp_path / ("x" * 300)])


def test_a_root_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file or directory"):
        paths_below([tmp_path / "nowhere"])


@pytest.mark.integration
def test_every_file_is_counted(tmp_path: Path) -> None:
    write(tmp_path, {f"{number}.txt": "nothing\n" for number in range(5)})
    counted: list[int] = []
    assert scanned(paths_below([tmp_path]), counted.append).files == sum(counted) == 5
