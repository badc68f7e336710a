"""The job kinds that the operator serves: every module here that says `FRAMEWORK` serves one.

pytorch.py       MASTER_ADDR, RANK and PET_*; elastic Workers
tensorflow.py    TF_CONFIG; the Chief decides about the end
mpi.py           a launcher that starts processes in workers (operator/training/mpi)
xgboost.py       MASTER_ADDR, WORKER_ADDRS: Workers meet the Master
jax.py           COORDINATOR_ADDRESS, NUM_PROCESSES, PROCESS_ID
paddle.py        PADDLE_*: collective, or with parameter servers

Tests: tests/operator/training/frameworks; what several kinds share in tests/operator/training/test_kinds.py;
tests/recordings/v1.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from shunter.operator.training.framework import AnyFramework


def frameworks() -> tuple[AnyFramework, ...]:
    """All of them, by kind."""
    return tuple(sorted(_found(), key=lambda framework: framework.info.resource.kind))


def framework_of(kind: str) -> AnyFramework:
    """The framework of a kind, e.g. `PyTorchJob`. Raises KeyError for a kind that we do not serve."""
    return _BY_KIND[kind]


def _found() -> Iterator[AnyFramework]:
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        framework: AnyFramework | None = getattr(importlib.import_module(module.name), "FRAMEWORK", None)
        if framework is not None:
            yield framework


FRAMEWORKS = frameworks()
_BY_KIND = {framework.info.resource.kind: framework for framework in FRAMEWORKS}
