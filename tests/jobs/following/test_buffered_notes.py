"""Notes about a job stay out of what its ranks write, and say what they mean."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shunter.jobs.condition_sentences import sentence
from shunter.jobs.following.buffered_notes import LONGEST, LONGEST_TRACEBACK, QUIET, BufferedNotes, NoteTiming
from shunter.jobs.following.pipe_display import PipeDisplay
from shunter.operator.overview import Member

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


def condition(type: str, status: str, message: str = "") -> dict[str, Any]:
    return {"type": type, "status": status, "message": message, "reason": "x"}


def job(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": "n", "uid": "u"},
        "spec": {"pytorchReplicaSpecs": {"Master": {}}},
        "status": {"conditions": list(conditions)},
    }


RUNNING = condition("Running", "True", "PyTorchJob n/j is running.")
RAN = condition("Running", "False", "PyTorchJob n/j is running.")
SUSPENDED = condition("Suspended", "True", "PyTorchJob j is suspended.")
RESUMED = condition("Suspended", "False", "PyTorchJob j is resumed.")
SENTENCES = {
    "runs": (job(RUNNING), RUNNING, "Running: PyTorchJob n/j is running."),
    "ran, and has failed": (job(condition("Failed", "True"), RAN), RAN, ""),
    "ran, and is suspended": (job(RAN, SUSPENDED), RAN, ""),
    "ran, and nobody says why no longer": (job(RAN), RAN, "No longer running"),
    "is suspended": (job(SUSPENDED), SUSPENDED, "Suspended: PyTorchJob j is suspended."),
    "is resumed": (job(RESUMED), RESUMED, "Resumed: PyTorchJob j is resumed."),
    "restarts no more": (job(condition("Restarting", "False", "x is restarting")), condition("Restarting", "False", "x"), ""),
    "cannot be made, which is told as the cause": (job(), condition("Created", "False", "JobSet j was refused: no."), ""),
    "waits for its gang, which is told as the cause": (
        job(),
        {**condition("Created", "True", "waits for PodGroup j"), "reason": "PyTorchJobWaitingForPodGroup"},
        "",
    ),
    "a condition of others": (job(), condition("Audited", "False", "it is audited"), "No longer Audited"),
    "unknown": (job(), condition("Audited", "Unknown"), "it is unknown whether the job is Audited"),
}


@pytest.mark.parametrize(("of", "changed", "text"), SENTENCES.values(), ids=SENTENCES)
def test_a_change_of_a_condition_reads_as_a_sentence(of: dict[str, Any], changed: dict[str, Any], text: str) -> None:
    """Upstream leaves the message of Running as it was when the job ends: `no longer Running: it is running`."""
    assert sentence(of, changed) == text
