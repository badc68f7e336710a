"""Lines of logs: their times, their ranks, and which of them end a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.operator.program_logs.ends import reason
from shunter.operator.program_logs.lines import END_LINES, errors, parsed, parsed_end

CORPUS = Path(__file__).parents[2] / "doctor" / "corpus"


def test_what_only_looks_like_a_time_is_text() -> None:
    (line,) = parsed("2026-13-01T00:00:00Z starts\n")
    assert (line.at, line.text) == ("", "2026-13-01T00:00:00Z starts")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("\x1b[31mstep 1\x1b[0m", "step 1"),
        ("\x9b31mstep 1\x9b0m", "step 1"),
        ("ab\x08\x08step 1", "abstep 1"),
        ("\x1b]0;title\x07step 1", "step 1"),
    ],
    ids=["colours", "colours in one byte", "backspaces", "a title"],
)
def test_what_is_written_for_terminals_is_left_out(written: str, text: str) -> None:
    (line,) = parsed(f"2026-11-25T20:00:00Z {written}\n")
    assert line.text == text


def test_of_a_chain_of_exceptions_the_last_counts_and_the_first_stays_in_its_lines() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in load\nEOFError: Ran out of input\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "b.py", line 2, in main\nRuntimeError: cannot resume\n'
    )
    (found,) = errors(parsed(text))
    assert found.text == "RuntimeError: cannot resume"
    assert "EOFError: Ran out of input" in found.whole


STEPS = "".join(f"2026-11-25T20:00:00Z step {step} loss 0.5\n" for step in range(1000))


@pytest.mark.parametrize("before", ["", STEPS], ids=["alone", "after a thousand steps"])
def test_the_end_of_a_log_tells_the_same_as_all_of_it(before: str) -> None:
    paths = sorted(CORPUS.glob("*/logs/*"))
    assert len(paths) > 100
    for path in paths:
        text = before + path.read_text()
        whole, end = parsed(text), parsed_end(text)
        assert reason(end) == reason(whole), path
        assert end == whole[len(whole) - len(end) :], path


def test_of_a_log_without_an_error_the_last_lines_are_read() -> None:
    assert [line.text for line in parsed_end(STEPS)] == [f"step {step} loss 0.5" for step in range(1000 - END_LINES, 1000)]
    assert parsed_end("") == []


@pytest.mark.parametrize(
    "said",
    [
        "socket.gaierror: [Errno -5] No address",
        "zipfile.BadZipFile: File is not a zip file",
        "queue.Empty",
        "cv2.error: OpenCV(4.8.0)",
    ],
)
def test_what_follows_the_frames_of_a_traceback_is_an_exception_whatever_its_name(said: str) -> None:
    text = f'Traceback (most recent call last):\n  File "a.py", line 1, in load\n    work()\n{said}\n'
    assert [error.text for error in errors(parsed(text))] == [said]
    assert errors(parsed(f"loading\n{said}\n")) == []


def test_nccl_names_a_lack_of_shared_memory_below_a_message_that_a_lost_peer_has_too() -> None:
    said = "Error while creating shared memory segment /dev/shm/nccl-9sDqj9 (size 9637888)"
    text = f"torch.distributed.DistBackendError: NCCL error in: x.hpp:268, unhandled system error\nLast error:\n{said}\n"
    (found,) = errors(parsed(text))
    assert (found.text, found.is_victim) == (said, False)
    (found,) = errors(parsed(text.replace(said, "socketProgress: Connection closed by remote peer")))
    assert found.is_victim
