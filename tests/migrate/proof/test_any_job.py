"""What holds for the proof of any v1 job: it never breaks down, and what an unblocked conversion changes is explained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrate.generated_jobs import fields, smallest, with_fields
from player.outcomes import recorded
from shunter.api.meta import Json
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options
from shunter.migrate.paths import Path
from shunter.migrate.proof.comparison import compared

OPTIONS = Options(elastic_nodes="max", accepted=("MPI001",))
REFUSED = ("mpijob-validation", "tfjob-worker-zero")
"""Recordings of jobs that have no pods, or templates without any container."""
EVERY = 12
"""Of the fields of pod templates one in so many is tried alone; all of them take minutes."""


def unexplained(job: Json, options: Options = OPTIONS) -> list[str]:
    conversion = convert(SourceObject(job, "generated.yaml"), options)
    comparison = compared(conversion, options)
    return [] if conversion.is_blocked else [finding.message for finding in comparison.findings if finding.is_blocking]


@pytest.mark.slow
@pytest.mark.parametrize("kind", JOB_KINDS, ids=lambda kind: kind.resource.kind)
def test_fields_change_nothing_that_is_not_told(kind: JobKind) -> None:
    of_pods = [path for path in fields(kind) if "template" in path]
    others = [path for path in fields(kind) if "template" not in path]
    for path in (*others, *of_pods[::EVERY]):
        job = with_fields(kind, smallest(kind, replicas=2), [path], kind.roles[-1])
        assert unexplained(job) == [], path


def recorded_jobs() -> Iterator[tuple[str, Json]]:
    for one in recorded("v1"):
        for step in one.case.steps if one.case.name not in REFUSED else ():
            if step.verb == "apply":
                for obj, answer in zip(step.argument, step.recorded["answers"], strict=True):
                    if obj["apiVersion"] == "kubeflow.org/v1" and answer["code"] == 201:
                        yield f"{one.id}/{obj['metadata']['name']}", obj


@pytest.mark.slow
def test_recorded_jobs_are_proved() -> None:
    found = {title: unexplained(job) for title, job in recorded_jobs()}
    assert len(found) > 120
    assert {title: messages for title, messages in found.items() if messages} == {}


def jobs(kind: JobKind) -> st.SearchStrategy[Json]:
    def made(paths: list[Path], replicas: int) -> Json:
        return with_fields(kind, smallest(kind, kind.roles[:2], replicas), paths, kind.roles[0])

    return st.builds(made, st.lists(st.sampled_from(fields(kind)), max_size=20), st.integers(1, 3))


JOBS: st.SearchStrategy[Json] = st.sampled_from(JOB_KINDS).flatmap(jobs)
IGNORED = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=IGNORED, derandomize=True, database=None)
@given(JOBS, st.sampled_from([OPTIONS, Options(profile="plain", elastic_nodes="min"), Options(gang="volcano", suffix="-v2")]))
def test_fields_together_change_nothing_that_is_not_told(job: Json, options: Options) -> None:
    assert unexplained(job, options) == []


@settings(max_examples=50, suppress_health_check=IGNORED, derandomize=True, database=None)
@given(JOBS)
def test_the_same_job_is_compared_alike_again(job: Json) -> None:
    conversion: Any = convert(SourceObject(job, "generated.yaml"), OPTIONS)
    first, second = compared(conversion, OPTIONS), compared(conversion, OPTIONS)
    assert (first.differences, first.findings) == (second.differences, second.findings)
