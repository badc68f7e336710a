"""Paths of columns of custom kinds."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cluster.apiserver.printers.json_path import compiled, values

DOCUMENT = {
    "spec": {"replicas": 2, "a.b": {"c": "dotted"}, "list": [1, 2, 3]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Done", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [2]),
        ("{.spec.replicas}", [2]),
        (".spec.missing.deeper", []),
        (r".spec.a\.b.c", ["dotted"]),
        (".spec['a.b'].c", ["dotted"]),
        (".spec.list[0]", [1]),
        (".spec.list[-1]", [3]),
        (".spec.list[-1:]", [3]),
        (".spec.list[0:2]", [1, 2]),
        (".spec.list[*]", [1, 2, 3]),
        (".spec.list[9]", []),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='None')].status", []),
        (".status.conditions[-1:].type", ["Done"]),
    ],
)
def test_json_path(path: str, found: list[Any]) -> None:
    assert values(compiled(path), DOCUMENT) == found


def test_what_is_no_json_path_is_refused() -> None:
    with pytest.raises(ValueError, match="unrecognized JSONPath"):
        compiled(".spec[")
