"""What a user may do, by the rules that the API server lists (SelfSubjectRulesReview)."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.doctor.rights import Rights


def rule(verbs: list[str] | None, resources: list[str] | None, groups: list[str] | None = None, **more: object) -> Json:
    return {"verbs": verbs, "apiGroups": [""] if groups is None else groups, "resources": resources, **more}


def rights(*rules: Json) -> Rights:
    return Rights(namespace="team-a", rules=rules, is_known=True)


@pytest.mark.parametrize(
    ("given", "verb", "resource"),
    [
        (rule(["list"], ["pods"]), "list", "pods"),
        (rule(["*"], ["*"], ["*"]), "create", "pods/exec"),
        (rule(["get"], ["pods", "pods/log"]), "get", "pods/log"),
        (rule(["create"], ["*/exec"]), "create", "pods/exec"),
    ],
    ids=["by name", "by stars", "a subresource", "a subresource of all"],
)
def test_a_rule_allows_what_it_names(given: Json, verb: str, resource: str) -> None:
    assert rights(given).allows(verb, resource)
    assert rights(rule(["x"], ["y"]), given).allows(verb, resource), "one of the rules is enough"


@pytest.mark.parametrize(
    ("given", "verb", "resource"),
    [
        (rule(["get"], ["pods"]), "list", "pods"),
        (rule(["get"], ["pods"]), "get", "pods/log"),
        (rule(["create"], ["*/exec"]), "create", "pods"),
        (rule(["create"], ["*/exec"]), "create", "pods/attach"),
        (rule(["get"], ["pods"], ["metrics.k8s.io"]), "get", "pods"),
        (rule(["get"], ["pods"], resourceNames=["p"]), "get", "pods"),
        (rule(None, None), "get", "pods"),
    ],
    ids=["another verb", "a subresource", "the resource", "other subresource", "another group", "one object", "nothing"],
)
def test_a_rule_allows_no_more(given: Json, verb: str, resource: str) -> None:
    assert not rights(given).allows(verb, resource)


def test_who_has_no_rules_may_do_nothing_and_where_they_are_not_known_it_is_tried() -> None:
    assert not rights().allows("get", "pods")
    assert Rights(namespace="team-a").allows("get", "pods")


@pytest.mark.parametrize(
    ("verb", "resource", "text"),
    [
        ("list", "events", "you may not list events in team-a"),
        ("create", "pods/exec", "you may not exec in team-a"),
        ("get", "pods/log", "you may not read logs in team-a"),
    ],
)
def test_what_is_missing_is_said_as_people_say_it(verb: str, resource: str, text: str) -> None:
    assert rights().refusal(verb, resource) == text
