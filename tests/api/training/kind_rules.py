"""Jobs of each kind of kubeflow.org/v1, and what admission refuses of them."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import pytest

from shunter.api.field_errors import aggregate
from shunter.api.meta import Json
from shunter.api.training import jax_rules, paddle_rules, pytorch_rules, tensorflow_rules, xgboost_rules
from shunter.api.training.jax import KIND as JAX
from shunter.api.training.job_kind import JobKind
from shunter.api.training.paddle import KIND as PADDLE
from shunter.api.training.pytorch import KIND as PYTORCH
from shunter.api.training.tensorflow import KIND as TENSORFLOW
from shunter.api.training.xgboost import KIND as XGBOOST


class Rules(NamedTuple):
    """A kind and the module with its rules."""

    kind: JobKind
    module: ModuleType

    @property
    def field(self) -> str:
        return f"spec.{self.kind.replica_specs}"

    def job(self, specs: Json | None, name: str = "job", **spec: Any) -> Any:
        replicas = {} if specs is None else {self.kind.replica_specs: specs}
        return msgspec.convert({"metadata": {"name": name}, "spec": {**replicas, **spec}}, self.kind.view)

    def replica(self, replicas: int | None = 1, container: str = "", image: str = "img:1") -> Json:
        containers = [{"name": container or self.kind.container, "image": image}]
        return {"template": {"spec": {"containers": containers}}} | ({} if replicas is None else {"replicas": replicas})

    def good(self) -> Json:
        return {"Master" if self.kind is XGBOOST else "Worker": self.replica()}

    def refused(self, job: Any, old: Any = None) -> str:
        errors = self.module.errors(job, old)
        return aggregate(errors) if errors else ""


ALL = [
    Rules(PYTORCH, pytorch_rules),
    Rules(TENSORFLOW, tensorflow_rules),
    Rules(XGBOOST, xgboost_rules),
    Rules(JAX, jax_rules),
    Rules(PADDLE, paddle_rules),
]
"""But MPIJob, of which admission refuses nothing."""
PT, TF, XGB, JX, PD = ALL
each_kind = pytest.mark.parametrize("rules", ALL, ids=[rules.kind.resource.kind for rules in ALL])
