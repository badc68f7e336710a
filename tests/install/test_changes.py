"""What is said about objects, and what is not: fields that changed, other managers, rollouts that hang."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.install.changes import (
    MANAGED_BY,
    MARK,
    Change,
    change,
    changed_fields,
    is_left_unchanged,
    to_apply,
    to_prune,
    to_remove,
)


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2, "c": 3}}, ["a.b", "a.c"]),
        ({"a": [{"b": 1}, 2]}, {"a": [{"b": 1}, 3]}, ["a[1]"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a"]),
        ({"a": {"b": 1}}, {"a": None}, ["a"]),
    ],
    ids=["equal", "keys", "an element", "a longer list", "an object that goes"],
)
def test_changed_fields_are_named_by_their_path(before: Any, after: Any, paths: list[str]) -> None:
    assert sorted(changed_fields(before, after)) == paths


@pytest.mark.parametrize(
    ("kind", "labels", "is_there", "left"),
    [
        ("Namespace", {}, True, True),
        ("Namespace", {MANAGED_BY: MARK}, True, False),
        ("Namespace", {}, False, False),
        ("ServiceAccount", {}, True, False),
    ],
    ids=["a namespace of others", "one of ours", "a new one", "another kind"],
)
def test_only_a_namespace_of_others_is_left_as_it_is(kind: str, labels: dict[str, str], is_there: bool, left: bool) -> None:
    wanted = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}}
    present = {**wanted, "metadata": {"name": "a", "labels": labels}} if is_there else None
    assert is_left_unchanged(wanted, present) is left


def test_what_the_server_counts_and_reports_is_no_change() -> None:
    metadata = {"name": "a", "namespace": "n"}
    wanted = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}
    before = {**wanted, "metadata": {**metadata, "resourceVersion": "1"}, "status": {"loadBalancer": {}}}
    after = {**wanted, "metadata": {**metadata, "resourceVersion": "2", "managedFields": []}}
    assert change(wanted, before, after) == Change("unchanged", "Service n/a")


def named(kind: str, name: str, version: str = "v1") -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "n"}}


DEFINITION = named("CustomResourceDefinition", "trainjobs", "apiextensions.k8s.io/v1")
WEBHOOKS = named("ValidatingWebhookConfiguration", "w", "admissionregistration.k8s.io/v1")
NAMESPACE, ACCOUNT, DEPLOYMENT = named("Namespace", "n"), named("ServiceAccount", "a"), named("Deployment", "d", "apps/v1")
MADE = [NAMESPACE, DEFINITION, ACCOUNT, DEPLOYMENT, WEBHOOKS]


def test_an_upgrade_takes_away_what_is_no_longer_wanted_but_no_definition_and_no_namespace() -> None:
    assert to_prune([DEPLOYMENT], MADE) == [WEBHOOKS, ACCOUNT]
    assert to_prune(MADE, MADE) == []


def test_uninstalling_begins_with_the_webhooks_and_takes_definitions_only_when_asked() -> None:
    kept = [obj["kind"] for obj in to_remove(MADE, crds=False)]
    assert (kept[0], kept[-1]) == ("ValidatingWebhookConfiguration", "Namespace")
    assert "CustomResourceDefinition" not in kept
    assert [obj["kind"] for obj in to_remove(MADE, crds=True)].count("CustomResourceDefinition") == 1


def test_an_object_is_marked_when_it_is_made_and_stays_unmarked_when_others_made_it() -> None:
    marked = {MANAGED_BY: MARK}
    assert to_apply(ACCOUNT, None)["metadata"]["labels"] == marked
    assert to_apply(ACCOUNT, {**ACCOUNT, "metadata": {"name": "a", "labels": marked}})["metadata"]["labels"] == marked
    assert "labels" not in to_apply(ACCOUNT, ACCOUNT)["metadata"]
