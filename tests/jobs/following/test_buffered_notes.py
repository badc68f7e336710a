"""Notes about a job stay out of what its ranks write, and say what they mean."""

from __future__ import annotations

import asyncio

import pytest

from shunter.jobs.following.buffered_notes import LONGEST, LONGEST_TRACEBACK, QUIET, BufferedNotes, NoteTiming
from shunter.jobs.following.pipe_display import PipeDisplay
from shunter.operator.pod_places import Member

TRACEBACK = ["Traceback (most recent call last):", '  File "x.py", line 1, in <module>', "    main()", "", "ValueError: no"]
RANKED = [f"[rank0]: {line}" for line in TRACEBACK]
CHAINED = [
    *TRACEBACK[:3],
    "ValueError: no",
    "",
    "During handling of the above exception, another exception occurred:",
    "",
    *TRACEBACK,
]


def test_a_note_is_shown_at_once_while_nobody_writes() -> None:
    assert NoteTiming().due(100.0) <= 100.0


def test_a_note_waits_until_the_lines_pause_and_no_longer_than_a_while() -> None:
    rhythm = NoteTiming()
    rhythm.line("a", "step 1", 100.0)
    assert rhythm.due(100.0) == 100.0 + QUIET
    rhythm.line("a", "step 2", 101.9)
    assert rhythm.due(100.0) == 100.0 + LONGEST


@pytest.mark.parametrize("lines", [TRACEBACK, RANKED, CHAINED[-5:]], ids=["plain", "by torch", "the last of a chain"])
def test_a_note_never_comes_before_the_last_line_of_a_traceback(lines: list[str]) -> None:
    rhythm = NoteTiming()
    for number, line in enumerate(lines[:-1]):
        rhythm.line("a", line, 100.0 + number)
        assert rhythm.due(100.0) == 100.0 + LONGEST_TRACEBACK
    rhythm.line("a", lines[-1], 104.9)
    assert rhythm.due(100.0) == 100.0 + LONGEST


def test_a_line_of_another_rank_does_not_end_a_traceback() -> None:
    rhythm = NoteTiming()
    rhythm.line("a", TRACEBACK[0], 100.0)
    rhythm.line("b", "step 7", 100.1)
    assert rhythm.due(100.0) == 100.0 + LONGEST_TRACEBACK


class Lines(PipeDisplay):
    def __init__(self) -> None:
        self.shown: list[str] = []
        self.noted = asyncio.Event()

    def log(self, member: Member, container: str, line: str) -> None:
        self.shown.append(line)

    def note(self, text: str) -> None:
        self.shown.append(f"-- {text}")
        self.noted.set()


MEMBER = Member(role="master", index=0, rank=0)


async def test_a_failure_that_is_known_before_its_traceback_was_read_is_shown_behind_it() -> None:
    screen = Lines()
    held = BufferedNotes(screen)
    held.log(MEMBER, "pytorch", TRACEBACK[0])
    held.note("Failed: PyTorchJob j has failed")
    for line in TRACEBACK[1:]:
        await asyncio.sleep(0)
        held.log(MEMBER, "pytorch", line)
    await asyncio.wait_for(screen.noted.wait(), timeout=20)
    assert screen.shown == [*TRACEBACK, "-- Failed: PyTorchJob j has failed"]


async def test_notes_that_are_held_at_the_end_are_shown_in_their_order() -> None:
    screen = Lines()
    held = BufferedNotes(screen)
    held.log(MEMBER, "pytorch", TRACEBACK[0])
    held.note("one")
    held.problem("two")
    held.close()
    assert screen.shown == [TRACEBACK[0], "-- one", "-- two"]
