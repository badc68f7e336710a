"""Who set which field: what each write changes of it, times, and speed."""

from __future__ import annotations

import copy
import time

import pytest

from cluster.apiserver.apply.stored_pods import LATER, NOW, pod, stored_pod, with_status
from shunter.cluster.apiserver.apply import managed
from shunter.cluster.apiserver.apply.fields import FieldTree


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


def test_ownership_costs_microseconds(tree: FieldTree) -> None:
    """A hundred times what it takes on an idle machine: only a change of the algorithm's order fails this."""
    stored = stored_pod(tree)
    changed = with_status(stored, "Running")
    started = time.perf_counter()
    for _ in range(200):
        managed.updated(stored, changed, tree=tree, manager="node", subresource="status", api_version="v1", now=LATER)
    assert (time.perf_counter() - started) / 200 < 0.0025
