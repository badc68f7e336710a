"""What is told of saved checkpoints."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from shunter.launch.checkpoints import SavedStep, saved_steps

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def save(directory: Path, step: int, *, is_complete: bool = True) -> None:
    place = directory / f"step-{step}"
    place.mkdir(parents=True)
    for name, size in (("__0_0.distcp", 100), *((".metadata", 10),) * is_complete):
        (place / name).write_bytes(b"x" * size)
        os.utime(place / name, (NOON.timestamp(), NOON.timestamp()))


def test_the_newest_step_comes_first_and_says_whether_it_is_complete(tmp_path: Path) -> None:
    for step, is_complete in ((9, True), (100, True), (110, False)):
        save(tmp_path, step, is_complete=is_complete)
    (tmp_path / "step-latest").mkdir()
    (tmp_path / "notes.txt").write_text("none")
    assert saved_steps(tmp_path) == [
        SavedStep(110, 100, NOON, is_complete=False),
        SavedStep(100, 110, NOON, is_complete=True),
        SavedStep(9, 110, NOON, is_complete=True),
    ]


def test_a_step_of_which_nothing_is_written_yet_is_incomplete(tmp_path: Path) -> None:
    (tmp_path / "step-5").mkdir()
    (found,) = saved_steps(tmp_path)
    assert (found.step, found.size, found.is_complete) == (5, 0, False)


def test_no_directory_holds_none(tmp_path: Path) -> None:
    assert saved_steps(tmp_path / "missing") == []
    (tmp_path / "file").touch()
    assert saved_steps(tmp_path / "file") == []
