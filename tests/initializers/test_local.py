"""file://: what is mounted, copied, compared, and copied again only when it changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from initializers.conftest import Initialize
from shunter.initializers import local
from shunter.initializers.files import digest_of

FILES = {"a.txt": b"1", "deep/er/b.bin": b"\0" * 3_000_000, "skip.tmp": b"x"}


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    root = tmp_path / "mounted volume"
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def uri(volume: Path) -> str:
    return f"file://{str(volume).replace(' ', '%20')}"


@pytest.mark.parametrize("role", ["dataset", "model"])
def test_a_directory_is_copied_without_what_is_ignored(volume: Path, initialize: Initialize, role: str) -> None:
    done = initialize(uri(volume), role=role, IGNORE_PATTERNS="*.tmp, none")
    assert (done.code, done.content()) == (0, {name: FILES[name] for name in ("a.txt", "deep/er/b.bin")})


def test_a_single_file_is_copied(volume: Path, initialize: Initialize) -> None:
    assert initialize(uri(volume / "a.txt")).content() == {"a.txt": b"1"}


def test_only_what_changed_is_copied_again(volume: Path, initialize: Initialize) -> None:
    initialize(uri(volume))
    (volume / "a.txt").write_bytes(b"22")
    done = initialize(uri(volume))
    assert "of which 2 already exist" in done.lines[1]
    assert done.content()["a.txt"] == b"22"


def test_a_copy_that_differs_is_made_again(volume: Path, initialize: Initialize, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = iter(["right", "wrong"])
    monkeypatch.setattr(local, "digest_of", lambda path, algorithm: next(digests, "") or digest_of(path, algorithm))
    done = initialize(uri(volume / "a.txt"))
    assert (done.code, done.content()) == (0, {"a.txt": b"1"})
    assert any("is not like it. Trying again (1 of 4)." in line for line in done.lines)


@pytest.mark.parametrize(
    ("place", "last_line"),
    [
        (
            "file:///no/such/place",
            "/no/such/place does not exist. Mount the volume that holds it into the initializer's container.",
        ),
        ("file://claim/data", "file://claim/data names the host claim. Write a path with three slashes: file:///claim/data"),
    ],
)
def test_a_place_that_is_not_there_is_named(initialize: Initialize, place: str, last_line: str) -> None:
    done = initialize(place)
    assert (done.code, done.last_line) == (2, f"{place}: {last_line}")


def test_an_empty_directory_is_said(tmp_path: Path, initialize: Initialize) -> None:
    (tmp_path / "empty").mkdir()
    assert "Nothing to fetch." in initialize(f"file://{tmp_path}/empty").last_line


def test_a_directory_that_cannot_be_written_is_named(volume: Path, initialize: Initialize, tmp_path: Path) -> None:
    (tmp_path / "dataset").write_bytes(b"in the way")
    done = initialize(uri(volume))
    assert done.code == 3
    assert "Mount a volume there that the container's user may write to." in done.last_line
