"""What a failed pod's exit code or condition means for its Job."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shunter.api.batch import Job
from shunter.api.core import Pod
from shunter.api.meta import Json
from shunter.cluster.controllers.job.pod_failure_policy import Match, match

COUNTS = Match()


def job(*rules: Json) -> Job:
    spec: Json = {"template": {}, **({"podFailurePolicy": {"rules": [*rules]}} if rules else {})}
    return msgspec.convert({"metadata": {"name": "j", "namespace": "n"}, "spec": spec}, Job)


def pod(code: int = 42, *, init: int | None = None, condition: str = "") -> Pod:
    def ended(name: str, code: int) -> Json:
        return {"name": name, "state": {"terminated": {"exitCode": code}}}

    status: Json = {
        "phase": "Failed",
        "containerStatuses": [ended("main", code)],
        "initContainerStatuses": [ended("setup", init)] if init is not None else [],
        "conditions": [{"type": condition, "status": "True"}] if condition else [],
    }
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n"}, "status": status}, Pod)


def codes(action: str, operator: str, *values: int, **more: Any) -> Json:
    return {"action": action, "onExitCodes": {"operator": operator, "values": [*values], **more}}


DISRUPTED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
FATAL = codes("FailJob", "In", 42)
FATAL_WORD = Match("FailJob", True, "Container main for pod n/p failed with exit code 42 matching FailJob rule at index 0")
CASES: dict[str, tuple[Job, Pod, Match]] = {
    "without a policy every failure counts": (job(), pod(), COUNTS),
    "no rule matches": (job(FATAL), pod(1), COUNTS),
    "FailJob ends the Job with a message": (job(FATAL), pod(), FATAL_WORD),
    "Ignore does not count": (job(DISRUPTED), pod(137, condition="DisruptionTarget"), Match("Ignore", False)),
    "Count counts": (job(codes("Count", "In", 42)), pod(), Match("Count")),
    "NotIn is all other codes": (job(codes("FailIndex", "NotIn", 1, 2)), pod(), Match("FailIndex")),
    "but never 0": (job(codes("FailIndex", "NotIn", 1, 2)), pod(0), COUNTS),
    "a container of another name": (job(codes("FailJob", "In", 42, containerName="side")), pod(), COUNTS),
    "init containers count too": (job(codes("Ignore", "In", 7)), pod(0, init=7), Match("Ignore", False)),
    "the first rule that matches decides": (job(DISRUPTED, FATAL), pod(condition="DisruptionTarget"), Match("Ignore", False)),
}


@pytest.mark.parametrize(("failing", "ended", "expected"), CASES.values(), ids=CASES)
def test_the_first_rule_that_matches_says_what_a_failed_pod_means(failing: Job, ended: Pod, expected: Match) -> None:
    assert match(failing, ended) == expected


def test_a_condition_is_named_in_the_message_of_a_failed_job() -> None:
    found = match(job(FATAL, {**DISRUPTED, "action": "FailJob"}), pod(137, condition="DisruptionTarget"))
    assert found.message == "Pod n/p has condition DisruptionTarget matching FailJob rule at index 1"
