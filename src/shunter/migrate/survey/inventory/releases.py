"""Which release of Trainer a result needs at least, and for what."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import Conversion

OLDEST = "2.0"


class Need(NamedTuple):
    """Something in results that Trainer has known since a release."""

    release: str
    what: str
    is_used: Callable[[Json, Json], bool]
    """Whether the TrainJob's spec or the runtime's (empty if there is none) uses it."""


NEEDS: tuple[Need, ...] = (
    Need("2.3", "mlPolicy.torch.envInjection", lambda job, runtime: "envInjection" in (_policy(runtime, "torch") or {})),
    Need("2.2", "mlPolicy.jax", lambda job, runtime: _policy(runtime, "jax") is not None),
    Need("2.2", "mlPolicy.xgboost", lambda job, runtime: _policy(runtime, "xgboost") is not None),
    Need("2.2", "spec.runtimePatches", lambda job, runtime: "runtimePatches" in job),
    Need("2.2", "spec.activeDeadlineSeconds", lambda job, runtime: "activeDeadlineSeconds" in job),
    Need(
        "2.2", "a runtime of the framework", lambda job, runtime: _runtime_name(job) in ("jax-distributed", "xgboost-distributed")
    ),
    Need("2.1", "spec.podTemplateOverrides", lambda job, runtime: "podTemplateOverrides" in job),
    Need("2.1", "podGroupPolicy.volcano", lambda job, runtime: "volcano" in (runtime.get("podGroupPolicy") or {})),
)
"""The newest release first."""


def needed(conversion: Conversion) -> tuple[str, str]:
    """The release and what of the result needs it; the first release and nothing for one that every release runs."""
    job = conversion.train_job["spec"]
    runtime = (conversion.runtime or {}).get("spec") or {}
    return next(((need.release, need.what) for need in NEEDS if need.is_used(job, runtime)), (OLDEST, ""))


def _policy(runtime: Json, framework: str) -> Json | None:
    policy = runtime.get("mlPolicy") or {}
    return policy.get(framework) if isinstance(policy, dict) else None


def _runtime_name(job: Json) -> str:
    return str((job.get("runtimeRef") or {}).get("name", ""))
