"""Objects and JSON patches that expressions make."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cluster.apiserver.schema import cel
from shunter.cluster.apiserver.schema.cel_objects import TYPE, WrongTypeError, as_json, with_maps


@pytest.mark.parametrize(
    ("expression", "made"),
    [
        ("Object{}", {}),
        ("Object{metadata: Object.metadata{labels: {'a': 'b'}},}", {"metadata": {"labels": {"a": "b"}}}),
        ("Object{?a: optional.none(), ?b: optional.of(1)}", {"b": 1}),
        ("true ? Object{a: 1 > 2 ? 'x' : 'y'} : Object{}", {"a": "y"}),
        ("Object{a: [Object.a{b: {'c': 1}, `d-e`: 'Object{x: 1}'}]}", {"a": [{"b": {"c": 1}, "d-e": "Object{x: 1}"}]}),
        ("Object{at: timestamp('2024-01-01T00:00:00Z'), for: duration('90s')}", {"at": "2024-01-01T00:00:00Z", "for": "90s"}),
        ("Object{raw: b'abc', n: 3u, none: null}", {"raw": "YWJj", "n": 3, "none": None}),
        ("Object {\n a : 1 // Object{b: 2}\n}", {"a": 1}),
    ],
)
def test_an_object_is_made_as_it_is_written(expression: str, made: dict[str, Any]) -> None:
    assert as_json(cel.evaluated(with_maps(expression), {})) == made


def test_of_a_json_patch_each_operation_has_its_parts() -> None:
    (made,) = cel.evaluated(with_maps("[JSONPatch{op: 'add', path: '/a', value: {'b': 1}}]"), {})
    assert made == {TYPE: "JSONPatch", "op": "add", "path": "/a", "value": {"b": 1}}


@pytest.mark.parametrize("expression", ["object.data", "{'Object': 1}", "a.Object{b: 1}", "Objects{a: 1}", "x{"])
def test_what_makes_no_object_stays(expression: str) -> None:
    assert with_maps(expression) == expression


def test_an_object_of_another_place_is_refused_with_both_types() -> None:
    expected = 'unexpected type name "Object.wrong", expected "Object.spec", which matches field name path from root Object type'
    with pytest.raises(WrongTypeError) as refusal:
        as_json(cel.evaluated(with_maps("Object{spec: Object.wrong{a: 1}}"), {}))
    assert str(refusal.value) == expected
