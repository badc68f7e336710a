"""Which class of work a job is, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from migrate.survey.inventory.rows import ALWAYS, NOW, RELEASE, TRIAL, alone, job, row
from shunter.api.meta import Json
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.provider import read
from shunter.migrate.options import Options
from shunter.migrate.survey.inventory.classes import CLASSES, RULES
from shunter.migrate.survey.inventory.row import row_of


@pytest.mark.parametrize(
    ("value", "options", "job_class", "rule", "why"),
    [
        (job(), {}, "standard", "own-runtime", "profile P2"),
        (job(), {"profile": "idiomatic"}, "standard", "shipped-runtime", "profile P1"),
        (alone(), {}, "simple", "one-pod", "one pod"),
        (alone(resources={"limits": {"nvidia.com/gpu": 1, "cpu": "4"}}), {}, "simple", "one-pod", "standard resources"),
        (alone(resources={"limits": {"rdma/hca": 1}}), {}, "standard", "own-runtime", "profile P2"),
        (alone(volumeMounts=[{"name": "data", "mountPath": "/data"}]), {}, "standard", "own-runtime", "profile P2"),
        (job(state="Running"), {}, "standard", "own-runtime", "profile P2"),
        (job(state="Succeeded"), {}, "finished", "finished", "Succeeded"),
        (job(state="Failed", runPolicy="none"), {}, "finished", "finished", "Failed"),
        (job(metadata=TRIAL), {}, "owned", "owned", "Trial team-a/tune-1"),
        (job(metadata=RELEASE), {}, "owned", "owned", "Helm release team-a/jobs"),
        (job(runPolicy="none"), {}, "blocked", "unreadable", "INPUT001"),
        (ALWAYS, {}, "blocked", "blocking-finding", "RESTART001"),
        (ALWAYS, {"accepted": ("RESTART001",)}, "complex", "taken-on", "RESTART001"),
        (job(runPolicy={"ttlSecondsAfterFinished": 60}), {}, "complex", "changed-meaning", "TTL001"),
    ],
    ids=[
        "its own runtime", "a shipped runtime", "a Master alone", "with a GPU", "with a device",
        "with a volume", "running", "succeeded", "failed, and unreadable", "of a Katib trial",
        "of a Helm release", "of a wrong type", "a blocking finding", "a blocking finding that was suppressed", "a warning",
    ],
)  # fmt: skip
def test_the_first_rule_that_holds_decides(value: Json, options: dict[str, Any], job_class: str, rule: str, why: str) -> None:
    found = row(value, **options)
    assert (found.job_class, found.reasons[0].rule) == (job_class, rule)
    assert why in found.reasons[0].why


def test_a_job_inside_another_object_is_complex_and_has_no_state() -> None:
    found = row(job(state="Succeeded"), inside="CronJob team-a/nightly")
    assert (found.job_class, found.state, found.gpu_hours) == ("complex", "", 0)
    assert "CronJob team-a/nightly" in found.reasons[0].why


def test_every_rule_that_holds_is_told() -> None:
    assert [reason.rule for reason in row(job(state="Failed", metadata=TRIAL)).reasons][:2] == ["finished", "owned"]


def test_every_class_has_a_rule_and_every_rule_says_when_it_holds() -> None:
    assert [rule.job_class for rule in RULES if rule.explanation] == sorted(
        (rule.job_class for rule in RULES), key=list(CLASSES).index
    )
    assert {rule.job_class for rule in RULES} == set(CLASSES)


def test_the_rules_are_documented_as_they_are() -> None:
    document = (Path(__file__).parents[4] / "docs" / "migration" / "reference.md").read_text()
    for rule in RULES:
        assert f"| {rule.job_class} | `{rule.id}` | {rule.explanation} |" in document


def test_the_simple_example_is_simple() -> None:
    example = Path(__file__).parents[4] / "examples" / "v1" / "pytorch-simple.yaml"
    (outcome,) = converted(read([str(example)]).jobs, Options()).outcomes
    assert row_of(outcome, NOW).job_class == "simple"
