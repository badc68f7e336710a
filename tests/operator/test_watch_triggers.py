"""Whom a change concerns beside the owner of what has changed: jobs that are told to wait for it."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from shunter.api.core import Service
from shunter.api.jobset import JOBSET_NAME
from shunter.api.meta import Json, MetadataOnly
from shunter.api.resources import PODS, SERVICES, Resource
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS, PodGroup
from shunter.kube.cache.store import Difference
from shunter.kube.client import Client
from shunter.kube.controllers.manager import Manager
from shunter.operator.trainer import controllers as trainer
from shunter.operator.trainer.views import ConfigMap, LiveJobSet
from shunter.operator.training import controllers as training
from shunter.operator.training.reconciler import CHILD_SELECTOR, SERVICE_INDEXES


def woken(manager: Manager, name: str) -> list[str]:
    (controller,) = (one.controller for one in manager._controllers if one.controller.name == name)
    return [str(key) for key in controller.queue._dirty]


def head(name: str, kind: str, owner: str) -> Json:
    owners = [{"apiVersion": "kubeflow.org/v1", "kind": kind, "name": owner, "uid": "theirs", "controller": True}]
    return {"name": name, "namespace": "team-a", "ownerReferences": owners if owner else []}


@pytest.fixture
def manager() -> Manager:
    """Its informers hear only what a test tells them."""
    return Manager(Client(cast(Any, object())), component="test", owns_process=False)


def test_a_job_hears_that_the_pod_group_of_another_kinds_job_is_gone(manager: Manager) -> None:
    """It says that it waits for that."""
    training.add_controllers(manager, gang_scheduler="volcano")
    group = msgspec.convert({"metadata": head("bert", "TFJob", "bert")}, PodGroup)
    manager.informer(VOLCANO_POD_GROUPS, PodGroup).notify(Difference(group, None))
    assert woken(manager, "pytorchjob-controller") == ["team-a/bert"]


LABELS = {"training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/job-name": "bert"}


@pytest.mark.parametrize(
    ("owner", "labels", "jobs"),
    [
        ("", LABELS, ["team-a/bert"]),
        ("", {**LABELS, "training.kubeflow.org/operator-name": "tfjob-controller"}, []),
        ("", {"training.kubeflow.org/job-name": "bert"}, []),
        ("other", LABELS, ["team-a/other"]),
    ],
    ids=["stands in for a service of the job", "of another kind", "of nobody", "owned by another job"],
)
def test_a_job_hears_that_a_service_that_stood_in_is_gone(
    manager: Manager, owner: str, labels: dict[str, str], jobs: list[str]
) -> None:
    training.add_controllers(manager)
    service = msgspec.convert({"metadata": {**head("mine", "PyTorchJob", owner), "labels": labels}}, Service)
    informer = manager.informer(SERVICES, Service, label_selector=CHILD_SELECTOR, indexes=SERVICE_INDEXES)
    informer.notify(Difference(service, None))
    assert woken(manager, "pytorchjob-controller") == jobs


@pytest.mark.parametrize("owner", ["", "somebody"])
def test_a_train_job_hears_that_a_snapshot_in_its_way_is_gone(manager: Manager, owner: str) -> None:
    """Its condition asks for that."""
    trainer.add_controllers(manager)
    informer = trainer.config_map_informer(manager)
    for name in ("mnist-runtime-snapshot", "mnist-hostfile"):
        config_map = msgspec.convert({"metadata": head(name, "Workflow", owner)}, ConfigMap)
        informer.notify(Difference(config_map, None))
    assert woken(manager, "trainjob_controller") == ["team-a/mnist"]


@pytest.mark.parametrize("owner", ["", "somebody"])
def test_a_train_job_hears_of_a_jobset_of_its_name_that_it_does_not_control(manager: Manager, owner: str) -> None:
    """One without an owner, restored from a backup for example, counts as its own: its end is the job's end."""
    trainer.add_controllers(manager)
    jobset = msgspec.convert({"metadata": head("mnist", "Workflow", owner), "spec": {}, "status": {}}, LiveJobSet)
    trainer.jobset_informer(manager).notify(Difference(jobset, jobset))
    assert woken(manager, "trainjob_controller") == ["team-a/mnist"]


@pytest.mark.parametrize("resource", [COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS], ids=lambda one: one.group)
def test_a_train_job_hears_that_a_pod_group_in_its_way_is_gone(manager: Manager, resource: Resource) -> None:
    """Its condition asks for that."""
    trainer.add_controllers(manager)
    group = msgspec.convert({"metadata": head("mnist", "PyTorchJob", "mnist")}, PodGroup)
    manager.informer(resource, PodGroup, is_optional=True).notify(Difference(group, None))
    assert woken(manager, "trainjob_controller") == ["team-a/mnist"]


def test_pods_of_train_jobs_are_read_at_once_when_one_has_failed(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise once a second; the pod and its log may soon be deleted."""
    pods, _ = trainer.failed_pod_informer(manager)
    ended: list[str] = []
    monkeypatch.setattr(pods, "end_pause", lambda: ended.append("pause"))
    failed = manager.informer(PODS, MetadataOnly, label_selector=JOBSET_NAME, field_selector="status.phase=Failed")
    failed.notify(Difference(None, msgspec.convert({"metadata": head("bert-node-0-0", "Job", "bert-node-0")}, MetadataOnly)))
    assert ended == ["pause"]
