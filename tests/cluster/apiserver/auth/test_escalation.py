"""Which permissions a user lacks of those that a role grants (component-helpers `auth/rbac/validation`)."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.auth.escalation import uncovered


def rule(verbs: str, resources: str, groups: str = "", names: str = "") -> Json:
    named: Json = {"resourceNames": names.split()} if names else {}
    return {"verbs": verbs.split(), "apiGroups": groups.split(",") if groups else [""], "resources": resources.split(), **named}


def paths(verbs: str, urls: str) -> Json:
    return {"verbs": verbs.split(), "nonResourceURLs": urls.split()}


@pytest.mark.parametrize(
    ("held", "granted"),
    [
        ([rule("get list", "pods secrets")], rule("get", "pods")),
        ([rule("get", "pods"), rule("list", "pods"), rule("get list", "secrets")], rule("get list", "pods secrets")),
        ([rule("*", "*", "*")], rule("get", "pods/exec deployments", "apps,")),
        ([rule("*", "*", "*")], rule("*", "*", "*")),
        ([rule("get", "*/log")], rule("get", "pods/log")),
        ([rule("get", "pods")], rule("get", "pods", names="a b")),
        ([rule("get", "pods", names="a b")], rule("get", "pods", names="b")),
        ([rule("get", "pods", names="a"), rule("get", "pods", names="b")], rule("get", "pods", names="a b")),
        ([paths("get", "/metrics*")], paths("get", "/metrics /metrics/cadvisor /metrics/*")),
        ([paths("*", "*")], paths("get", "/anything *")),
        ([], rule("", "pods")),
        ([], {"verbs": ["get"], "apiGroups": None, "resources": ["pods"]}),
        ([], {}),
    ],
)
def test_what_is_held_in_parts_or_by_stars_may_be_granted(held: list[Json], granted: Json) -> None:
    assert uncovered(held, [granted]) == []


@pytest.mark.parametrize(
    ("held", "granted"),
    [
        ([rule("get", "pods")], rule("list", "pods")),
        ([rule("get", "pods")], rule("*", "pods")),
        ([rule("get", "pods")], rule("get", "*")),
        ([rule("get", "pods")], rule("get", "pods", "apps")),
        ([rule("get", "pods")], rule("get", "pods", "*")),
        ([rule("get", "pods")], rule("get", "pods/log")),
        ([rule("get", "pods/log")], rule("get", "pods")),
        ([rule("get", "pods/log")], rule("get", "*/log")),
        ([rule("get", "*/log")], rule("get", "pods/exec")),
        ([rule("get", "pods", names="a")], rule("get", "pods")),
        ([rule("get", "pods", names="a")], rule("get", "pods", names="b")),
        ([rule("*", "*", "*")], paths("get", "/metrics")),
        ([paths("*", "*")], rule("get", "pods")),
        ([paths("get", "/metrics")], paths("get", "/metrics/*")),
        ([paths("get", "/metrics/*")], paths("get", "/metrics")),
        ([paths("get", "/a")], paths("get", "*")),
        ([rule("get", "pods"), rule("list", "secrets")], rule("list", "pods")),
        ([{"verbs": None, "apiGroups": [""], "resources": ["pods"]}], rule("get", "pods")),
        ([], rule("get", "pods")),
    ],
)
def test_no_more_is_granted_than_is_held(held: list[Json], granted: Json) -> None:
    assert uncovered(held, [granted]) != []


def test_what_is_missing_is_named_one_by_one() -> None:
    missing: list[Any] = uncovered([rule("get", "pods")], [rule("get delete", "pods secrets", names="a")])
    assert [(one["resources"][0], one["verbs"][0], one["resourceNames"]) for one in missing] == [
        ("pods", "delete", ["a"]),
        ("secrets", "get", ["a"]),
        ("secrets", "delete", ["a"]),
    ]
