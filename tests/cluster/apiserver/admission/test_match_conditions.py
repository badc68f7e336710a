"""Conditions of webhooks and policies; what real servers answer is in tests/vectors."""

from __future__ import annotations

import pytest

from shunter.cluster.apiserver.admission import match_conditions


def test_a_fault_that_several_conditions_have_is_told_once() -> None:
    conditions = [{"name": name, "expression": "request.nothing == 1"} for name in ("a", "b")]
    with pytest.raises(match_conditions.ConditionError) as refused:
        match_conditions.hold(conditions, {"request": {}})
    assert str(refused.value).count("resulted in error") == 1
    assert not str(refused.value).startswith("[")
