"""Whether a Job ends, and how."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.controllers.job.tallied import NOW, ago, job, pod, tally
from shunter.api.core import Pod
from shunter.api.meta import Json
from shunter.cluster.controllers.job.verdict import completed, deadline_in, verdict_of

INDEXED: Json = {"completions": 3, "parallelism": 3, "completionMode": "Indexed"}
ON_FAILURE: Json = {"template": {"spec": {"restartPolicy": "OnFailure"}}}


def restarted(count: int, phase: str = "Running", **more: Any) -> Pod:
    return pod("r", phase, containerStatuses=[{"name": "c", "restartCount": count}], **more)


@pytest.mark.parametrize(
    ("status", "spec", "pods", "reason"),
    [
        pytest.param({}, {}, [pod("a", "Failed")], None, id="six failures are allowed by default"),
        pytest.param({"failed": 6}, {}, [], None, id="as many failures as the limit"),
        pytest.param({"failed": 6}, {}, [pod("a", "Failed")], "BackoffLimitExceeded", id="one failure more than the limit"),
        pytest.param({}, {"backoffLimit": 0}, [pod("a", "Failed")], "BackoffLimitExceeded", id="a limit of zero"),
        pytest.param({}, {"backoffLimit": 0}, [pod("a")], None, id="a limit of zero, and nothing failed"),
        pytest.param({}, {"backoffLimit": 2, **ON_FAILURE}, [restarted(1)], None, id="fewer restarts in place than the limit"),
        pytest.param(
            {}, {"backoffLimit": 2, **ON_FAILURE}, [restarted(2)], "BackoffLimitExceeded", id="as many restarts in place as it"
        ),
        pytest.param(
            {}, {"backoffLimit": 2, **ON_FAILURE}, [restarted(2, "Pending")], "BackoffLimitExceeded", id="or of a pending pod"
        ),
        pytest.param({}, {"backoffLimit": 2, **ON_FAILURE}, [restarted(9, "Succeeded")], None, id="restarts of a pod that ended"),
        pytest.param({}, {"backoffLimit": 2}, [restarted(9)], None, id="restarts in place where pods are never restarted"),
        pytest.param({}, {"backoffLimit": 0, **ON_FAILURE}, [restarted(0)], None, id="no restart, none allowed"),
        pytest.param({}, {"backoffLimit": 0, **ON_FAILURE}, [restarted(1)], "BackoffLimitExceeded", id="a restart, none allowed"),
        pytest.param(
            {"startTime": ago(60)}, {"activeDeadlineSeconds": 60}, [pod("a")], "DeadlineExceeded", id="the deadline is over"
        ),
        pytest.param({"startTime": ago(59)}, {"activeDeadlineSeconds": 60}, [pod("a")], None, id="a second before the deadline"),
        pytest.param({}, {"activeDeadlineSeconds": 60}, [pod("a", made=99)], None, id="a deadline without a start"),
        pytest.param(
            {"startTime": ago(99)}, {"activeDeadlineSeconds": 60, "suspend": True}, [], None, id="a suspended Job has no deadline"
        ),
        pytest.param(
            {"startTime": ago(99), "failed": 7},
            {"activeDeadlineSeconds": 60},
            [],
            "BackoffLimitExceeded",
            id="failures go before the deadline",
        ),
        pytest.param(
            {}, {**INDEXED, "backoffLimitPerIndex": 0}, [pod("a", "Failed", index=0)], None, id="one failed index of three"
        ),
        pytest.param(
            {"completedIndexes": "1,2"},
            {**INDEXED, "backoffLimitPerIndex": 0},
            [pod("a", "Failed", index=0)],
            "FailedIndexes",
            id="the others have succeeded",
        ),
        pytest.param(
            {},
            {**INDEXED, "backoffLimitPerIndex": 0, "maxFailedIndexes": 0},
            [pod("a", "Failed", index=0)],
            "MaxFailedIndexesExceeded",
            id="no failed index is allowed",
        ),
        pytest.param(
            {},
            {**INDEXED, "backoffLimitPerIndex": 0, "maxFailedIndexes": 1},
            [pod("a", "Failed", index=0)],
            None,
            id="one failed index is allowed",
        ),
        pytest.param(
            {"completedIndexes": "1"},
            {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "1"}]}},
            [pod("a", index=0)],
            "SuccessPolicy",
            id="the indexes of the success policy",
        ),
        pytest.param(
            {"completedIndexes": "1", "failed": 7},
            {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "1"}]}},
            [],
            "BackoffLimitExceeded",
            id="failures go before the success policy",
        ),
    ],
)
def test_a_job_ends_for_the_first_reason_that_holds(status: Json, spec: Json, pods: list[Pod], reason: str | None) -> None:
    verdict = verdict_of(tally(job(status, **spec), *pods), NOW)
    assert (verdict and verdict.reason) == reason
    if verdict is not None:
        assert verdict.success == (reason == "SuccessPolicy")
        assert not verdict.standing


@pytest.mark.parametrize(
    ("type", "success"), [pytest.param("SuccessCriteriaMet", True), pytest.param("FailureTarget", False)], ids=str
)
def test_what_the_status_decided_stands_whatever_happens_since(type: str, success: bool) -> None:
    condition = {"type": type, "status": "True", "reason": "Earlier", "message": "decided"}
    verdict = verdict_of(tally(job({"conditions": [condition], "failed": 9}), pod("a", "Failed")), NOW)
    assert verdict is not None
    assert (verdict.success, verdict.reason, verdict.message, verdict.standing) == (success, "Earlier", "decided", True)


def test_a_decision_that_is_false_does_not_stand() -> None:
    condition = {"type": "FailureTarget", "status": "False", "reason": "Earlier"}
    assert verdict_of(tally(job({"conditions": [condition]}), pod("a")), NOW) is None


@pytest.mark.parametrize(
    ("completions", "succeeded", "active", "ends"),
    [
        pytest.param(3, 2, 0, False, id="one is missing"),
        pytest.param(3, 3, 0, True, id="all have succeeded"),
        pytest.param(3, 4, 0, True, id="more than all"),
        pytest.param(3, 3, 1, False, id="a surplus pod still runs"),
        pytest.param(0, 0, 0, True, id="nothing to do"),
        pytest.param(None, 0, 0, False, id="without completions nothing has succeeded"),
        pytest.param(None, 1, 0, True, id="without completions one is enough"),
        pytest.param(None, 1, 2, False, id="without completions the others end first"),
    ],
)
def test_a_job_is_complete_once_enough_pods_succeeded_and_none_runs(
    completions: int | None, succeeded: int, active: int, ends: bool
) -> None:
    verdict = completed(tally(job({"succeeded": succeeded}, completions=completions)), active)
    assert (verdict is not None) == ends
    if verdict is not None:
        assert (verdict.success, verdict.reason) == (True, "CompletionsReached")


@pytest.mark.parametrize(
    ("status", "spec", "seconds"),
    [
        pytest.param({"startTime": ago(20)}, {"activeDeadlineSeconds": 60}, 40, id="running"),
        pytest.param({"startTime": ago(60)}, {"activeDeadlineSeconds": 60}, 0, id="just over"),
        pytest.param({"startTime": ago(20)}, {}, None, id="no deadline"),
        pytest.param({"startTime": ago(20)}, {"activeDeadlineSeconds": 60, "suspend": True}, None, id="suspended"),
        pytest.param({"startTime": ago(20)}, {"activeDeadlineSeconds": 0}, -20, id="a deadline of zero"),
    ],
)
def test_the_deadline_counts_from_the_start(status: Json, spec: Json, seconds: float | None) -> None:
    assert deadline_in(job(status, **spec), NOW) == seconds
