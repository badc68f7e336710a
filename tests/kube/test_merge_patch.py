"""Merge patches lead from any object to any other, and are the smallest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.kube import json_patch, merge_patch

keys = st.text("ab/~", min_size=1, max_size=3)
scalars = st.one_of(st.integers(-3, 3), st.text("xy", max_size=2), st.sampled_from([0.5, "true"]))


def objects(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    values = st.recursive(
        leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)), max_leaves=8
    )
    return st.dictionaries(keys, values, max_size=4)


without_null = objects(scalars)
with_null = objects(st.one_of(scalars, st.none(), st.booleans()))


@given(with_null, without_null)
def test_a_merge_patch_leads_from_any_object_to_any_object_without_null(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert merge_patch.merge_patch(before, merge_patch.difference(before, after)) == after


@given(without_null)
def test_nothing_differs_from_itself(value: dict[str, Any]) -> None:
    assert merge_patch.difference(value, value) == {}
    assert json_patch.difference(value, value) == []


@given(with_null, without_null)
def test_differences_change_neither_side(before: dict[str, Any], after: dict[str, Any]) -> None:
    shown = repr((before, after))
    merge_patch.merge_patch(before, merge_patch.difference(before, after))
    json_patch.difference(before, after)
    assert repr((before, after)) == shown


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({}, {"a": {}}, {"a": {}}),
        ({"a": {}}, {}, {"a": None}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": 1}, {"a": {}}, {"a": {}}),
        ({"a": {}}, {"a": 1}, {"a": 1}),
        ({"a": [1, 2]}, {"a": [2]}, {"a": [2]}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
    ],
    ids=["empty for absent", "absent for empty", "emptied", "object for scalar", "scalar for object", "list", "one of two"],
)
def test_the_merge_patch_is_the_smallest(before: dict[str, Any], after: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge_patch.difference(before, after) == patch
