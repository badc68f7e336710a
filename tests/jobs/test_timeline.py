"""What happened to a job, in order, each thing once."""

from __future__ import annotations

from typing import Any

from job_evidence import ago, event, v1_job
from shunter.jobs.timeline import MOST, timeline

Json = dict[str, Any]
FAILURE: Json = {"rank": 1, "pod": "j-worker-0", "podUID": "a", "container": "pytorch", "reason": "Error", "exitCode": 7}
RUNNING = {"type": "Running", "status": "True", "message": "it runs", "lastTransitionTime": ago(500)}


def shown(job: Json, events: list[Json]) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in timeline(job, events)]


def test_creation_conditions_failures_and_warnings_in_order() -> None:
    job = v1_job(1, conditions=[RUNNING], rankFailures={"count": 1, "last": [{**FAILURE, "time": ago(300)}]})
    events = [
        event("u-j", "RankFailed", "rank 1: it failed. Last log lines:\nboom", at=299),
        event("u-pod", "BackOff", "waiting to restart", at=200),
        event("u-pod", "Pulled", "image is there", at=450, type="Normal"),
        event("u-j", "Resized", "2 to 3", at=100, type="Normal"),
    ]
    assert shown(job, events) == [
        ("created", "Created"),
        ("condition", "Running: it runs"),
        ("failure", "rank 1, pod j-worker-0, container pytorch: Error, exit code 7"),
        ("warning", "BackOff: waiting to restart"),
        ("event", "Resized: 2 to 3"),
    ]


def test_an_entry_is_good_or_bad_by_what_happened_and_not_by_its_words() -> None:
    conditions = [
        {**RUNNING, "type": type, "status": status, "message": message}
        for type, status, message in (
            ("Complete", "True", "all ranks ended"),
            ("FailedOver", "True", "the pods moved to another node"),
            ("Failed", "True", "rank 1 failed"),
            ("Failed", "Unknown", ""),
        )
    ]
    events = [
        event("u-pod", "BackOff", "waiting to restart", at=200),
        event("u-j", "Resized", "2 to 3", at=100, type="Normal"),
        event("u-j", "RankFailed", "rank 1: it failed", at=50),
    ]
    found = timeline(v1_job(1, conditions=conditions), events)
    assert [one.tone for one in found] == ["plain", "good", "plain", "bad", "plain", "bad", "plain", "bad"]


def test_a_failure_without_a_record_is_told_by_its_event() -> None:
    events = [event("u-j", "RankFailed", "rank 1: it failed. Last log lines:\nboom", at=299)]
    assert shown(v1_job(1), events)[1:] == [("failure", "rank 1: it failed")]


def test_what_a_condition_says_is_not_said_again_by_its_event() -> None:
    events = [
        event("u-j", "PyTorchJobRunning", "it runs", at=499, type="Normal"),
        event("u-j", "PyTorchJobRunning", "it runs", at=900, type="Normal"),
        event("u-j", "PyTorchJobRunning", "it runs on another node", at=499, type="Normal"),
    ]
    assert shown(v1_job(1, conditions=[RUNNING]), events)[1:] == [
        ("event", "PyTorchJobRunning: it runs"),
        ("condition", "Running: it runs"),
        ("event", "PyTorchJobRunning: it runs on another node"),
    ]


def test_a_failure_is_not_pushed_out_by_what_happens_to_a_thousand_pods() -> None:
    job = v1_job(1, conditions=[RUNNING], rankFailures={"count": 1, "last": [{**FAILURE, "time": ago(499)}]})
    created = [event("u-j", "SuccessfulCreatePod", f"Created pod: j-worker-{n}", at=400, type="Normal") for n in range(1000)]
    warnings = [event("u-pod", "BackOff", f"number {number}", at=300 - number) for number in range(200)]
    found = shown(job, [*created, *warnings])
    assert len(found) == MOST
    assert found[:3] == [
        ("created", "Created"),
        ("condition", "Running: it runs"),
        ("failure", "rank 1, pod j-worker-0, container pytorch: Error, exit code 7"),
    ]
    few = shown(job, created[:5])
    assert few[3:] == [("event", "SuccessfulCreatePod: 5 times; the first: Created pod: j-worker-0")]
    assert len(shown(job, created[:3])) == 6


def test_events_of_many_pods_are_counted_by_how_often_each_was_told() -> None:
    events = [
        {**event("u-j", "SuccessfulCreatePod", f"Created pod: j-worker-{n}", at=400 - 10 * n, type="Normal"), "count": 10}
        for n in range(4)
    ]
    assert shown(v1_job(1), events)[1:] == [("event", "SuccessfulCreatePod: 40 times in 30s; the first: Created pod: j-worker-0")]
    assert shown(v1_job(1), events[:1])[1:] == [("event", "SuccessfulCreatePod: Created pod: j-worker-0 (x10)")]
    series = event("u-j", "SuccessfulCreatePod", "Created pod: j-worker-9", at=300, type="Normal") | {"series": {"count": 60}}
    assert shown(v1_job(1), [*events, series])[1][1].startswith("SuccessfulCreatePod: 100 times in ")


def test_events_that_differ_in_more_than_a_name_each_keep_their_time() -> None:
    events = [
        event("u-j", "JobRestarted", f"restart {n} because rank {n} failed", at=400 - n, type="Normal") for n in range(1, 6)
    ]
    assert shown(v1_job(1), events)[1:] == [("event", f"JobRestarted: restart {n} because rank {n} failed") for n in range(1, 6)]


def test_of_many_the_newest_and_the_creation_are_kept() -> None:
    events = [event("u-pod", "BackOff", f"number {number}", at=500 - number) for number in range(MOST + 50)]
    found = shown(v1_job(1), events)
    assert len(found) == MOST
    assert (found[0][1], found[-1][1]) == ("Created", f"BackOff: number {MOST + 49}")
