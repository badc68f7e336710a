"""Runtimes of several replicated jobs, and what admission says about a job of one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.plugin import ForeignField
from shunter.operator.trainer.render import Facts, trainjob_errors

LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"


@pytest.fixture
def runtime_of() -> Callable[..., Json]:
    """A runtime of a policy; keyword arguments are its replicated jobs, each with the pod's spec, `trainer` of them labelled."""

    def make(
        policy: Json | None, *, trainer: str = "node", groups: Json | None = None, annotations: Json | None = None, **jobs: Any
    ) -> Json:
        replicated = []
        for name, pod in (jobs or {"node": {}}).items():
            metadata = {"labels": {LABEL: "trainer"}} if name == trainer else {}
            spec = {"containers": [{"name": "node", "image": f"img:{name}"}], **pod}
            replicated.append({"name": name, "template": {"metadata": metadata, "spec": {"template": {"spec": spec}}}})
        spec = {"template": {"metadata": {"annotations": annotations or {}}, "spec": {"replicatedJobs": replicated}}}
        if policy is not None:
            spec["mlPolicy"] = policy
        if groups is not None:
            spec["podGroupPolicy"] = groups
        return {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainingRuntime",
            "metadata": {"name": "torch", "namespace": "team-a"},
            "spec": spec,
        }

    return make


@pytest.fixture
def refusals() -> Callable[..., list[str]]:
    """What admission says about a job of a runtime."""

    def ask(job: TrainJob, runtime: Json, missing: Mapping[str, str] = {}, fields: Collection[ForeignField] = ()) -> list[str]:
        return [str(error) for error in trainjob_errors(job, runtime, Facts(missing, fields))]

    return ask
