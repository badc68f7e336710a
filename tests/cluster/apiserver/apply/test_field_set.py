"""Field sets obey the laws of sets of paths, in their wire form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cluster.apiserver.apply.field_set import (
    MEMBER,
    SELF,
    FieldSet,
    Path,
    contains,
    difference,
    difference_with_descendants,
    fields_at,
    intersection,
    item_by_key,
    item_by_value,
    path_text,
    paths,
    union,
)

elements = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"'])
path_sets = st.sets(st.lists(elements, min_size=1, max_size=3).map(tuple), max_size=8)


def fields_of(members: set[Path]) -> FieldSet:
    result: FieldSet = {}
    for path in members:
        node: FieldSet = MEMBER
        for element in reversed(path):
            node = {element: node}
        result = union(result, node)
    return result


@given(path_sets)
def test_a_set_holds_the_paths_it_was_made_of(members: set[Path]) -> None:
    fields = fields_of(members)
    assert set(paths(fields)) == members
    assert all(contains(fields, path) for path in members)


@given(path_sets, path_sets)
def test_algebra_is_that_of_sets_of_paths(left: set[Path], right: set[Path]) -> None:
    assert fields_of(left | right) == union(fields_of(left), fields_of(right))
    assert fields_of(left - right) == difference(fields_of(left), fields_of(right))
    assert fields_of(left & right) == intersection(fields_of(left), fields_of(right))


@given(path_sets, path_sets)
def test_difference_with_descendants_takes_whole_branches(left: set[Path], right: set[Path]) -> None:
    kept = {path for path in left if not any(path[: len(branch)] == branch for branch in right)}
    assert set(paths(difference_with_descendants(fields_of(left), fields_of(right)))) == kept


@given(path_sets, path_sets)
def test_a_difference_that_takes_nothing_is_the_same_object(left: set[Path], right: set[Path]) -> None:
    fields = fields_of(left)
    assert (difference(fields, fields_of(right)) is fields) == (not left & right)


def test_a_path_and_what_is_below_it_are_told_apart() -> None:
    both: FieldSet = {"f:a": {SELF: {}, "f:b": {}}}
    assert difference(both, fields_at(("a",))) == {"f:a": {"f:b": {}}}
    assert difference(both, fields_at(("a", "b"))) == {"f:a": {}}


@pytest.mark.parametrize(
    ("element", "text"),
    [
        pytest.param(item_by_key({"protocol": "TCP", "port": 80}), 'k:{"port":80,"protocol":"TCP"}', id="keys in order"),
        pytest.param(item_by_key({"name": "<&>"}), 'k:{"name":"\\u003c\\u0026\\u003e"}', id="characters that Go escapes"),
        pytest.param(item_by_value(1.0), "v:1", id="a whole float"),
        pytest.param(item_by_value("ä"), 'v:"ä"', id="beyond ASCII"),
    ],
)
def test_elements_are_written_as_go_writes_them(element: str, text: str) -> None:
    assert element == text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param(("f:spec", "f:replicas"), ".spec.replicas", id="fields"),
        pytest.param(("f:ports", 'k:{"port":80,"protocol":"TCP"}'), '.ports[port=80,protocol="TCP"]', id="an item by key"),
        pytest.param(("f:tags", 'v:"a"'), '.tags[="a"]', id="an item by value"),
        pytest.param(("f:x", "i:3"), ".x[3]", id="an item by position"),
    ],
)
def test_paths_are_shown_as_conflicts_show_them(path: Any, text: str) -> None:
    assert path_text(path) == text


def test_paths_come_members_first_and_in_order() -> None:
    fields: FieldSet = {"f:b": {}, "f:a": {"f:c": {}}, 'k:{"n":2}': {}, 'k:{"n":10}': {SELF: {}, "f:z": {}}}
    assert [path_text(path) for path in paths(fields)] == [".b", "[n=2]", "[n=10]", ".a.c", "[n=10].z"]


@pytest.mark.parametrize("index", ["²", "٣", "9" * 5000])
def test_an_index_that_is_no_number_is_listed_first(index: str) -> None:
    assert [*paths({"i:1": MEMBER, f"i:{index}": MEMBER})] == [(f"i:{index}",), ("i:1",)]
