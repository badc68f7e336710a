"""Which jobs share a runtime, with each other or with one that already exists."""

from __future__ import annotations

import copy

import pytest

from migrate.conversion.sharing.shared_jobs import converted, job, node, require_proof, runtimes
from shunter.api.meta import Json


def test_the_order_of_the_input_does_not_count() -> None:
    three = [job(name, args=[name], env=[{"name": name, "value": "1"}, {"name": "ALL", "value": "1"}]) for name in "abc"]
    forwards, backwards = converted(*three), converted(*reversed(three))
    assert [one.train_job for one in forwards] == [one.train_job for one in reversed(backwards)]
    assert runtimes(forwards) == runtimes(backwards)


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"runPolicy": {"backoffLimit": 3}}},
        {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 60}}},
        {"metadata": {"namespace": "other"}},
    ],
)
def test_jobs_whose_runtimes_must_differ_share_none(change: Json) -> None:
    other = job("b")
    for section, fields in change.items():
        other[section] |= fields
    found = converted(job("a"), other)
    assert len(runtimes(found)) == 2
    require_proof(found)


def test_a_blocked_job_does_not_count() -> None:
    blocked = job("b", image="y:1")
    blocked["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "Always"
    assert len(converted(job("a"), job("c"), blocked)) == 2
    assert node(runtimes(converted(job("a"), job("c"), blocked))[0])["image"] == "x:1"


def test_a_runtime_that_is_there_is_taken_where_it_does() -> None:
    there = runtimes(converted(job("a", args=["1"]), job("b", args=["2"])))
    (late,) = converted(job("c", image="y:1", args=["3"]), known=tuple(there))
    assert late.runtime == there[0]
    assert late.train_job["spec"]["trainer"] == {"numNodes": 3, "image": "y:1", "args": ["3"]}
    require_proof([late])


def test_a_runtime_that_says_more_than_the_job_is_not_taken() -> None:
    there = runtimes(converted(*(job(name, env=[{"name": "DEBUG", "value": "1"}]) for name in "ab")))
    (late,) = converted(job("c"), known=tuple(there))
    assert late.runtime != there[0]
    without_mark = copy.deepcopy(runtimes(converted(job("a")))[0])
    without_mark["metadata"].pop("annotations")
    without_mark["metadata"]["name"] = "by-hand"
    (late,) = converted(job("c"), known=(without_mark,))
    assert [one["metadata"]["name"] for one in runtimes([late])] != ["by-hand"]
