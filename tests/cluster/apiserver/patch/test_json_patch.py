"""Properties of JSON patch that no single example shows."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cluster.apiserver.patch.errors import PatchError
from shunter.cluster.apiserver.patch.json_patch import MAX_OPERATIONS, apply

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.text(alphabet="ab/~", max_size=2)
names = st.text(alphabet="ab/~", min_size=1, max_size=2)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
documents = st.dictionaries(names, values, max_size=4)
pointers = st.lists(names | st.sampled_from(["0", "1", "-", "-1"]), min_size=1, max_size=3)


def pointer(*tokens: str) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)


operations = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "test", "move", "copy"])},
        optional={
            "path": pointers.map(lambda tokens: pointer(*tokens)),
            "from": pointers.map(lambda tokens: pointer(*tokens)),
            "value": values,
        },
    ),
    max_size=4,
)


@given(documents, operations)
def test_neither_document_nor_patch_is_changed(document: Any, patch: Any) -> None:
    before = copy.deepcopy((document, patch))
    with contextlib.suppress(PatchError):
        apply(document, patch)
    assert (document, patch) == before


@given(documents, names, values)
def test_what_was_added_is_there_and_can_be_removed_again(document: Any, name: str, value: Any) -> None:
    added = apply(document, [{"op": "add", "path": pointer(name), "value": value}])
    assert added[name] == value
    assert apply(added, [{"op": "test", "path": pointer(name), "value": value}]) == added
    removed = apply(added, [{"op": "remove", "path": pointer(name)}])
    assert removed == {other: part for other, part in document.items() if other != name}


@pytest.mark.slow
@given(documents, names, names)
def test_moving_there_and_back_changes_nothing(document: Any, source: str, target: str) -> None:
    document = {**{name: part for name, part in document.items() if name != target}, source: "moved"}
    there = apply(document, [{"op": "move", "from": pointer(source), "path": pointer(target)}])
    assert apply(there, [{"op": "move", "from": pointer(target), "path": pointer(source)}]) == document


@given(st.lists(scalars, max_size=4), scalars, st.integers(-6, 6))
def test_add_inserts_into_a_list_or_refuses(items: list[Any], value: Any, index: int) -> None:
    patch = [{"op": "add", "path": f"/items/{index}", "value": value}]
    if -len(items) - 1 <= index <= len(items):
        position = index if index >= 0 else index + len(items) + 1
        assert apply({"items": items}, patch) == {"items": [*items[:position], value, *items[position:]]}
    else:
        with pytest.raises(PatchError):
            apply({"items": items}, patch)


@given(documents, operations)
def test_operations_apply_one_after_the_other(document: Any, patch: Any) -> None:
    try:
        expected = document
        for operation in patch:
            expected = apply(expected, [operation])
    except PatchError:
        with pytest.raises(PatchError):
            apply(document, patch)
    else:
        assert apply(document, patch) == expected


def test_no_patch_at_all_changes_nothing() -> None:
    assert apply({"a": 1}, None) == {"a": 1}


def test_refusal_keeps_the_reason_for_whoever_debugs() -> None:
    with pytest.raises(PatchError) as refusal:
        apply({"a": 1}, [{"op": "remove", "path": "/b"}])
    assert refusal.value.why == "Unable to remove nonexistent key: b"


def test_a_patch_of_too_many_operations_is_too_large() -> None:
    with pytest.raises(PatchError) as refusal:
        apply({}, [{"op": "test", "path": "/a"}] * (MAX_OPERATIONS + 1))
    assert (refusal.value.code, refusal.value.reason) == (413, "RequestEntityTooLarge")
    said = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert str(refusal.value) == said, "a real server's words"
