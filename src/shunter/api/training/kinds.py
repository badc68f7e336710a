"""The job kinds of kubeflow.org/v1: every module of this package that defines one says `KIND`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import shunter.api.training as package
from shunter.api.training.job_kind import JobKind


def job_kinds() -> tuple[JobKind, ...]:
    """All of them, by name."""
    return tuple(sorted(_found(), key=lambda kind: kind.resource.kind))


def _found() -> Iterator[JobKind]:
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        kind = getattr(importlib.import_module(module.name), "KIND", None)
        if isinstance(kind, JobKind) and kind.view.__module__ == module.name:
            yield kind


JOB_KINDS = job_kinds()
