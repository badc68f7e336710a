"""Which pods were disrupted, how, and what is no disruption."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, pod, runs, seen
from job_evidence import NOW, event
from shunter.api.meta import Json
from shunter.doctor.diagnosing import diagnose

TWO = (pod(0, **runs()), pod(1, **runs()))


def about(reason: str, message: str, name: str = "j-worker-1", kind: str = "Pod") -> Json:
    told = event("u-gone", reason, message)
    told["involvedObject"] |= {"kind": kind, "name": name}
    return told


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        (
            "TaintManagerEviction",
            "Marking for deletion Pod n/j-worker-1",
            "rank 2 was deleted because of a NoExecute taint of its node",
        ),
        ("TaintManagerEviction", "Cancelling deletion of Pod n/j-worker-1", None),
        ("Evicted", "The node was low on resource: ephemeral-storage.", "rank 2 was evicted by its node"),
        ("Preempted", "Preempted by pod 4711 on node node-1", "rank 2 was preempted for a pod of higher priority"),
        ("Killing", "Stopping container pytorch", None),
    ],
    ids=["a taint", "a taint that is gone again", "a full disk", "a preemption", "a container that is stopped"],
)
def test_an_event_about_a_pod_that_is_gone_tells_how_it_went(reason: str, message: str, cause: str | None) -> None:
    found = [one.cause for one in diagnose(seen(*TWO, events=[about(reason, message)]), NOW).verdicts if one.id == "K08"]
    assert found == ([cause] if cause else [])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("other-worker-1", "Pod"), ("j-worker-1", "Node"), ("j-worker-1-debug", "Pod")],
    ids=["a pod of another job", "another kind", "a longer name"],
)
def test_an_event_about_something_else_is_no_disruption(name: str, kind: str) -> None:
    told = about("Preempted", "Preempted by pod 4711 on node node-1", name, kind)
    assert [one.id for one in diagnose(seen(*TWO, events=[told]), NOW).verdicts if one.id == "K08"] == []


@pytest.mark.parametrize(
    ("reason", "status", "says"),
    [
        ("PreemptionByScheduler", "True", "was preempted"),
        ("EvictionByEvictionAPI", "True", "was evicted through the API"),
        ("DeletionByTaintManager", "True", "because of a NoExecute taint"),
        ("TerminationByKubelet", "True", "was terminated by its node"),
        ("DeletionByPodGC", "True", "because its node no longer exists"),
        ("OfALaterRelease", "True", "was disrupted (OfALaterRelease)"),
        ("PreemptionByScheduler", "False", ""),
    ],
)
def test_the_condition_of_a_pod_tells_who_ended_it(reason: str, status: str, says: str) -> None:
    gone = pod(2, **ended(137))
    gone["status"]["conditions"] = [{"type": "DisruptionTarget", "status": status, "reason": reason}]
    (verdict,) = diagnose(failed(*TWO, gone), NOW).verdicts
    assert verdict.id == ("K08" if says else "T00")
    assert says in verdict.cause


@pytest.mark.parametrize(
    ("labels", "is_spot"),
    [
        ({"karpenter.sh/capacity-type": "spot"}, True),
        ({"karpenter.sh/capacity-type": "on-demand"}, False),
        ({"eks.amazonaws.com/capacityType": "SPOT"}, True),
        ({"cloud.google.com/gke-spot": "true"}, True),
        ({"spot": "true"}, False),
        (None, False),
    ],
)
def test_a_node_is_spot_only_by_its_labels(labels: dict[str, str] | None, is_spot: bool) -> None:
    gone = pod(2, spec={"nodeName": "node-1"}, **ended(137))
    gone["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}]
    nodes = ({"metadata": {"name": "node-1", "labels": labels}, "status": {}},)
    (verdict,) = diagnose(failed(*TWO, gone, nodes=nodes), NOW).verdicts
    assert ("spot capacity" in verdict.cause) == is_spot
