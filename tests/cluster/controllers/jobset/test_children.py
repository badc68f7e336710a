"""Which Jobs of a JobSet count, and how they stand."""

from __future__ import annotations

import msgspec
import pytest

from cluster.controllers.jobset.stored_jobs import job, jobset
from shunter.api.batch import Job
from shunter.cluster.controllers.jobset.children import Children, replicated_job_of


@pytest.mark.parametrize(
    ("attempt", "group"),
    [("0", "previous"), ("1", "active"), ("x", "active"), ("", "active")],
    ids=["an earlier run", "this run", "no number", "empty"],
)
def test_a_job_of_an_earlier_run_is_known_by_the_number_in_its_label(attempt: str, group: str) -> None:
    children = Children.of(jobset(1, a=1), [job("j", attempt=attempt)])
    assert [name for name in ("active", "succeeded", "failed", "previous") if getattr(children, name)] == [group]


def test_jobs_are_sorted_by_how_they_stand_and_by_name() -> None:
    jobs = [job("d", ends="Failed"), job("b"), job("c", ends="Complete"), job("a")]
    children = Children.of(jobset(a=4), jobs)
    assert [one.metadata.name for one in children.active] == ["a", "b"]
    assert [one.metadata.name for one in children.succeeded] == ["c"]
    assert [one.metadata.name for one in children.failed] == ["d"]
    assert children.names == {"a", "b", "c", "d"}
    assert Children.of(jobset(a=4), jobs[::-1]) == children


def test_a_job_without_the_label_is_of_no_replicated_job() -> None:
    assert replicated_job_of(msgspec.convert({"metadata": {"name": "j"}}, Job)) == ""
