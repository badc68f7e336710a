"""Random jobs: the same for the same seed, and of fields that their kinds have."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import pytest

from player.case import Case
from random_jobs import v1, v2
from shunter.api.meta import Json
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.cluster.apiserver.packaged_schemas import definitions, packaged_crds
from shunter.cluster.apiserver.schema import StructuralSchema, compile_schema

GENERATORS = pytest.mark.parametrize("generated", [v1.cases, v2.cases], ids=["v1", "v2"])
Generated = Callable[[int, int], Iterator[Case]]


@cache
def schema(kind: str) -> StructuralSchema:
    (definition,) = (one for one in packaged_crds() if one["spec"]["names"]["kind"] == kind)
    return compile_schema(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], definitions())


def created(case: Case) -> list[Json]:
    return [obj for step in case.steps if step.verb == "apply" for obj in step.argument]


@GENERATORS
def test_a_seed_gives_the_same_cases_however_many(generated: Generated) -> None:
    assert list(generated(3, 10))[:5] == list(generated(3, 5))
    assert list(generated(3, 5)) != list(generated(4, 5))


@GENERATORS
def test_jobs_and_runtimes_have_no_unknown_field(generated: Generated) -> None:
    for case in generated(1, 100):
        for obj in created(case):
            assert schema(obj["kind"]).prune(copy.deepcopy(obj)) == [], case.name


@pytest.mark.parametrize("module", [v1, v2], ids=["v1", "v2"])
def test_jobs_without_a_mistake_are_accepted_by_the_schema(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MISTAKES", 0)
    for case in module.cases(1, 100):
        for obj in created(case):
            assert schema(obj["kind"]).structure_errors(obj, None) == [], case.name


def job_and_kind(rng: random.Random) -> tuple[Json, JobKind]:
    kind = rng.choice(JOB_KINDS)
    return v1.job(rng, kind), kind


def job_and_runtime(rng: random.Random) -> tuple[Json, Json]:
    runtime = v2.runtime(rng, rng.choice(v2.POLICIES)) | {"kind": "TrainingRuntime", "metadata": {"name": "runtime"}}
    return v2.train_job(rng, runtime), runtime


@pytest.mark.parametrize(
    ("mistake", "make"),
    [
        *((mistake, job_and_kind) for mistake in v1.MISTAKES_OF_JOBS),
        *((mistake, job_and_runtime) for mistake in v2.MISTAKES_OF_JOBS),
    ],
)
def test_a_mistake_changes_the_job_or_its_runtime(mistake: Callable[..., None], make: Callable[..., tuple[Any, ...]]) -> None:
    rng = random.Random(1)

    def changes_them() -> bool:
        made = make(rng)
        before = copy.deepcopy(made)
        mistake(rng, *made)
        return made != before

    assert any(changes_them() for _ in range(20))
