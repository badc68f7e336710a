"""The kinds of jobs that an operator serves: all, or those it was started for."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from shunter.api.resources import TRAIN_JOBS
from shunter.errors import InputError
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import FRAMEWORKS

KINDS = (*(framework.info.resource.kind for framework in FRAMEWORKS), TRAIN_JOBS.kind)


class ServedKinds(NamedTuple):
    """`frameworks` of kubeflow.org/v1; `train_jobs` are TrainJobs with their runtimes."""

    frameworks: tuple[AnyFramework, ...] = FRAMEWORKS
    train_jobs: bool = True


EVERYTHING = ServedKinds()


def served(kinds: Collection[str]) -> ServedKinds:
    """What an operator for these kinds serves; all kinds if none is named. InputError for an unknown kind."""
    if not kinds:
        return EVERYTHING
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(f"--kind {kind!r} is no kind of job.", f"Served are {', '.join(KINDS)}.")
    frameworks = tuple(framework for framework in FRAMEWORKS if framework.info.resource.kind in kinds)
    return ServedKinds(frameworks, TRAIN_JOBS.kind in kinds)
