"""What describe says of a job. Pure: objects in, lines out."""

import pytest

from failed_job import NOW, PODS, job
from shunter.api.meta import Json
from shunter.jobs.description import description, own_events, phase
from shunter.operator.causes import Evidence


def test_what_may_not_be_read_is_named() -> None:
    waiting = {**job(), "status": {}}
    text = "\n".join(description(waiting, Evidence(unread=("pods", "events")), {}, NOW))
    assert "  Not read pods, events: they could not be listed" in text


def test_a_description_lists_pods_by_rank_and_events_by_time() -> None:
    events: list[Json] = [
        {
            "type": "Warning",
            "reason": "Late",
            "message": "m",
            "count": 3,
            "lastTimestamp": "2026-01-01T00:00:02Z",
            "metadata": {},
            "involvedObject": {"uid": "u"},
        },
        {
            "type": "Normal",
            "reason": "Early",
            "message": "m",
            "lastTimestamp": "2026-01-01T00:00:01Z",
            "metadata": {},
            "involvedObject": {"uid": "u"},
        },
    ]
    text = "\n".join(description(job(), Evidence(pods=PODS, events=events), {}, NOW))
    assert "State    Failed (PyTorchJobFailed)" in text
    assert text.index("j-master-0") < text.index("j-worker-0")
    assert text.index("Early") < text.index("Late")
    assert "(x3)" in text


def test_a_waiting_container_says_more_than_the_phase() -> None:
    waiting = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    assert phase({"status": {"phase": "Running", "containerStatuses": [waiting]}}) == "CrashLoopBackOff"


def test_limits_are_shown_where_a_job_has_them() -> None:
    limited = job()
    limited["spec"]["runPolicy"] = {"backoffLimit": 0, "activeDeadlineSeconds": 60, "suspend": False}
    assert "  Limits   backoffLimit 0, activeDeadlineSeconds 60" in description(limited, Evidence(pods=PODS), {}, NOW)
    assert not any("Limits" in line for line in description(job(), Evidence(pods=PODS), {}, NOW))


@pytest.mark.parametrize(
    ("kind", "name", "at", "expected"),
    [
        ("Pod", "j-worker-0", "2026-01-01T00:00:05Z", True),
        ("Pod", "j-worker-0", "2025-12-31T23:59:59Z", False),
        ("Pod", "j-worker-worker-0", "2026-01-01T00:00:05Z", False),
        ("Pod", "j-chief-0", "2026-01-01T00:00:05Z", False),
        ("Service", "j-worker-0", "2026-01-01T00:00:05Z", False),
    ],
    ids=["a pod it had", "a pod of a job before it", "a pod of job j-worker", "no role of it", "a service"],
)
def test_events_of_pods_that_are_gone_belong_to_the_job_that_had_them(kind: str, name: str, at: str, expected: bool) -> None:
    mine = job()
    mine["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    event = {"involvedObject": {"kind": kind, "name": name, "uid": "gone"}, "lastTimestamp": at, "metadata": {}}
    assert bool(own_events(mine, [], [event])) == expected


def test_a_job_whose_failed_pods_are_gone_still_says_what_failed() -> None:
    """The operator told it before they went."""
    when = "2026-01-01T00:00:02Z"
    told = "pod j-worker-0, container pytorch: Error, exit code 3. Last log lines:\nTraceback:\nValueError: no data"
    about = {"kind": "PyTorchJob", "name": "j", "uid": "u"}
    event = {"type": "Warning", "reason": "RankFailed", "message": told, "lastTimestamp": when, "involvedObject": about}
    lines = [*description(job(), Evidence(events=[event]), {}, NOW)]
    start = next(number for number, line in enumerate(lines) if line.startswith("Faults"))
    assert lines[start + 1 : start + 4] == [f"  {line}" for line in told.splitlines()]
    assert "no data" not in "".join(lines[lines.index("Events") :]), "told once"
    assert not any(
        line.startswith("Faults") and "gone" in line for line in description(job(), Evidence(pods=PODS, events=[event]), {}, NOW)
    )
