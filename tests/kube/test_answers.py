"""What an API server answers, decoded: one object, or a page of a collection."""

from __future__ import annotations

import json

import pytest

from shunter.api.core import Pod
from shunter.api.meta import MetadataOnly
from shunter.kube.answers import accept, decoded, decoded_page
from shunter.kube.cache.watch_events import ObjectIdentity
from shunter.kube.controllers.plan import Key
from shunter.kube.errors import ConnectionProblem


def pod(name: str, **fields: object) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "team", "resourceVersion": "7"}, **fields}


def page(*items: object, **metadata: object) -> bytes:
    return json.dumps({"kind": "PodList", "items": items, "metadata": {"resourceVersion": "9", **metadata}}).encode()


def test_only_metadata_is_asked_for_where_a_view_has_no_more() -> None:
    wanted = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    assert accept(MetadataOnly) == accept(ObjectIdentity) == wanted
    assert accept(MetadataOnly, of_list=True) == wanted.replace("Metadata;", "MetadataList;")
    assert {accept(view, of_list=of_list) for view in (None, dict, Pod) for of_list in (True, False)} == {"application/json"}


def test_null_is_read_as_what_is_absent() -> None:
    """In Go both are the zero value, and a server may write either."""
    body = json.dumps(pod("a", spec={"containers": None, "nodeName": None}, status=None)).encode()
    assert decoded(body, Pod) == decoded(json.dumps(pod("a", spec={}, status={})).encode(), Pod)


@pytest.mark.parametrize(
    "body", [b"", b"<html>sign in</html>", b"[]", b"null", b"1", b'{"metadata": 1}', b'{"metadata": {', b"\xff"]
)
def test_an_answer_that_is_no_object_is_a_problem_of_the_connection(body: bytes) -> None:
    """As of a proxy that answers 200 with a page of its own."""
    with pytest.raises(ConnectionProblem, match="not as expected"):
        decoded(body, MetadataOnly)


def test_a_page_says_where_the_next_one_begins() -> None:
    first = decoded_page(page(pod("a"), **{"continue": "token"}), Pod)
    assert ([one.metadata.name for one in first.items], first.resource_version, first.next) == (["a"], "9", "token")
    assert decoded_page(page(), Pod).next == ""


@pytest.mark.parametrize("items", [None, []])
def test_a_collection_of_nothing_may_be_null(items: object) -> None:
    body = json.dumps({"items": items, "metadata": {"resourceVersion": "9"}}).encode()
    assert decoded_page(body, Pod).items == []


def test_an_object_that_does_not_fit_is_told_of_and_the_others_are_read() -> None:
    found = decoded_page(page(pod("a"), pod("b", spec={"nodeName": 1}), pod("c", spec=None)), Pod)
    assert [one.metadata.name for one in found.items] == ["a", "c"]
    assert [(one.key, one.resource_version) for one in found.malformed] == [(Key("team", "b"), "7")]
    assert "nodeName" in found.malformed[0].error


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b'{"items": {}}', b'{"items": [1]}', b'{"items": [null]}', b'{"items": [{"metadata": 1}]}'],
)
def test_a_list_that_is_none_is_a_problem_of_the_connection(body: bytes) -> None:
    with pytest.raises(ConnectionProblem, match=r"not as expected|is not JSON"):
        decoded_page(body, Pod)


def test_an_object_is_read_as_plain_json_where_no_view_is_named() -> None:
    assert decoded(b'{"a": [1, null]}', None) == {"a": [1, None]}
    assert decoded_page(page({"a": 1}), None).items == [{"a": 1}]
