"""What the pods of a Job add up to."""

from __future__ import annotations

import pytest

from cluster.controllers.job.tallied import job, pod, tally
from shunter.api.core import Pod
from shunter.api.meta import Json


@pytest.mark.parametrize(
    ("pods", "active", "ready", "terminating"),
    [
        pytest.param([], 0, 0, 0, id="no pods"),
        pytest.param([pod("a", "Pending")], 1, 0, 0, id="a pending pod is active"),
        pytest.param([pod("a", "Unknown")], 1, 0, 0, id="a pod of unknown phase is active"),
        pytest.param([pod("a", ready=True), pod("b")], 2, 1, 0, id="one of two is ready"),
        pytest.param([pod("a", ready=True, leaving=True)], 0, 0, 1, id="a pod being deleted is terminating, not ready"),
        pytest.param([pod("a", "Succeeded", ready=True)], 0, 0, 0, id="a pod that has ended is neither"),
        pytest.param([pod("a", "Failed", leaving=True)], 0, 0, 0, id="a failed pod being deleted is not terminating"),
    ],
)
def test_a_pod_is_active_until_it_ends_or_is_deleted(pods: list[Pod], active: int, ready: int, terminating: int) -> None:
    counted = tally(job(completions=2, parallelism=2), *pods)
    assert (len(counted.active), counted.ready, counted.terminating) == (active, ready, terminating)


@pytest.mark.parametrize(
    ("status", "pods", "succeeded", "failed"),
    [
        pytest.param({}, [pod("a", "Succeeded"), pod("b", "Failed")], 1, 1, id="one of each"),
        pytest.param({"succeeded": 3, "failed": 2}, [], 3, 2, id="what the status counted already"),
        pytest.param(
            {"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["b"]}},
            [pod("a", "Succeeded"), pod("b", "Failed")],
            1,
            1,
            id="pods that the status holds as uncounted are counted once",
        ),
        pytest.param(
            {"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["b"]}}, [], 1, 1, id="uncounted pods that are gone"
        ),
        pytest.param({"succeeded": 1}, [pod("a", "Succeeded", tracked=False)], 1, 0, id="a pod without finalizer was counted"),
        pytest.param({}, [pod("a", leaving=True)], 0, 1, id="a pod deleted while it ran has failed"),
        pytest.param({}, [pod("a", "Pending", leaving=True)], 0, 1, id="a pod deleted while pending has failed"),
    ],
)
def test_each_ended_pod_counts_once(status: Json, pods: list[Pod], succeeded: int, failed: int) -> None:
    counted = tally(job(status, completions=5, parallelism=2), *pods)
    assert (counted.succeeded, counted.failed) == (succeeded, failed)


@pytest.mark.parametrize(
    ("policy", "failed"),
    [
        pytest.param({}, 1, id="by default"),
        pytest.param({"podReplacementPolicy": "TerminatingOrFailed"}, 1, id="TerminatingOrFailed"),
        pytest.param({"podReplacementPolicy": "Failed"}, 0, id="Failed waits until it has ended"),
    ],
)
def test_the_replacement_policy_says_whether_a_terminating_pod_has_failed(policy: Json, failed: int) -> None:
    assert tally(job(completions=1, **policy), pod("a", leaving=True)).failed == failed


@pytest.mark.parametrize(
    ("status", "pods", "succeeded"),
    [
        pytest.param({}, [pod("a", "Succeeded", index=0)], "0", id="one index"),
        pytest.param({}, [pod("a", "Succeeded", index=0), pod("b", "Succeeded", index=0)], "0", id="twice the same index"),
        pytest.param({"completedIndexes": "0,2"}, [pod("a", "Succeeded", index=1)], "0-2", id="together with the status"),
        pytest.param({}, [pod("a", "Succeeded", index=4)], "", id="an index beyond the completions"),
        pytest.param({}, [pod("a", "Succeeded")], "", id="a pod without an index"),
        pytest.param({}, [pod("a", "Succeeded", index="x")], "", id="an index that is no number"),
        pytest.param({}, [pod("a", "Succeeded", index="-1")], "", id="a negative index"),
        pytest.param({"completedIndexes": "0-9"}, [], "0-3", id="a Job that was scaled down"),
    ],
)
def test_an_indexed_job_counts_indexes(status: Json, pods: list[Pod], succeeded: str) -> None:
    counted = tally(job(status, completions=4, parallelism=4, completionMode="Indexed"), *pods)
    assert str(counted.succeeded_indexes) == succeeded
    assert counted.succeeded == counted.succeeded_indexes.total


def test_failed_indexes_are_known_only_with_a_limit_per_index() -> None:
    failed = pod("a", "Failed", index=1)
    indexed: Json = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    assert tally(job(**indexed), failed).failed_indexes is None
    assert str(tally(job(**indexed, backoffLimitPerIndex=0), failed).failed_indexes) == "1"
    assert str(tally(job(**indexed, backoffLimitPerIndex=1), failed).failed_indexes) == ""
