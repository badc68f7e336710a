"""Selectors match what Kubernetes matches, and refuse what it refuses in its words."""

from __future__ import annotations

import pytest

from shunter.cluster.apiserver.selectors import Selector, field_terms, label_requirements
from shunter.cluster.apiserver.status import StatusError
from shunter.cluster.apiserver.storage.store import Entry

LABELS = {"app": "web", "tier": "1", "example.com/x": "", "empty": ""}
ENTRY = Entry(
    "default",
    "p",
    "u",
    1,
    b'"metadata":{"name":"p","labels":{"app":"web","tier":"1","example.com/x":"","empty":""}},'
    b'"spec":{"nodeName":"n1"},"status":{"phase":"Running"}}',
)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("app=web", True),
        ("app==web", True),
        ("app=other", False),
        ("app!=other", True),
        ("missing!=x", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("app in (web, api)", True),
        ("app in (api)", False),
        ("app notin (api)", True),
        ("missing notin (api)", True),
        ("tier>0", True),
        ("tier<1", False),
        ("app>0", False),
        ("example.com/x=", True),
        ("empty in ()", True),
        ("app=web,tier=1,!missing", True),
        ("app=web,tier=2", False),
        (" app = web , tier in ( 1 , 2 ) ", True),
    ],
)
def test_label_selectors(text: str, matches: bool) -> None:
    assert Selector(label_requirements(text)).matches(ENTRY) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
    ],
)
def test_what_is_no_label_selector_is_refused(text: str, message: str) -> None:
    with pytest.raises(StatusError) as refusal:
        label_requirements(text)
    assert (refusal.value.code, refusal.value.message) == (400, message)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("metadata.name=p", True),
        ("metadata.name!=p", False),
        ("metadata.namespace=default", True),
        ("spec.nodeName=n1,status.phase!=Failed", True),
        ("spec.nodeName==n2", False),
        ("spec.host=", True),
        ("", True),
    ],
)
def test_field_selectors(text: str, matches: bool) -> None:
    terms = field_terms(text, ("spec.nodeName", "status.phase", "spec.host"))
    assert Selector(terms=terms).matches(ENTRY) is matches


def test_escapes_in_field_selectors_are_taken_off() -> None:
    (term,) = field_terms(r"metadata.name=a\,b\=c\\d", ())
    assert term.value == r"a,b=c\d"
