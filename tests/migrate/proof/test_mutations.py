"""Whatever is changed in a result by hand, the comparison or the proof notices: each leaf of each example's result in turn."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path as FilePath
from typing import Any

import pytest
from msgspec.structs import replace

from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.rules.restart_policy import UNLIMITED
from shunter.migrate.conversion.source import provider
from shunter.migrate.options import Options
from shunter.migrate.paths import Path, leaves, path_text, value_at
from shunter.migrate.proof.proving import proof_of

EXAMPLES = FilePath(__file__).parents[3] / "examples" / "v1"
OPTIONS = Options(elastic_nodes="max", accepted=("MPI001",))

WITHOUT_EFFECT = (
    r"(TrainJob|TrainingRuntime) (apiVersion|kind)",
    r"TrainJob metadata\.annotations.*",
    r"TrainingRuntime metadata\.(labels|annotations).*",
    # What a TrainJob says of them counts.
    r"TrainingRuntime spec\.mlPolicy\.numNodes",
    r"TrainingRuntime spec\.mlPolicy\.mpi\.numProcPerNode",
    # Read by torchrun, where these examples start Python; another number is as good.
    r"TrainJob spec\.trainer\.numProcPerNode",
    r"TrainingRuntime .*\.env\[\d+\]\.name PET_.*",
    # The number of pods is `parallelism`, and its default is what most say.
    r"TrainingRuntime .*\.completions",
    r"TrainingRuntime .*\.parallelism",
    # Values that plugins fill in, and defaults said aloud.
    r"TrainingRuntime .*\.env\[\d+\]\.value ",
    r"TrainingRuntime .*\.fieldRef\.apiVersion",
    r"TrainingRuntime .*\.readinessProbe\.periodSeconds",
    # A name that nobody is reached by.
    r"TrainingRuntime .*\.replicatedJobs\[1\]\.name worker",
)
"""Places, with their values, that nobody decides by."""
DEFAULTS = (
    r"TrainJob spec\.runtimeRef\.apiGroup",
    r"TrainJob spec\.trainer\.numNodes 1",
    r"TrainingRuntime spec\.mlPolicy\.mpi\.(mpiImplementation|runLauncherAsNode|sshAuthMountPath)",
    r"TrainingRuntime .*\.spec\.restartPolicy OnFailure",
)
"""Places whose values are what v2 takes where there are none."""
OF_EXAMPLES = {
    # One pod, whose program reads no variable and no name.
    "pytorch-simple": (r"TrainingRuntime spec\.mlPolicy\.torch .*", r"TrainingRuntime .*\.replicatedJobs\[0\]\.name node"),
    "pytorch-elastic": (r"TrainingRuntime spec\.mlPolicy\.torch .*", r"TrainingRuntime .* PET_RDZV_BACKEND"),
    "pytorch-with-storage": (r"TrainingRuntime .* PET_\w+",),
    "mpijob-allreduce": (
        r"TrainingRuntime .*\.emptyDir\.medium Memory",
        r"TrainJob spec\.trainer\.command\[\d+\] (--allow-run-as-root|/etc/mpi/hostfile)",
    ),
}
"""Places that decide nothing in these: options of torchrun that its command line says, or that nobody reads as Python is started,
where the copies of keys are kept, and a command of which the conversion tells that words are left out. A variable's value is told
by its name."""


JOBS = provider.read([str(path) for path in sorted(EXAMPLES.glob("*.yaml"))]).jobs


@cache
def converted(index: int) -> Conversion:
    return convert(JOBS[index], OPTIONS)


def mutated(conversion: Conversion, manifest: str, path: Path, value: Any) -> Conversion:
    """The conversion with another value at a leaf of a result; None takes it away."""
    results: dict[str, Any] = {"TrainJob": conversion.train_job, "TrainingRuntime": conversion.runtime}
    changed = copy.deepcopy(results[manifest])
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    if value is None:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    results[manifest] = changed
    return replace(conversion, train_job=results["TrainJob"], runtime=results["TrainingRuntime"])


def places(conversion: Conversion, without_effect: tuple[str, ...]) -> Iterator[tuple[str, Path, Any]]:
    for manifest, obj in (("TrainingRuntime", conversion.runtime), ("TrainJob", conversion.train_job)):
        for path, value in leaves(obj or {}):
            named = value_at(obj, (*path[:-1], "name")) if path[-1] == "value" else value
            titles = (
                f"{manifest} {path_text(path)}",
                f"{manifest} {path_text(path)} {value}",
                f"{manifest} {path_text(path)} {named}",
            )
            patterns = (*without_effect, *OF_EXAMPLES.get(FilePath(conversion.source.source).stem, ()))
            if not any(re.fullmatch(pattern, title, re.DOTALL) for pattern in patterns for title in titles):
                yield manifest, path, value


def other(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return 3 if value == UNLIMITED else value + 1
        case str():
            return f"{value}x" if value else "x"
        case _:
            return None


@cache
def seen(index: int) -> tuple[frozenset[str], bool]:
    proof = proof_of(converted(index), OPTIONS)
    return frozenset(finding.message for finding in proof.findings), proof.holds


def is_noticed(conversion: Conversion, before: frozenset[str]) -> bool:
    """Whether a stage says something that it did not say of the result itself."""
    proof = proof_of(conversion, OPTIONS)
    return bool({finding.message for finding in proof.findings} - before)


@pytest.mark.parametrize("index", range(len(JOBS)), ids=lambda index: JOBS[index].name)
def test_examples_are_proved_up_to_their_pods(index: int) -> None:
    messages, holds = seen(index)
    assert holds, messages


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(JOBS)), ids=lambda index: JOBS[index].name)
def test_a_leaf_that_is_taken_out_of_a_result_is_missed(index: int) -> None:
    conversion, (before, _) = converted(index), seen(index)
    missed = [
        f"{manifest} {path_text(path)}"
        for manifest, path, _ in places(conversion, (*WITHOUT_EFFECT, *DEFAULTS))
        if not is_noticed(mutated(conversion, manifest, path, None), before)
    ]
    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(JOBS)), ids=lambda index: JOBS[index].name)
def test_a_leaf_of_a_result_that_is_altered_is_noticed(index: int) -> None:
    conversion, (before, _) = converted(index), seen(index)
    missed = [
        f"{manifest} {path_text(path)}"
        for manifest, path, value in places(conversion, WITHOUT_EFFECT)
        if (changed := other(value)) is not None and not is_noticed(mutated(conversion, manifest, path, changed), before)
    ]
    assert missed == []
