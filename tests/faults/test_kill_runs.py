"""`bench/kills.py`: a few of its kills, and that its checks find what they look for."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the command, which is no part of the package."""
    monkeypatch.syspath_prepend(str(BENCH))
    import kills

    return kills


@pytest.mark.timeout(300)
def test_a_few_kills_leave_a_history_without_faults() -> None:
    command = [sys.executable, str(BENCH / "kills.py"), "--kills", "4", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 kills" in done.stdout


def test_a_revision_of_two_writes_is_found(kills: Any) -> None:
    writes = [kills.Write("a", 5, "x"), kills.Write("b", 6, "y"), kills.Write("c", 5, "z"), kills.Write("a", 0, None)]
    assert kills.reused(writes) == ["resourceVersion 5 was given 2 times"]


def test_a_write_that_a_watch_passed_by_is_found(kills: Any) -> None:
    writes = [kills.Write("a", 5, "x"), kills.Write("b", 6, "y"), kills.Write("c", 9, "z")]
    assert kills.gaps(writes, [[4, 5, 7], [8, 9]]) == ["the watch from 4 to 7 did not show b at 6"]


def test_a_rank_that_ran_twice_or_never_is_found(kills: Any, tmp_path: Path) -> None:
    (tmp_path / "starts").write_text("a-master-0\nb-master-0\nb-master-0\n")
    (tmp_path / "twice").write_text("b-master-0 runs beside itself\n")
    assert kills.twice(tmp_path, ["a", "b", "c"]) == [
        "b-master-0 runs beside itself",
        "b-master-0 was started 2 times",
        "c never ran",
    ]


def test_a_state_that_was_not_acknowledged_is_found(kills: Any) -> None:
    class Answering:
        def ask(self, method: str, path: str) -> Any:
            return {"metadata": {"resourceVersion": "5"}, "data": {"text": "old"}}

    writer = kills.Writer(Answering(), 0, 1, None)
    writer.possible["map-0-0"] = {"new"}
    assert writer.look("map-0-0")
    assert writer.wrong == ["map-0-0 is 'old', and was acknowledged to be one of {'new'}"]


def test_an_update_names_the_revision_that_was_acknowledged_last(kills: Any) -> None:
    """Else a write after a loss would hide it."""
    sent: list[Any] = []

    class Taking:
        def ask(self, method: str, path: str, body: Any = None) -> Any:
            sent.append((method, body and body["metadata"]))
            return {"metadata": {"resourceVersion": "7"}, "data": {"text": "x"}}

    writer = kills.Writer(Taking(), 0, 1, None)
    writer.possible["map-0-0"] = {"x"}
    assert writer.look("map-0-0")
    writer._write("map-0-0", "x", "y")
    assert sent[-1] == ("PUT", {"name": "map-0-0", "resourceVersion": "7"})


@pytest.mark.parametrize(("code", "wrong"), [(410, []), (500, ["a watch from 4 was refused: 500 no"])])
def test_only_a_past_that_is_gone_excuses_a_watch(kills: Any, code: int, wrong: list[str]) -> None:
    watcher = kills.Watcher(None, threading.Event())
    watcher.take([{"type": "ERROR", "object": {"code": code, "message": "no"}}], [4])
    assert (watcher.wrong, watcher.refused) == (wrong, 1 - len(wrong))


def test_a_deletion_that_nobody_asked_for_is_found(kills: Any) -> None:
    writer = kills.Writer(None, 0, 1, None)
    writer.asked_deletions["a"] += 1
    assert kills.unasked([writer], [("a", 5), ("b", 6)]) == ["b was shown as deleted 1 times and asked to be 0 times"]
