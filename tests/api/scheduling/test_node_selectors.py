"""Which nodes the terms of a node selector take."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.scheduling.node_selectors import any_holds

LABELS = {"disk": "fast", "cores": "8", "grouped": "1_000"}


def term(operator: str, *values: str, key: str = "disk", where: str = "matchExpressions") -> dict[str, Any]:
    return {where: [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("terms", "holds"),
    [
        ([], False),
        ([{}], False),
        ([term("In", "fast")], True),
        ([term("In", "slow"), term("Exists")], True),
        ([{**term("In", "fast"), **term("In", "other", key="metadata.name", where="matchFields")}], False),
        ([term("In", "n", key="metadata.name", where="matchFields")], True),
        ([term("Gt", "4", key="cores")], True),
        ([term("Lt", "4", key="cores")], False),
        ([term("Gt", "4")], False),
        ([term("Gt", "4", key="none")], False),
        ([term("Gt", "4", key="grouped")], False),
        ([term("Gt", "4", "5", key="cores")], False),
    ],
)
def test_one_term_must_hold_with_all_its_requirements(terms: list[dict[str, Any]], holds: bool) -> None:
    assert any_holds(terms, "n", LABELS) is holds
