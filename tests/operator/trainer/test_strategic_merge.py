"""Merging patches into a JobSetSpec: lists of named things merge, keep their order, and all others are replaced."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.api.meta import Json
from shunter.operator.trainer.strategic_merge import strategic_merge


def named(*names: str, **more: Any) -> list[Json]:
    return [{"name": name, **more} for name in names]


@pytest.mark.parametrize(
    ("original", "patch", "wanted"),
    [
        pytest.param("ABCD", "DxB", "ACDxB", id="the patch's order, others before what came later"),
        pytest.param("123", "931", "9231", id="a new entry stays where the patch has it"),
        pytest.param("n12", "21", "n21", id="others first"),
        pytest.param("b", "u", "ub", id="new entries before all others"),
        pytest.param("", "ab", "ab", id="into nothing"),
        pytest.param("ab", "", "ab", id="an empty list says nothing"),
    ],
)
def test_named_lists_merge_in_kubernetes_order(original: str, patch: str, wanted: str) -> None:
    merged = strategic_merge({"env": named(*original)}, {"env": named(*patch)})
    assert "".join(item["name"] for item in merged["env"]) == wanted


def test_entries_of_one_name_merge_field_by_field() -> None:
    original = {"containers": [{"name": "a", "image": "i", "securityContext": {"runAsUser": 1, "privileged": False}}]}
    patch = {"containers": [{"name": "a", "securityContext": {"runAsUser": 2}}]}
    merged = strategic_merge(original, patch)
    assert merged["containers"] == [{"name": "a", "image": "i", "securityContext": {"runAsUser": 2, "privileged": False}}]


def test_mounts_merge_by_path_and_tolerations_are_replaced() -> None:
    original = {"volumeMounts": [{"name": "x", "mountPath": "/a"}], "tolerations": named("t")}
    merged = strategic_merge(original, {"volumeMounts": [{"name": "x", "mountPath": "/b"}], "tolerations": named("u")})
    assert [mount["mountPath"] for mount in merged["volumeMounts"]] == ["/b", "/a"]
    assert merged["tolerations"] == named("u")


def test_empty_values_say_nothing_but_empty_objects_do() -> None:
    original = {"serviceAccountName": "a", "tolerations": named("t")}
    merged = strategic_merge(original, {"serviceAccountName": "", "tolerations": [], "affinity": {}, "nodeSelector": None})
    assert merged == {**original, "affinity": {}}


names = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(names, names)
def test_a_merge_holds_everything_once_changes_no_input_and_repeats_itself(original: list[str], patch: list[str]) -> None:
    before = {"env": named(*original, value="old")}
    change = {"env": named(*patch, value="new")}
    kept = copy.deepcopy((before, change))
    merged = strategic_merge(before, change)
    assert (before, change) == kept
    found = {item["name"]: item["value"] for item in merged["env"]}
    assert len(found) == len(merged["env"])
    assert found == {name: "new" if name in patch else "old" for name in {*original, *patch}}
    assert strategic_merge(merged, change) == merged
