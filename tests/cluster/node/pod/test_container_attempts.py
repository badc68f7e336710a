"""How a run of a container ended, as its files say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.node.pod import container_attempts

ENDED = {"started_at": 1.0, "finished_at": 2.0}


@pytest.fixture
def attempt(tmp_path: Path) -> Path:
    directory = tmp_path / "0"
    container_attempts.create(directory, {})
    return directory


@pytest.mark.parametrize(
    ("state", "exit_code", "reason"),
    [
        ({"exit_code": 0}, 0, "Completed"),
        ({"exit_code": 3}, 3, "Error"),
        ({"exit_code": 137}, 137, "Error"),
        ({"exit_code": 137, "oom_killed": True}, 137, "OOMKilled"),
        ({"exit_code": 128, "error": "exec: not found"}, 128, "StartError"),
    ],
)
def test_the_reason_of_an_end(attempt: Path, state: dict[str, Any], exit_code: int, reason: str) -> None:
    ended = container_attempts.observed(attempt, 0, {}, alive=False, reported={**ENDED, **state})
    assert ended is not None
    assert (ended.exit_code, ended.reason) == (exit_code, reason)


@pytest.mark.parametrize(
    ("written", "policy", "exit_code", "message"),
    [
        ("lost the disk", "File", 1, "lost the disk"),
        ("", "File", 1, ""),
        ("", "FallbackToLogsOnError", 1, "the last line"),
        ("", "FallbackToLogsOnError", 0, ""),
    ],
)
def test_the_termination_message(attempt: Path, written: str, policy: str, exit_code: int, message: str) -> None:
    (attempt / "termination").write_text(written)
    (attempt / "log").write_text("2026-11-28T05:00:00.000000000Z stdout F the last line\n")
    container = {"terminationMessagePolicy": policy}
    ended = container_attempts.observed(attempt, 0, container, alive=False, reported={**ENDED, "exit_code": exit_code})
    assert ended is not None
    assert ended.message.strip() == message


@pytest.mark.parametrize(
    ("written", "log", "message"),
    [
        pytest.param("x" * 5000, [], "x" * 4096, id="4096 bytes of the file, from its beginning"),
        pytest.param(
            "", [f"line {number}" for number in range(100)], "\n".join(map("line {}".format, range(20, 100))), id="80 lines"
        ),
        pytest.param("", ["a" * 3000, "b"], "a" * 2045 + "\nb", id="2048 bytes of the log, with its end"),
    ],
)
def test_a_termination_message_is_no_longer_than_the_kubelet_makes_it(
    attempt: Path, written: str, log: list[str], message: str
) -> None:
    (attempt / "termination").write_text(written)
    (attempt / "log").write_text("".join(f"2026-11-28T05:00:00.000000000Z stdout F {line}\n" for line in log))
    container = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    ended = container_attempts.observed(attempt, 0, container, alive=False, reported={**ENDED, "exit_code": 1})
    assert ended is not None
    assert ended.message == message + ("\n" if log else "")


def test_a_supervisor_that_was_killed_left_no_end(attempt: Path) -> None:
    ended = container_attempts.observed(attempt, 0, {}, alive=False, reported={"started_at": 1.0})
    assert ended is not None
    assert (ended.exit_code, ended.reason) == (137, "ContainerStatusUnknown")


def test_an_attempt_is_never_made_twice(attempt: Path) -> None:
    with pytest.raises(FileExistsError):
        container_attempts.create(attempt, {})
