"""The kinds that a policy is checked against."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, CORE_EVENTS, DEPLOYMENTS, EVENTS, PODS, STATEFUL_SETS, Resource
from shunter.cluster.policy_types.matches import GroupKind, matched_kinds, named_versions

KNOWN = (PODS, CONFIG_MAPS, DEPLOYMENTS, STATEFUL_SETS, CORE_EVENTS, EVENTS)
SERVED = ("v1", "apps/v1", "events.k8s.io/v1", "batch/v1")


def policy(*rules: tuple[list[str], list[str], list[str]]) -> Json:
    named = [{"apiGroups": groups, "apiVersions": versions, "resources": resources} for groups, versions, resources in rules]
    return {"spec": {"matchConstraints": {"resourceRules": named}}}


def kinds(*rules: tuple[list[str], list[str], list[str]]) -> list[str]:
    return [str(one) for one in matched_kinds(policy(*rules), KNOWN)]


def test_kinds_are_told_by_group_version_and_kind_once() -> None:
    rules = ([["apps"], ["v1"], ["statefulsets", "deployments"]], [["apps"], ["v1"], ["deployments"]], [[""], ["v1"], ["pods"]])
    shown = ["/v1, Kind=Pod", "apps/v1, Kind=Deployment", "apps/v1, Kind=StatefulSet"]
    assert kinds(*((groups, versions, resources) for groups, versions, resources in rules)) == shown


@pytest.mark.parametrize(
    ("groups", "versions", "resources"),
    [
        (["*"], ["v1"], ["deployments"]),
        (["apps", "*"], ["v1"], ["deployments"]),
        (["apps"], ["*"], ["deployments"]),
        (["apps"], ["v1"], ["*"]),
        (["apps"], ["v1"], ["deployments/scale"]),
        (["apps"], ["v2"], ["deployments"]),
        (["batch"], ["v1"], ["deployments"]),
    ],
)
def test_what_a_rule_does_not_name_is_not_checked(groups: list[str], versions: list[str], resources: list[str]) -> None:
    assert kinds((groups, versions, resources)) == []


def test_no_group_stands_for_every_group_that_has_the_version() -> None:
    assert kinds(([""], ["v1"], ["events"])) == ["/v1, Kind=Event", "events.k8s.io/v1, Kind=Event"]
    assert named_versions(policy(([""], ["v1"], ["events"])), SERVED) == sorted(SERVED)
    assert named_versions(policy((["apps"], ["v1"], ["deployments"])), SERVED) == ["apps/v1"]


def test_a_resource_may_be_named_in_the_singular() -> None:
    assert kinds((["apps"], ["v1"], ["deployment"])) == ["apps/v1, Kind=Deployment"]


def test_of_a_rule_with_many_resources_ten_kinds_are_checked() -> None:
    many = [Resource("a.b", "v1", f"Kind{number:02}", f"kind{number:02}s") for number in range(12)]
    rule = (["a.b"], ["v1"], [one.plural for one in many])
    found = matched_kinds(policy(rule, ([""], ["v1"], ["pods"])), [*many, *KNOWN])
    assert found == [GroupKind("a.b", "v1", f"Kind{number:02}") for number in range(10)]
