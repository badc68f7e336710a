"""Each ended pod is counted exactly once."""

from __future__ import annotations

import pytest

from cluster.controllers.job.tallied import job, pod, tally
from shunter.api.core import Pod
from shunter.api.meta import Json
from shunter.cluster.controllers.job.tracking import settle
from shunter.cluster.controllers.job.verdict import Verdict

FAILED = Verdict(success=False, reason="BackoffLimitExceeded", message="")


def uncounted(succeeded: list[str], failed: list[str]) -> Json:
    return {"uncountedTerminatedPods": {"succeeded": succeeded, "failed": failed}}


@pytest.mark.parametrize(
    ("status", "pods", "verdict", "released", "counters", "held"),
    [
        pytest.param({}, [pod("a")], None, [], (0, 0), ((), ()), id="a running pod keeps its finalizer"),
        pytest.param({}, [pod("a", "Succeeded")], None, [], (0, 0), (("a",), ()), id="an ended pod is written first"),
        pytest.param({}, [pod("a", "Failed")], None, [], (0, 0), ((), ("a",)), id="a failed one, too"),
        pytest.param(
            uncounted(["a"], []), [pod("a", "Succeeded", tracked=False)], None, [], (1, 0), ((), ()), id="then it is counted"
        ),
        pytest.param(uncounted([], ["a"]), [], None, [], (0, 1), ((), ()), id="also where the pod is gone"),
        pytest.param(
            uncounted(["a"], []), [pod("a", "Succeeded")], None, ["a"], (1, 0), ((), ()), id="one that is written is released"
        ),
        pytest.param({"succeeded": 1}, [pod("a", "Succeeded", tracked=False)], None, [], (1, 0), ((), ()), id="and never again"),
        pytest.param({}, [pod("a")], FAILED, [], (0, 0), ((), ("a",)), id="a pod of a failing Job has failed"),
    ],
)
def test_an_ended_pod_is_written_then_released_then_counted(
    status: Json,
    pods: list[Pod],
    verdict: Verdict | None,
    released: list[str],
    counters: tuple[int, int],
    held: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    settled = settle(tally(job(status, completions=3, parallelism=3), *pods), verdict)
    assert [one.metadata.name for one in settled.release] == released
    assert (settled.succeeded, settled.failed) == counters
    assert (settled.uncounted.succeeded, settled.uncounted.failed) == held


def test_a_pod_of_an_indexed_job_is_counted_by_its_index() -> None:
    indexed = job({"completedIndexes": "0"}, completions=3, parallelism=3, completionMode="Indexed")
    settled = settle(tally(indexed, pod("b", "Succeeded", index=1), pod("c", "Succeeded", index=1)), None)
    assert (str(settled.completed_indexes), settled.succeeded) == ("0,1", 2)
    assert settled.uncounted.succeeded == ()


def test_what_is_left_over_waits_for_the_next_look() -> None:
    pods = [pod(f"p{number}", "Succeeded") for number in range(501)]
    settled = settle(tally(job(completions=600, parallelism=600), *pods), None)
    assert len(settled.uncounted.succeeded) == 500
    assert not settled.is_complete


def test_counting_is_complete_once_no_ended_pod_is_held() -> None:
    assert not settle(tally(job(), pod("a", "Succeeded")), None).is_complete
    assert settle(tally(job(uncounted(["a"], [])), pod("a", "Succeeded")), None).is_complete
    assert settle(tally(job({"succeeded": 1}), pod("a", "Succeeded", tracked=False)), None).is_complete
