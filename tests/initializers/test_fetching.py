"""Several files at once, what a fetch leaves on disk for the next one, and what becomes of the others when one cannot be had."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from shunter.errors import EnvironmentProblem, InputError
from shunter.initializers.fetching import STATE, fetch_all
from shunter.initializers.files import Advance, RemoteFile
from shunter.initializers.progress import Progress

DEADLINE = 5.0


class OneRefused:
    """One file is refused while the other comes, a byte at a time."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.gone_on = threading.Event()

    def files(self) -> list[RemoteFile]:
        return [RemoteFile("refused", 1, ""), RemoteFile("long", None, "")]

    def fetch(self, file: RemoteFile, part: Path, advance: Advance) -> None:
        if file.path == "refused":
            self.has_begun.wait(DEADLINE)
            raise InputError("It is refused.")
        part.touch()
        self.has_begun.set()
        while not self.gone_on.wait(0.01):
            advance(1)


def test_a_file_that_is_refused_ends_the_fetch_while_others_are_under_way(tmp_path: Path) -> None:
    source = OneRefused()
    giving_up = threading.Timer(DEADLINE, source.gone_on.set)
    giving_up.start()
    with pytest.raises(InputError, match="It is refused"):
        fetch_all(source, tmp_path, Progress(lambda text: None))
    giving_up.cancel()
    assert not source.gone_on.is_set()


class InMemory:
    """Files by their names; their version is their content. Each fetch is remembered with what was there of the file."""

    def __init__(self, **contents: bytes) -> None:
        self.contents = contents
        self.fetched: list[tuple[str, bytes]] = []
        self.broken: set[str] = set()
        """Files whose connection breaks in the middle."""

    def files(self) -> list[RemoteFile]:
        return [RemoteFile(name, len(content), content.hex()) for name, content in self.contents.items()]

    def fetch(self, file: RemoteFile, part: Path, advance: Advance) -> None:
        self.fetched.append((file.path, part.read_bytes() if part.exists() else b""))
        content = self.contents[file.path]
        if file.path in self.broken:
            part.write_bytes(content[: len(content) // 2])
            raise EnvironmentProblem("The connection broke.")
        part.write_bytes(content)


def fetch(source: InMemory, directory: Path) -> list[tuple[str, bytes]]:
    """What was fetched now; what was there already is not."""
    source.fetched.clear()
    fetch_all(source, directory, Progress(lambda text: None), sleep=lambda seconds: None, workers=1)
    return source.fetched


def test_what_is_complete_is_not_fetched_again(tmp_path: Path) -> None:
    source = InMemory(a=b"1", b=b"2")
    assert fetch(source, tmp_path) == [("a", b""), ("b", b"")]
    assert fetch(source, tmp_path) == []
    assert {name: (tmp_path / name).read_bytes() for name in ("a", "b")} == source.contents


def test_only_a_file_that_changed_at_its_source_is_fetched_again(tmp_path: Path) -> None:
    source = InMemory(a=b"1", b=b"2")
    fetch(source, tmp_path)
    source.contents["a"] = b"22"
    assert fetch(source, tmp_path) == [("a", b"")]
    assert (tmp_path / "a").read_bytes() == b"22"


def test_a_file_that_somebody_touched_or_removed_is_fetched_again(tmp_path: Path) -> None:
    source = InMemory(a=b"1", b=b"2", c=b"3")
    fetch(source, tmp_path)
    (tmp_path / "a").write_bytes(b"99")
    (tmp_path / "b").unlink()
    assert [name for name, _ in fetch(source, tmp_path)] == ["a", "b"]
    assert (tmp_path / "a").read_bytes() == b"1"


def test_a_fetch_that_broke_off_leaves_its_part_for_the_next_one_and_no_file(tmp_path: Path) -> None:
    source = InMemory(a=b"1234")
    source.broken = {"a"}
    with pytest.raises(EnvironmentProblem, match="The connection broke"):
        fetch(source, tmp_path)
    assert not (tmp_path / "a").exists()
    source.broken = set()
    assert fetch(source, tmp_path) == [("a", b"12")]


def test_a_part_of_another_version_is_neither_gone_on_with_nor_kept(tmp_path: Path) -> None:
    source = InMemory(a=b"1234")
    source.broken = {"a"}
    with pytest.raises(EnvironmentProblem):
        fetch(source, tmp_path)
    source.broken, source.contents["a"] = set(), b"5678"
    assert fetch(source, tmp_path) == [("a", b"")]
    assert [path.name for path in (tmp_path / STATE).iterdir()] == ["complete.jsonl"]


def test_a_record_that_a_kill_cut_off_is_read(tmp_path: Path) -> None:
    source = InMemory(a=b"1", b=b"2")
    fetch(source, tmp_path)
    record = tmp_path / STATE / "complete.jsonl"
    record.write_text(record.read_text()[:-5])
    assert fetch(source, tmp_path) == [("b", b"")]
