"""Times, durations and bytes in expressions. Rules of whole objects: tests/vectors/cases/cel-times.yaml."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from shunter.cluster.apiserver.schema import cel, compile_schema
from shunter.cluster.apiserver.schema.cel_times import READERS, time_of

_TIME = "2024-03-04T05:06:07.008009010Z"


def _read(name: str, text: str) -> Any:
    return READERS[name](text)


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("date-time", "1970-01-01T00:00:01.5Z", (1, 500_000_000)),
        ("date-time", "1969-12-31T23:59:59.25Z", (-1, 250_000_000)),
        ("date-time", "1970-01-01T02:00:00.123456789123+02:00", (0, 123_456_789)),
        ("date", "1970-01-02", (86400, 0)),
        ("duration", "1m30.5s", (90, 500_000_000)),
        ("duration", "-1m30.5s", (-90, -500_000_000)),
        ("duration", "2 days", (172800, 0)),
    ],
)
def test_a_text_is_read_to_the_nanosecond(name: str, text: str, parts: tuple[int, int]) -> None:
    value = _read(name, text)
    assert (value.seconds, value.nanos) == parts


@pytest.mark.parametrize(
    ("name", "text"),
    [("date-time", "2024-01-01t00:00:00z"), ("date-time", "soon"), ("date", "2024-02-30"), ("duration", "5"), ("byte", "YQ")],
)
def test_a_text_that_is_not_of_its_format_stays_one(name: str, text: str) -> None:
    assert _read(name, text) == text


def test_the_result_of_an_expression_can_be_a_variable_of_another() -> None:
    expression = f"{{'a': [timestamp('{_TIME}')], 'b': duration('1h0m0.000000001s'), 'c': 'x'}}"
    value = cel.evaluated(expression, {})
    assert value["a"] == [time_of(_TIME)]
    assert (value["b"].seconds, value["b"].nanos, value["c"]) == (3600, 1, "x")
    assert cel.evaluated(f"v.a[0] == timestamp('{_TIME}') && v.b > duration('1h')", {"v": value})
    assert cel.evaluated("v + 1u == 4u", {"v": cel.evaluated("3u", {})})


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("duration('1m30.5s').getMilliseconds()", 90500),
        ("duration('-1.5s') . getMilliseconds()", -1500),
        (f"timestamp('{_TIME}').getMilliseconds()", 8),
        (f"timestamp('{_TIME}').getMilliseconds('+05:30')", 8),
        ("'.getMilliseconds'", ".getMilliseconds"),
        ("[duration('1s'), duration('2s')].sum() == duration('3s')", True),
        ("[duration('3s'), duration('2s')].min() == duration('2s')", True),
        ("[1, 2].sum() == 3 && [].sum() == 0", True),
        (f"[timestamp('{_TIME}')].max().getFullYear()", 2024),
        (f"[timestamp('{_TIME}')].indexOf(timestamp('{_TIME}'))", 0),
    ],
)
def test_functions_of_times_are_those_of_go(expression: str, expected: Any) -> None:
    assert cel.evaluated(expression, {}) == expected


def test_null_in_an_object_is_absent_to_rules() -> None:
    when = {"type": "string", "format": "date-time", "nullable": True}
    schema = compile_schema(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {"when": when},
                    "x-kubernetes-validations": [{"rule": "has(self.when)", "message": "is not there"}],
                }
            },
        },
        {},
    )
    document = {"metadata": {"name": "a"}, "spec": {"when": None}}
    assert [str(error) for error in schema.validate(document, None)] == ["spec: Invalid value: is not there"]


@pytest.mark.integration
def test_rules_that_read_no_times_do_not_load_protobuf() -> None:
    program = """
import sys
from shunter.cluster.apiserver.schema import compile_schema
when, rules = {"type": "string", "format": "date-time"}, [{"rule": "self.name != 'x'"}]
spec = {"type": "object", "properties": {"name": {"type": "string"}, "when": when}, "x-kubernetes-validations": rules}
schema = compile_schema({"type": "object", "properties": {"spec": spec}}, {})
spec = {"name": "x", "when": "2024-01-01T00:00:00Z"}
assert len(schema.validate({"metadata": {"name": "a"}, "spec": spec}, None)) == 1
assert "cel_expr_python.cel" in sys.modules
assert not [name for name in sys.modules if name.startswith("google.protobuf.")], sys.modules.keys()
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
