"""No 500 and no reconcile that fails by a bug of ours, whatever stands in whatever field: wrong types get words.

Objects are asked about as they are, without the schema before them: definitions are changed by hand, and TrainJobs are asked
about before their schema is. What is refused here may be stored all the same, so all of it is reconciled, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import msgspec
import pytest

from any_field import mutations
from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.kube.controllers.plan import Plan
from shunter.operator.trainer import plan as trainer
from shunter.operator.trainer.admission import DEFAULTER_PATH
from shunter.operator.training import plan as training
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.gang import Gang
from shunter.operator.training.observed import Observed
from webhook_asking import Webhooks

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
STARTED = {"startTime": "2026-11-21T11:00:00Z"}
EVERY_VALUE = bool(os.environ.get("EVERY_VALUE"))
"""Sets every value in templates as well, not in turns: a few minutes."""
FINALIZER = "example.com/held"
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
POLICIES: Json = {"numNodes": 2, "torch": {}, "mpi": {"runLauncherAsNode": True}, "jax": {}, "xgboost": {}, "flux": {}}
"""All at once, which the schema forbids: every plugin looks at every value."""


def job_of(kind: JobKind) -> Json:
    """A job whose every role has one pod, with what its rules look at."""
    container = {
        "name": kind.container,
        "image": "img:1",
        "env": [{"name": "A", "value": "1"}],
        "ports": [{"name": "p", "containerPort": 80}],
        "resources": {"requests": {"cpu": "1"}},
    }
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    roles = {role: {"replicas": 1, "template": template} for role in kind.roles}
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {"name": "j", "namespace": "team-a", "uid": "u1"},
        "spec": {kind.replica_specs: roles, "runPolicy": {"schedulingPolicy": {}}},
    }


def replicated_job(name: str, ancestor: str) -> Json:
    container = {
        "name": "node" if ancestor in ("", "trainer") else ancestor,
        "image": "img:1",
        "env": [{"name": "A", "value": "1"}],
        "ports": [{"containerPort": 80}],
        "volumeMounts": [{"name": "initializer", "mountPath": "/w"}],
        "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": 1}},
    }
    template: Json = {"spec": {"template": {"spec": {"containers": [container]}}}}
    if ancestor:
        template["metadata"] = {"labels": {ANCESTOR: ancestor}}
    return {"name": name, "replicas": 1, "template": template}


def runtime_of(kind: str) -> Json:
    names = {
        "node": "trainer",
        "launcher": "",
        "dataset-initializer": "dataset-initializer",
        "model-initializer": "model-initializer",
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": kind,
        "metadata": {"name": "rt", "uid": "r1", **({"namespace": "team-a"} if kind == "TrainingRuntime" else {})},
        "spec": {
            "mlPolicy": POLICIES,
            "podGroupPolicy": {"volcano": {"networkTopology": {"mode": "hard"}}, "coscheduling": {}},
            "template": {"spec": {"replicatedJobs": [replicated_job(name, ancestor) for name, ancestor in names.items()]}},
        },
    }


def train_job(kind: str = "TrainingRuntime") -> Json:
    env = [{"name": "A", "value": "1"}]
    container = {"name": "node", "volumeMounts": [{"name": "initializer", "mountPath": "/w"}]}
    pods = {"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}], "imagePullSecrets": [{"name": "s"}]}
    patched = {"name": "node", "template": {"spec": {"template": {"spec": pods}}}}
    patch = {"manager": "acme.io/a", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patched]}}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "j", "namespace": "team-a", "uid": "u1"},
        "spec": {
            "runtimeRef": {"name": "rt", "kind": kind, "apiGroup": "trainer.kubeflow.org"},
            "initializer": {"dataset": {"storageUri": "hf://a/b", "env": env}, "model": {"storageUri": "hf://a/b"}},
            "trainer": {"env": env, "numNodes": 2, "resourcesPerNode": {"limits": {"cpu": 1}}},
            "runtimePatches": [patch],
        },
    }


class Sweep:
    """Asks about objects, and reconciles them; `failures` says what was not as it should be."""

    def __init__(self) -> None:
        self.webhooks = Webhooks()
        self.failures: list[str] = []

    async def ask(self, what: str, path: str, obj: Json, old: Json | None = None) -> None:
        reply = await self.webhooks.review(path, obj, old)
        if reply.code >= 500 or (not reply.allowed and not reply.message):
            self.failures.append(f"{what} at {path}: {reply.status} {reply.code} {reply.message[-300:]}")

    def reconcile(self, what: str, plan: Callable[[], Plan]) -> None:
        try:
            made = plan()
            msgspec.json.encode([getattr(write, "body", None) for write in made.writes])
        except msgspec.ValidationError:
            return  # no view can be made of it: informers log it and go on
        except Exception as error:
            self.failures.append(f"{what}: {type(error).__name__} {str(error)[:300]}")

    def check(self) -> None:
        assert not self.failures, f"{len(self.failures)} in all:\n" + "\n".join(self.failures[:20])


@pytest.mark.slow
@pytest.mark.parametrize("kind", JOB_KINDS, ids=lambda kind: kind.resource.kind)
async def test_any_value_in_any_field_of_a_v1_job(kind: JobKind) -> None:
    sweep, framework, base = Sweep(), framework_of(kind.resource.kind), job_of(kind)
    path = f"/validate-kubeflow-org-v1-{kind.resource.kind.lower()}"

    def planned(obj: Json, gang: Gang | None) -> Plan:
        view = msgspec.convert(obj, framework.info.view)
        faults, _ = framework.validate(view, None)
        observed = Observed(job=framework.read(view), faults=tuple(faults), gang=gang)
        return training.plan(framework, observed, NOW)

    for what, obj in mutations(kind.resource.kind, base, in_turns=not EVERY_VALUE):
        await sweep.ask(what, path, obj)
        await sweep.ask(what, path, obj, base)
        await sweep.ask(what, path, base, obj)
        sweep.reconcile(what, partial(planned, obj, Gang(scheduler="volcano", group=None)))
        if isinstance(obj, dict) and "status" not in what:
            sweep.reconcile(what, partial(planned, {**obj, "status": STARTED}, None))
    sweep.check()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["TrainingRuntime", "ClusterTrainingRuntime"])
async def test_any_value_in_any_field_of_a_runtime(kind: str) -> None:
    sweep, base, job = Sweep(), runtime_of(kind), train_job(kind)
    path, job_path = (f"/validate-trainer-kubeflow-org-v1alpha1-{name.lower()}" for name in (kind, "TrainJob"))
    for what, obj in mutations(kind, base, in_turns=not EVERY_VALUE):
        await sweep.ask(what, path, obj)
        await sweep.ask(what, path, obj, base)
        if what.startswith("spec"):
            sweep.webhooks.keep(obj)
            await sweep.ask(f"a job of {what}", job_path, job)
            observed = trainer.Observed(job=msgspec.convert(job, TrainJob), runtime=obj, randomness=bytes(32))
            sweep.reconcile(what, partial(trainer.plan, observed, NOW))
    sweep.check()


@pytest.mark.slow
async def test_any_value_in_any_field_of_a_trainjob() -> None:
    sweep, base, runtime = Sweep(), train_job(), runtime_of("TrainingRuntime")
    sweep.webhooks.keep(runtime)
    validator = "/validate-trainer-kubeflow-org-v1alpha1-trainjob"
    for what, obj in mutations("TrainJob", base, in_turns=not EVERY_VALUE):
        for path in (DEFAULTER_PATH, validator):
            await sweep.ask(what, path, obj)
            await sweep.ask(what, path, obj, base)
            await sweep.ask(what, path, base, obj)

        def planned(obj: Json = obj) -> Plan:
            job = msgspec.convert(obj, TrainJob)
            return trainer.plan(trainer.Observed(job=job, runtime=runtime, randomness=bytes(32)), NOW)

        sweep.reconcile(what, planned)
    sweep.check()
