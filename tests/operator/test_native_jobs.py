"""Kubernetes' own Jobs, seen as training jobs."""

from __future__ import annotations

from typing import Any

import pytest

from job_evidence import NOW
from shunter.operator.causes import Evidence, cause
from shunter.operator.native_jobs import has_ranks, is_standalone
from shunter.operator.overview import is_pod_of, limits, overview, pod_selector, was_pod_of
from shunter.operator.pod_places import Members


def job(*conditions: str, spec: dict[str, Any] | None = None, **status: int) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"completionMode": "Indexed", "completions": 4, "parallelism": 4, **(spec or {})},
        "status": {"conditions": [{"type": type, "status": "True", "message": type} for type in conditions], **status},
    }


STATES = {
    "new": (job(), "Created"),
    "pods not ready": (job(active=4, ready=0), "Created"),
    "running": (job(active=4, ready=1), "Running"),
    "some ranks done": (job(active=1, succeeded=3), "Running"),
    "a rank is made anew": (job(active=4, ready=0, failed=1), "Running"),
    "held back": (job("Suspended"), "Suspended"),
    "about to succeed": (job("SuccessCriteriaMet", succeeded=4), "Running"),
    "complete": (job("SuccessCriteriaMet", "Complete", succeeded=4), "Succeeded"),
    "about to fail": (job("FailureTarget", active=3, ready=3), "Running"),
    "failed": (job("FailureTarget", "Failed", failed=7), "Failed"),
}


@pytest.mark.parametrize(("job", "state"), STATES.values(), ids=STATES)
def test_state_of_an_indexed_job(job: dict[str, Any], state: str) -> None:
    assert (overview(job).state, overview(job).ranks) == (state, 4)


def test_the_rank_of_a_pod_is_its_index() -> None:
    labels = {"batch.kubernetes.io/job-completion-index": "3"}
    pod = {"metadata": {"labels": labels, "ownerReferences": [{"uid": "u"}]}, "spec": {"containers": [{"name": "trainer"}]}}
    who = Members(job(), [pod]).of(pod)
    assert (who.label, who.rank, who.container) == ("rank-3", 3, "trainer")
    assert is_pod_of(job(), pod)
    assert not is_pod_of({**job(), "metadata": {"name": "j", "uid": "another"}}, pod)
    assert pod_selector(job()) == "batch.kubernetes.io/job-name=j"


def test_events_of_pods_that_went_are_never_guessed_by_name() -> None:
    """Pods of a Job `j-0` are called like those of the first rank of a Job `j`."""
    assert not was_pod_of(job(), "j-0-abcde", overview(job()).created)


def test_what_it_waits_for_and_what_ends_it() -> None:
    def why(**spec: Any) -> str:
        return str(cause(job(spec=spec), Evidence(), NOW) or "")

    assert why(suspend=True).endswith("""kubectl patch job j -n n --type=merge -p '{"spec":{"suspend":false}}'""")
    assert why(managedBy="kubernetes.io/job-controller") == ""
    assert "left to kueue.x-k8s.io/multikueue (managedBy): Kubernetes" in why(managedBy="kueue.x-k8s.io/multikueue")
    assert limits(job(spec={"backoffLimit": 2})) == "backoffLimit 2"


def test_only_jobs_that_people_made_and_that_number_their_pods_are_training_jobs() -> None:
    def owned(kind: str, *, controller: bool) -> dict[str, Any]:
        return {"metadata": {"name": "j", "ownerReferences": [{"kind": kind, "controller": controller}]}}

    assert has_ranks(job())
    assert not has_ranks(job(spec={"completionMode": "NonIndexed"}))
    assert not has_ranks({"spec": {}})
    assert is_standalone(job())
    assert is_standalone(owned("CronJob", controller=True))
    assert is_standalone(owned("Experiment", controller=False))
    assert not is_standalone(owned("JobSet", controller=True))
