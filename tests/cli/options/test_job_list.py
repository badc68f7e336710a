"""Which jobs are listed, and in which order."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import get_args

import pytest

from shunter.cli.options.job_list import JobChoice, Order, State
from shunter.errors import InputError
from shunter.jobs import rank_states
from shunter.jobs.evidence import JobCause
from shunter.jobs.listing import Row
from shunter.operator.overview import Overview
from shunter.page import wire
from shunter.page.views.jobs import STATES

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def job(name: str, state: str, *, kind: str = "PyTorchJob", age: int = 0, ran: int | None = None, ranks: int = 1) -> Row:
    """The row of a job whose runtime says how many ranks it has."""
    created = NOON - timedelta(seconds=age)
    finished = created + timedelta(seconds=ran) if ran is not None else None
    return Row(Overview(kind, name[0], name, name, state, "", "", 1, created, finished), JobCause(None), None, wanted=ranks)


JOBS = [
    job("a1", "Succeeded", age=90, ran=60, ranks=4),
    job("a2", "Running", kind="TrainJob", age=10, ranks=8),
    job("b1", "Failed", age=30, ran=5),
    job("b2", "Created", kind="Job", age=20, ranks=2),
]
CHOICES = {
    "by namespace, the oldest first": (JobChoice(), "a1 a2 b1 b2"),
    "the youngest first": (JobChoice(sort=Order.age), "a2 b2 b1 a1"),
    "the worst first": (JobChoice(sort=Order.state), "b1 b2 a2 a1"),
    "the largest first": (JobChoice(sort=Order.ranks), "a2 a1 b2 b1"),
    "the longest first, those that go on last": (JobChoice(sort=Order.ran), "a1 b1 a2 b2"),
    "the other way round": (JobChoice(sort=Order.name, reverse=True), "b2 b1 a2 a1"),
    "of one state": (JobChoice(state=[State.failed]), "b1"),
    "of two states": (JobChoice(state=[State.created, State.running]), "a2 b2"),
    "of a kind": (JobChoice(kind=["trainjobs"]), "a2"),
    "of a kind and a state": (JobChoice(kind=["pytorchjob"], state=[State.running]), ""),
}


@pytest.mark.parametrize(("choice", "names"), CHOICES.values(), ids=CHOICES)
def test_what_is_listed(choice: JobChoice, names: str) -> None:
    assert [row.job.name for row in choice.chosen(JOBS)] == names.split()


def test_every_state_that_a_job_can_have_may_be_asked_for() -> None:
    from shunter.operator.overview import FINISHED_STATES, V1_STATES, V2_STATES

    states = {*FINISHED_STATES, *V1_STATES, *(state for _, state in V2_STATES)}
    assert states == set(State)


def test_states_have_one_order_in_lists_of_jobs_of_ranks_and_of_the_page() -> None:
    script = (files("shunter.page") / "assets/js/parts.js").read_text()
    (page,) = re.findall(r"export const STATES = (\[.*\]);", script)
    assert [STATES[state] for state in State] == [*get_args(wire.State)] == json.loads(page)
    assert [*rank_states.STATES] == [*get_args(wire.State), "Gone"]


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="unknown job kind 'Pod'"):
        JobChoice(kind=["Pod"]).chosen([])


def test_an_empty_list_says_whether_there_are_others() -> None:
    assert JobChoice().empty_text(0, "") == "no jobs; run one with: shunter run FILE"
    assert JobChoice().empty_text(0, "team") == "no jobs in namespace team; run one with: shunter run FILE"
    assert JobChoice(state=[State.failed]).empty_text(3, "") == "none of the 3 jobs matches --state and --kind"
