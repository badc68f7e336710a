"""What a user decides about a conversion, from the command line or from Python."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.errors import InputError
from shunter.migrate.options import Options


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gang": "volcano"},
        {"gang": "coscheduling:my-scheduler"},
        {"elastic_nodes": "max"},
        {"elastic_nodes": "12"},
        {"target_version": "2.0"},
        {"suffix": "-v2"},
    ],
    ids=str,
)
def test_what_can_be_meant_is_taken(options: dict[str, Any]) -> None:
    assert Options(**options) == Options(**options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"gang": "kueue"}, "--gang kueue: no such gang scheduler", id="a scheduler that v1 does not know"),
        pytest.param({"gang": ""}, "--gang : no such gang scheduler", id="no scheduler's name"),
        pytest.param({"gang": "coscheduling:"}, "--gang coscheduling:", id="coscheduling without a name"),
        pytest.param({"gang": "Volcano"}, "--gang Volcano", id="in capitals"),
        pytest.param({"elastic_nodes": "0"}, "--elastic-nodes 0", id="no nodes"),
        pytest.param({"elastic_nodes": "-1"}, "--elastic-nodes -1", id="less than none"),
        pytest.param({"elastic_nodes": "1" * 5000}, "--elastic-nodes 1111", id="more than anybody writes"),
        pytest.param({"elastic_nodes": "three"}, "--elastic-nodes three", id="a word"),
        pytest.param({"target_version": "3.0"}, "--target-version 3.0", id="a release that does not exist"),
        pytest.param({"target_version": "v2.3"}, "--target-version v2.3", id="a release with a v"),
        pytest.param({"suffix": "_v2"}, "--suffix _v2", id="a suffix that no name may have"),
        pytest.param({"suffix": "-"}, "--suffix -", id="a suffix that ends with a dash"),
        pytest.param({"suffix": "-v2\n"}, "--suffix -v2", id="a suffix with the end of a line"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_option(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as refused:
        Options(**options)
    assert says in str(refused.value)
