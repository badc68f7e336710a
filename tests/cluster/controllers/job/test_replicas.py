"""How many pods of a Job run now."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cluster.controllers.job.tallied import NOW, job, pod, tally
from shunter.api.core import Pod
from shunter.api.meta import Json
from shunter.cluster.controllers.job.backoff import Finish
from shunter.cluster.controllers.job.replicas import change_of, pending_indexes, surplus_of

INDEXED: Json = {"completions": 4, "parallelism": 4, "completionMode": "Indexed"}


@pytest.mark.parametrize(
    ("status", "spec", "pods", "create", "delete"),
    [
        pytest.param({}, {"parallelism": 3}, [], 3, [], id="as many as run in parallel"),
        pytest.param({}, {"parallelism": 0}, [], 0, [], id="none in parallel"),
        pytest.param({}, {"parallelism": 0}, [pod("a")], 0, ["a"], id="parallelism was set to zero"),
        pytest.param({}, {"parallelism": 5, "completions": 2}, [], 2, [], id="no more than there are completions"),
        pytest.param({"succeeded": 3}, {"parallelism": 5, "completions": 4}, [], 1, [], id="no more than are missing"),
        pytest.param({"succeeded": 9}, {"parallelism": 5, "completions": 4}, [], 0, [], id="more successes than completions"),
        pytest.param({}, {"completions": 0}, [], 0, [], id="no completions"),
        pytest.param({}, {"parallelism": 2}, [pod("a")], 1, [], id="one is there already"),
        pytest.param({}, {"parallelism": 2}, [pod("a", leaving=True)], 2, [], id="a terminating pod is replaced at once"),
        pytest.param(
            {}, {"parallelism": 2, "podReplacementPolicy": "Failed"}, [pod("a", leaving=True)], 1, [], id="or once it has ended"
        ),
        pytest.param({"succeeded": 1}, {"parallelism": 3}, [pod("a")], 0, [], id="no new ones after the first success"),
        pytest.param({}, {"parallelism": 3, "suspend": True}, [pod("a"), pod("b")], 0, ["a", "b"], id="none of a suspended Job"),
        pytest.param({}, {"parallelism": 1}, [pod("a"), pod("b", "Pending")], 0, ["b"], id="a pending one is surplus first"),
        pytest.param({}, {"parallelism": 9000}, [], 500, [], id="at most 500 at once"),
    ],
)
def test_pods_are_made_and_deleted_to_match_the_spec(
    status: Json, spec: Json, pods: list[Pod], create: int, delete: list[str]
) -> None:
    change = change_of(tally(job(status, **spec), *pods), [], NOW)
    assert change.create == create
    assert sorted(one.metadata.name for one in change.delete) == delete
    assert change.wait == timedelta()


def test_a_failed_pod_is_replaced_after_a_wait() -> None:
    change = change_of(tally(job(), pod("a", "Failed")), [Finish(NOW, False)], NOW)
    assert (change.create, change.wait) == (0, timedelta(seconds=10))
    change = change_of(tally(job(), pod("a", "Failed")), [Finish(NOW - timedelta(seconds=10), False)], NOW)
    assert (change.create, change.wait) == (1, timedelta())


def test_surplus_pods_go_without_waiting_for_the_backoff() -> None:
    change = change_of(tally(job(), pod("a"), pod("b", made=10), pod("c", "Failed")), [Finish(NOW, False)], NOW)
    assert ([one.metadata.name for one in change.delete], change.create) == (["b"], 0)


def test_an_indexed_job_makes_the_missing_indexes() -> None:
    made = tally(job({"completedIndexes": "1"}, **INDEXED), pod("a", index=2))
    change = change_of(made, [], NOW)
    assert (change.create, change.indexes) == (2, (0, 3))


@pytest.mark.parametrize(
    ("pods", "deleted"),
    [
        pytest.param([pod("a", index=0), pod("b")], ["b"], id="a pod without an index"),
        pytest.param([pod("a", index=0), pod("b", index=4)], ["b"], id="an index beyond the completions"),
        pytest.param([pod("a", index=0), pod("b", index="-1")], ["b"], id="a negative index"),
        pytest.param([pod("a", "Pending", index=0), pod("b", index=0)], ["a"], id="of two of one index the pending one"),
        pytest.param([pod("a", index=0), pod("b", index=1)], [], id="each has its own index"),
    ],
)
def test_an_indexed_job_has_no_use_for_wrong_or_repeated_indexes(pods: list[Pod], deleted: list[str]) -> None:
    change = change_of(tally(job(**INDEXED), *pods), [], NOW)
    assert [one.metadata.name for one in change.delete] == deleted
    assert not (change.create and change.delete), "deleting goes before creating"


@pytest.mark.parametrize(
    ("pods", "first"),
    [
        pytest.param([pod("b", made=9), pod("a", made=5)], "a", id="the younger one"),
        pytest.param([pod("b", ready=True), pod("a")], "a", id="the one that is not ready"),
        pytest.param([pod("b", ready=True, made=90), pod("a", ready=True, made=50)], "a", id="the one that became ready later"),
        pytest.param([pod("b", "Running"), pod("a", "Pending")], "a", id="the one without a node"),
        pytest.param(
            [
                pod("b", ready=True, containerStatuses=[{"name": "c", "restartCount": 1}]),
                pod("a", ready=True, containerStatuses=[{"name": "c", "restartCount": 5}]),
            ],
            "a",
            id="the one that restarted more often",
        ),
    ],
)
def test_the_pod_whose_loss_costs_least_goes_first(pods: list[Pod], first: str) -> None:
    for order in (pods, pods[::-1]):
        assert [one.metadata.name for one in surplus_of(tally(job(parallelism=1), *order), 1)] == [first]


@pytest.mark.parametrize("at_least", [0, 2, 7])
def test_no_more_pods_are_surplus_than_there_are(at_least: int) -> None:
    assert len(surplus_of(tally(job(), pod("a"), pod("b")), at_least)) == min(at_least, 2)


@pytest.mark.parametrize(
    ("status", "count", "indexes"),
    [
        pytest.param({}, 2, [0, 1], id="the first"),
        pytest.param({"completedIndexes": "0-1"}, 9, [2, 3], id="after those that succeeded"),
        pytest.param({"failedIndexes": "0,3"}, 9, [1, 2], id="not those that failed"),
        pytest.param({"completedIndexes": "0-3"}, 9, [], id="none is left"),
        pytest.param({}, 0, [], id="none is asked for"),
    ],
)
def test_pending_indexes_are_those_that_nothing_has_ended_or_serves(status: Json, count: int, indexes: list[int]) -> None:
    assert pending_indexes(tally(job(status, **INDEXED, backoffLimitPerIndex=1)), count) == indexes
