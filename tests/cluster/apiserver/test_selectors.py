"""Selectors match what Kubernetes matches, and refuse what it refuses in its words."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver import builtin
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
    terms = field_terms(text, ("metadata.name", "metadata.namespace", "spec.nodeName", "status.phase", "spec.host"))
    assert Selector(terms=terms).matches(ENTRY) is matches


def test_escapes_in_field_selectors_are_taken_off() -> None:
    (term,) = field_terms(r"metadata.name=a\,b\=c\\d", ("metadata.name",))
    assert term.value == r"a,b=c\d"


@pytest.mark.parametrize("value", ["1_0", "1e1", "0x10", "1.5", "", "9" * 20])
def test_what_go_does_not_read_as_a_number_is_none(value: str) -> None:
    entry = Entry("default", "p", "u", 1, f'"metadata":{{"name":"p","labels":{{"n":"{value}"}}}}}}'.encode())
    assert not Selector(label_requirements("n>0")).matches(entry)
    assert not Selector(label_requirements("n<99")).matches(entry)


KINDS = {kind.resource.plural: kind for kind in builtin.kinds() if kind.resource.group != "events.k8s.io"}


@pytest.mark.parametrize(
    ("plural", "stored", "text", "matches"),
    [
        ("nodes", {"spec": {}}, "spec.unschedulable=false", True),
        ("nodes", {"spec": {}}, "spec.unschedulable!=true", True),
        ("nodes", {"spec": {}}, "spec.unschedulable=", False),
        ("nodes", {"spec": {"unschedulable": True}}, "spec.unschedulable=true", True),
        ("nodes", {"spec": {"unschedulable": True}}, "spec.unschedulable=false", False),
        ("pods", {"spec": {}}, "spec.hostNetwork=false", True),
        ("pods", {"spec": {"hostNetwork": True}}, "spec.hostNetwork=true", True),
        ("pods", {"spec": {}}, "spec.nodeName=", True),
        ("pods", {"status": {"podIPs": [{"ip": "10.0.0.1"}]}}, "status.podIPs=", True),
        ("pods", {"status": {"podIPs": [{"ip": "10.0.0.1"}]}}, "status.podIPs=10.0.0.1", False),
        ("replicationcontrollers", {"status": {"replicas": 2}}, "status.replicas=2", True),
        ("replicationcontrollers", {"status": {}}, "status.replicas=0", True),
        ("jobs", {"status": {}}, "status.successful=0", True),
        ("jobs", {"status": {"succeeded": 2}}, "status.successful=2", True),
        ("jobs", {"status": {"succeeded": 2}}, "status.successful!=0", True),
        ("events", {"source": {"component": "kubelet", "host": "n"}}, "source=kubelet", True),
        ("events", {"source": {}, "reportingComponent": "scheduler"}, "source=scheduler", True),
        ("events", {"source": {"component": "kubelet"}, "reportingComponent": "x"}, "source=x", False),
    ],
)
def test_fields_without_value_are_what_go_writes_for_them(plural: str, stored: Json, text: str, matches: bool) -> None:
    """As of `kubectl get nodes --field-selector spec.unschedulable=false`."""
    kind = KINDS[plural]
    entry = Entry("default", "p", "u", 1, msgspec.json.encode({"metadata": {"name": "p"}, **stored})[1:])
    terms = field_terms(text, kind.selectable_fields, stored=kind.stored_fields)
    assert Selector(terms=terms).matches(entry) is matches
