"""Progress in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from job_evidence import v1_job
from shunter.cli.jobs import table_of
from shunter.cli.output.job_screen import job_lines
from shunter.jobs.evidence import JobCause
from shunter.jobs.job_view import JobView
from shunter.jobs.listing import Row
from shunter.jobs.progress_text import ProgressCells, cells, lines, stop_position
from shunter.operator.overview import Overview, overview
from shunter.operator.training_progress import Checkpoint, Progress
from shunter.page.views.jobs import progress_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
JUST_NOW = NOON - timedelta(seconds=3)
CHECKPOINT = Checkpoint(100, NOON - timedelta(seconds=12), seconds=1.25)
WHOLE = Progress(JUST_NOW, 40, 44, 120, 300, 1.2612345678, CHECKPOINT)

SHOWN = {
    "nothing": (None, True, ProgressCells()),
    "everything": (WHOLE, True, ProgressCells("120/300", "1.261", "41s", "100 (12s ago)")),
    "a finished job": (WHOLE, False, ProgressCells("120/300", "1.261", "", "100 (12s ago)")),
    "a percentage alone": (Progress(JUST_NOW, 40), True, ProgressCells("40%")),
    "no number of steps": (Progress(JUST_NOW, step=7), True, ProgressCells("7")),
    "a program that is silent": (Progress(NOON - timedelta(minutes=9), step=7), True, ProgressCells("7 (9m ago)")),
    "a finished job that was silent": (Progress(NOON - timedelta(minutes=9), step=7), False, ProgressCells("7")),
    "a loss that is no number": (Progress(JUST_NOW, loss=float("nan")), True, ProgressCells(loss="nan")),
    "a checkpoint without time": (Progress(JUST_NOW, checkpoint=Checkpoint(5)), True, ProgressCells(checkpoint="5")),
    "a log": (Progress(JUST_NOW, step=7, steps=9, source="log"), True, ProgressCells("7/9 (log)")),
    "a log without steps": (Progress(JUST_NOW, loss=0.5, source="log"), True, ProgressCells("(log)", "0.5")),
    "an old log": (
        Progress(NOON - timedelta(minutes=9), step=7, epoch=2, source="log"),
        True,
        ProgressCells("7 of epoch 2 (log, 9m ago)"),
    ),
    "a job that is suspended": (Progress(JUST_NOW, step=7, remaining_seconds=1), False, ProgressCells("7")),
    "longer than it said": (Progress(NOON - timedelta(seconds=60), remaining_seconds=5), True, ProgressCells(remaining="0s")),
}


@pytest.mark.parametrize(("found", "is_running", "expected"), SHOWN.values(), ids=SHOWN)
def test_cells(found: Progress | None, is_running: bool, expected: ProgressCells) -> None:
    assert cells(found, NOON, is_running=is_running) == expected


def test_lines_of_a_running_job() -> None:
    assert [*lines(WHOLE, [], NOON, is_running=True)] == [
        "  Progress step 120/300, 40 %, loss 1.26123, 41s left, reported 3s ago",
        "  Checkpoint of step 100, saved 12s ago in 1.25 s",
    ]


def test_what_was_read_in_a_log_says_so() -> None:
    found = Progress(NOON - timedelta(minutes=15), step=7, loss=0.5, source="log")
    progress, warning = lines(found, [], NOON, is_running=True)
    assert progress == "  Progress step 7, loss 0.5, read in its log, written 15m ago"
    assert "has not written of its progress to its log for 15 minutes: it may hang, or it may write" in warning


EPOCHS = {
    "epochs alone": (Progress(JUST_NOW, epoch=3), "epoch 3"),
    "steps of an epoch": (Progress(JUST_NOW, step=7, steps=90, epoch=2), "step 7/90 of epoch 2"),
}


@pytest.mark.parametrize(("found", "text"), EPOCHS.values(), ids=EPOCHS)
def test_epochs_are_shown_wherever_progress_is(found: Progress, text: str) -> None:
    """The list said epoch 3, describe and the page nothing, and top step epoch 3."""
    assert cells(found, NOON, is_running=True).step == text.removeprefix("step ")
    assert next(lines(found, [], NOON, is_running=True)) == f"  Progress {text}, reported 3s ago"
    view = JobView(overview(v1_job(1)), None, found, [], [], [], {}, ())
    assert job_lines(view, "", 80, 20, NOON)[0].plain.split("  ")[1].startswith(f"{text}, age")
    sent = progress_of(found)
    assert sent is not None
    assert sent.position == text


def test_a_job_that_does_not_run_is_not_warned_of() -> None:
    silent = Progress(NOON - timedelta(hours=3), step=7)
    assert [line for line in lines(silent, [], NOON, is_running=True) if "Warning" in line]
    assert [*lines(silent, [], NOON, is_running=False)] == ["  Progress step 7, reported 3h ago"]


def test_the_list_has_columns_for_progress_where_a_program_reports_it() -> None:
    job = Overview("TrainJob", "ns", "j", "uid", "Running", "", "", 2, NOON, None)
    headers = [
        [str(column.header) for column in table_of([Row(job, JobCause(None), found)], NOON).columns] for found in (None, WHOLE)
    ]
    assert headers[0] == ["NAMESPACE", "NAME", "KIND", "STATE", "WHY", "UP/WANTED", "AGE", "RAN"]
    assert headers[1] == [*headers[0][:6], "PROGRESS", "LOSS", "LEFT", "CHECKPOINT", "AGE", "RAN"]


STOPPED = {
    "nothing told": (None, ""),
    "nothing of steps": (Progress(loss=0.1), ""),
    "saved": (Progress(step=402, checkpoint=Checkpoint(402)), "stopped at step 402, which is saved"),
    "saved after the last report": (Progress(step=400, checkpoint=Checkpoint(402)), "stopped at step 402, which is saved"),
    "lost": (
        Progress(step=402, checkpoint=Checkpoint(401)),
        "stopped after step 402; step 401 is saved, so 1 step will be repeated",
    ),
    "not saved": (Progress(step=402), "stopped after step 402; no checkpoint of it is known"),
    "a directory alone": (Progress(checkpoint=Checkpoint(13)), "its newest checkpoint is of step 13"),
}


@pytest.mark.parametrize(("found", "words"), STOPPED.values(), ids=STOPPED)
def test_a_suspended_job_says_where_it_goes_on(found: Progress | None, words: str) -> None:
    assert stop_position(found) == words
