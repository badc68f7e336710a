"""Indexed Jobs that are complete before all of their indexes are."""

from __future__ import annotations

import pytest

from cluster.controllers.job.tallied import job
from shunter.api.meta import Json
from shunter.cluster.controllers.job.indexes import Indexes
from shunter.cluster.controllers.job.success_policy import met_rule


@pytest.mark.parametrize(
    ("rules", "succeeded", "position"),
    [
        pytest.param([], "0-9", None, id="no rule"),
        pytest.param([{"succeededCount": 2}], "", None, id="nothing has succeeded"),
        pytest.param([{"succeededCount": 2}], "7", None, id="too few"),
        pytest.param([{"succeededCount": 2}], "3,7", 0, id="enough of any"),
        pytest.param([{"succeededIndexes": "0,2-3"}], "0,2", None, id="one of the named ones is missing"),
        pytest.param([{"succeededIndexes": "0,2-3"}], "0-3", 0, id="all that are named"),
        pytest.param([{"succeededIndexes": "0,2-3", "succeededCount": 2}], "1-2", None, id="one of the named, another"),
        pytest.param([{"succeededIndexes": "0,2-3", "succeededCount": 2}], "0,3", 0, id="enough of the named ones"),
        pytest.param([{"succeededIndexes": "20"}], "0-9", None, id="an index beyond the completions"),
        pytest.param([{"succeededIndexes": "8-20"}], "8-9", 0, id="those beyond do not count"),
        pytest.param([{"succeededIndexes": "9"}, {"succeededCount": 1}], "0", 1, id="the second rule"),
        pytest.param([{"succeededCount": 1}, {"succeededIndexes": "0"}], "0", 0, id="the first of two"),
    ],
)
def test_the_first_rule_that_is_met_decides(rules: list[Json], succeeded: str, position: int | None) -> None:
    of = job(completions=10, completionMode="Indexed", **({"successPolicy": {"rules": rules}} if rules else {}))
    assert met_rule(of, Indexes.parse(succeeded, 10)) == position
