"""JSON patches lead from any object to any other."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shunter.kube import json_patch

keys = st.text("ab/~", min_size=1, max_size=3)
scalars = st.one_of(st.integers(-3, 3), st.text("xy", max_size=2), st.sampled_from([0.5, "true"]))


def objects(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    values = st.recursive(
        leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)), max_leaves=8
    )
    return st.dictionaries(keys, values, max_size=4)


with_null = objects(st.one_of(scalars, st.none(), st.booleans()))


@given(with_null, with_null)
def test_a_json_patch_leads_from_any_object_to_any_object(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert applied(before, json_patch.difference(before, after)) == after


def applied(value: Any, operations: list[dict[str, Any]]) -> Any:
    """RFC 6902 for the operations that `difference` uses, written without it in mind."""
    import copy

    root = {"": copy.deepcopy(value)}
    for operation in operations:
        *parents, last = [token.replace("~1", "/").replace("~0", "~") for token in operation["path"].split("/")] or [""]
        target: Any = root
        for token in parents:
            target = target[int(token)] if isinstance(target, list) else target[token]
        if isinstance(target, list):
            match operation["op"]:
                case "add":
                    assert last == "-"
                    target.append(operation["value"])
                case "remove":
                    del target[int(last)]
                case "replace":
                    target[int(last)] = operation["value"]
        elif operation["op"] == "remove":
            del target[last]
        else:
            assert (last in target) == (operation["op"] == "replace")
            target[last] = operation["value"]
    return root[""]
