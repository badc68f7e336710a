"""Suspending and resuming the Jobs of a JobSet."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from shunter.api.batch import Job
from shunter.api.jobset import JobSet, ReplicatedJob
from shunter.api.meta import Json
from shunter.cluster.controllers.jobset.progress import Progress
from shunter.cluster.controllers.jobset.suspension import resumed, resumptions, suspended, suspensions

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def job(name: str = "j", *, suspend: bool = True, start: str | None = None, template: Json | None = None) -> Job:
    parts = {"metadata": {"name": name, "namespace": "n"}, "spec": {"suspend": suspend, "template": template or {}}}
    return msgspec.convert({**parts, "status": {"startTime": start}}, Job)


def replicated(metadata: Json | None = None, **spec: Any) -> ReplicatedJob:
    return ReplicatedJob(name="a", template={"spec": {"template": {"metadata": metadata or {}, "spec": spec}}})


def progress(*conditions: tuple[str, str]) -> Progress:
    stored = [{"type": type, "status": status, "reason": "R", "message": ""} for type, status in conditions]
    return Progress.of(msgspec.convert({"metadata": {"name": "x"}, "status": {"conditions": stored}}, JobSet), NOW)


def kinds(of: Progress) -> list[tuple[str, str]]:
    return [(one.type, one.status) for one in of.status.conditions]


def test_only_jobs_that_run_are_suspended() -> None:
    writes = suspensions((job("a"), job("b", suspend=False)))
    assert [(write.ref.name, write.patch) for write in writes] == [("b", {"spec": {"suspend": True}})]


def test_a_suspended_jobset_restarts_no_more_and_a_resumed_one_is_not_suspended() -> None:
    assert kinds(suspended(progress(("RestartingJobSet", "True")))) == [("RestartingJobSet", "False"), ("Suspended", "True")]
    assert kinds(resumed(progress(("Suspended", "True")))) == [("Suspended", "False")]
    assert kinds(resumed(progress())) == []
    assert suspended(suspended(progress())).notes == suspended(progress()).notes, "an event is told once"


def test_the_start_time_goes_before_the_template_changes() -> None:
    first, second = resumptions(job(start="2026-11-21T11:00:00Z"), replicated())
    assert (first.subresource, first.patch) == ("status", {"status": {"startTime": None}})
    assert second.patch == {"spec": {"suspend": False}}


TAINT = {"key": "gpu", "operator": "Exists"}
GATE = {"name": "kueue.x-k8s.io/admission"}


@pytest.mark.parametrize(
    ("own", "wanted", "merged"),
    [
        pytest.param({}, replicated({"labels": {"a": "b"}}), {"metadata": {"labels": {"a": "b"}}}, id="labels"),
        pytest.param({}, replicated({"annotations": {}}), None, id="empty annotations"),
        pytest.param({}, replicated(nodeSelector={"zone": "a"}), {"spec": {"nodeSelector": {"zone": "a"}}}, id="a node selector"),
        pytest.param({"tolerations": [TAINT]}, replicated(tolerations=[TAINT]), None, id="a toleration that the Job has"),
        pytest.param(
            {"tolerations": [TAINT]},
            replicated(tolerations=[{"key": "spot"}, TAINT]),
            {"spec": {"tolerations": [TAINT, {"key": "spot"}]}},
            id="a further toleration",
        ),
        pytest.param(
            {"tolerations": None}, replicated(schedulingGates=[GATE]), {"spec": {"schedulingGates": [GATE]}}, id="a gate"
        ),
        pytest.param({"tolerations": [TAINT]}, replicated(), None, id="what the Job has stays"),
    ],
)
def test_a_resumed_job_gets_what_the_template_got_meanwhile(own: Json, wanted: ReplicatedJob, merged: Json | None) -> None:
    (write,) = resumptions(job(template={"spec": own}), wanted)
    assert write.patch["spec"].get("template") == merged
    assert write.patch["spec"]["suspend"] is False
