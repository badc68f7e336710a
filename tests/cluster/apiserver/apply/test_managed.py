"""What the recordings do not show of field ownership: inputs stay as they are, times, and speed."""

from __future__ import annotations

import copy
import time
from datetime import UTC, datetime, timedelta

import pytest

from shunter.api.meta import Json
from shunter.api.resources import PODS, TRAIN_JOBS, Resource
from shunter.cluster.apiserver.apply import managed
from shunter.cluster.apiserver.apply.errors import ApplyConflicts
from shunter.cluster.apiserver.apply.fields import DEDUCED, FieldTree, compile_fields
from shunter.cluster.apiserver.apply.reset import reset_fields
from shunter.cluster.apiserver.apply.server_side import apply
from shunter.cluster.apiserver.definitions import definitions
from shunter.cluster.apiserver.kinds import Kind

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=5)


@pytest.fixture(scope="module")
def tree() -> FieldTree:
    return compile_fields({"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"}, definitions())


def pod() -> Json:
    container = {
        "name": "pytorch",
        "image": "image",
        "command": ["python", "train.py"],
        "env": [{"name": f"VARIABLE_{number}", "value": "value"} for number in range(15)],
        "ports": [{"containerPort": 23456, "name": "pytorchjob-port", "protocol": "TCP"}],
        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "labels": {f"label-{n}": "x" for n in range(6)}},
        "spec": {"containers": [container], "volumes": [{"name": "data", "emptyDir": {}}], "restartPolicy": "Never"},
        "status": {"phase": "Pending", "conditions": [{"type": kind, "status": "True"} for kind in ("A", "B", "C")]},
    }


def stored_pod(tree: FieldTree) -> Json:
    created = pod()
    return managed.with_managed_fields(
        created, managed.updated(None, created, tree=tree, manager="controller", api_version="v1", now=NOW)
    )


def with_status(stored: Json, phase: str) -> Json:
    return {**stored, "status": {**stored["status"], "phase": phase}}


def test_only_the_writer_of_a_change_gets_a_new_time(tree: FieldTree) -> None:
    stored = stored_pod(tree)
    entries = managed.updated(
        stored, with_status(stored, "Running"), tree=tree, manager="node", subresource="status", api_version="v1", now=LATER
    )
    assert [(entry["manager"], entry["time"]) for entry in entries] == [
        ("controller", "2026-11-21T12:00:00Z"),
        ("node", "2026-11-21T12:00:05Z"),
    ]
    assert entries[1]["fieldsV1"] == {"f:status": {"f:phase": {}}}
    assert entries[1]["subresource"] == "status"


def test_a_write_that_changes_nothing_keeps_the_entries(tree: FieldTree) -> None:
    stored = stored_pod(tree)
    again = copy.deepcopy(stored)
    assert (
        managed.updated(stored, again, tree=tree, manager="x", api_version="v1", now=LATER) == stored["metadata"]["managedFields"]
    )


def test_writes_leave_their_inputs_alone(tree: FieldTree) -> None:
    stored = stored_pod(tree)
    spec = {"containers": [{"name": "pytorch", "image": "i"}]}
    applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    before = copy.deepcopy([stored, applied])
    result = apply(stored, applied, tree=tree, manager="m", force=True, api_version="v1", now=LATER)
    apply(result, {**applied, "spec": {}}, tree=tree, manager="m", force=False, api_version="v1", now=LATER)
    managed.updated(stored, with_status(stored, "Failed"), tree=tree, manager="n", api_version="v1", now=LATER)
    assert [stored, applied] == before


def test_conflicts_name_manager_operation_and_field(tree: FieldTree) -> None:
    applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"restartPolicy": "Always"}}
    with pytest.raises(ApplyConflicts) as refusal:
        apply(stored_pod(tree), applied, tree=tree, manager="m", force=False, api_version="v1", now=LATER)
    assert [(conflict.manager, conflict.path) for conflict in refusal.value.conflicts] == [
        (managed.Manager("controller", "Update", "v1", ""), ("f:spec", "f:restartPolicy"))
    ]


def test_only_times_apart_is_no_write(tree: FieldTree) -> None:
    stored = stored_pod(tree)
    newer = [{**entry, "time": "2027-01-01T00:00:00Z"} for entry in stored["metadata"]["managedFields"]]
    assert managed.with_old_times(managed.with_managed_fields(stored, newer), stored) is stored
    changed = with_status(managed.with_managed_fields(stored, newer), "Failed")
    assert managed.with_old_times(changed, stored) is changed


@pytest.mark.parametrize("item", [None, "text"], ids=["null", "a text"])
def test_an_item_that_cannot_be_told_apart_ends_ownership(tree: FieldTree, item: object) -> None:
    broken = pod()
    broken["spec"]["containers"].append(item)
    assert managed.updated(None, broken, tree=tree, manager="m", api_version="v1", now=NOW) == []


def test_a_schema_handed_over_without_its_name_knows_structs_by_value() -> None:
    named = compile_fields({"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"}, definitions())
    assert compile_fields(definitions()["io.k8s.api.core.v1.Pod"], definitions()).zeros == named.zeros
    assert named.fields["spec"].zeros == {"containers": None}


def test_a_kind_without_a_schema_is_owned_field_by_field() -> None:
    tree = compile_fields({}, {})
    assert tree.fields["metadata"].fields["finalizers"].list_type == "set"
    assert tree.child("spec") is DEDUCED


@pytest.mark.parametrize(
    ("resource", "subresource", "reset"),
    [
        pytest.param(PODS, "", {"f:status": {}}, id="status is not written through the main endpoint"),
        pytest.param(
            PODS,
            "status",
            {"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
            id="a pod's status endpoint writes labels",
        ),
        pytest.param(TRAIN_JOBS, "status", {"f:spec": {}, "f:metadata": {}}, id="a custom kind's does not"),
        pytest.param(TRAIN_JOBS, "scale", {}, id="scale writes replicas"),
    ],
)
def test_an_endpoint_owns_only_what_it_writes(resource: Resource, subresource: str, reset: Json) -> None:
    kind = Kind(resource=resource, schema=lambda: pytest.fail("not needed"), has_status=True)
    assert reset_fields(kind, subresource) == reset


def test_ownership_costs_microseconds(tree: FieldTree) -> None:
    """A hundred times what it takes on an idle machine: only a change of the algorithm's order fails this."""
    stored = stored_pod(tree)
    changed = with_status(stored, "Running")
    started = time.perf_counter()
    for _ in range(200):
        managed.updated(stored, changed, tree=tree, manager="node", subresource="status", api_version="v1", now=LATER)
    assert (time.perf_counter() - started) / 200 < 0.0025
