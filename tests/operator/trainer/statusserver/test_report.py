"""What is read from a report's body, and what of it the API server surely takes."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.operator.trainer.statusserver.report import BadReport, is_acceptable, parsed

TIME = "2026-11-21T10:00:00Z"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param('{"trainerStatus": {"lastUpdatedTime": "2026-11-21T10:00:00Z"}}', {"lastUpdatedTime": TIME}, id="a time"),
        pytest.param(
            '{"trainerStatus": {"lastUpdatedTime": "2026-11-21T12:00:00.987654+02:00"}}',
            {"lastUpdatedTime": TIME},
            id="microseconds are cut and the zone becomes UTC",
        ),
        pytest.param(
            '{"trainerStatus": {"progressPercentage": 0, "metrics": [{"name": "a", "value": "1"}]}}',
            {"progressPercentage": 0, "metrics": [{"name": "a", "value": "1"}]},
            id="zero is not the same as absent",
        ),
        pytest.param('{"trainerStatus": {"metrics": [], "x": 1}} {"and": "more"}', {}, id="only the first value counts"),
        pytest.param('{"trainerStatus": {"metrics": [null, {"name": null}]}}', {"metrics": [{}, {}]}, id="null is nothing"),
        pytest.param(
            '{"trainerStatus": {"metrics": [{"name": "a\\ud800b\\ud83d\\ude00", "value": "\\ude00"}]}}',
            {"metrics": [{"name": "a\ufffdb\U0001f600", "value": "\ufffd"}]},
            id="half a character is replaced",
        ),
        pytest.param(
            '{"TrainerStatus": {"progresspercentage": 5, "METRICS": [{"Name": "a", "vALUE": "1"}]}}',
            {"progressPercentage": 5, "metrics": [{"name": "a", "value": "1"}]},
            id="upper and lower case are the same",
        ),
        pytest.param('{"trainerStatus": null}', None, id="a null status"),
        pytest.param('{"other": 1}', None, id="no status"),
        pytest.param("null", None, id="null alone"),
    ],
)
def test_what_is_read(body: str, status: Json | None) -> None:
    assert parsed(body.encode()) == status


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        '"text"',
        '{"trainerStatus": []}',
        '{"trainerStatus": {"progressPercentage": 50.0}}',
        '{"trainerStatus": {"progressPercentage": "50"}}',
        '{"trainerStatus": {"progressPercentage": true}}',
        '{"trainerStatus": {"progressPercentage": 2147483648}}',
        '{"trainerStatus": {"progressPercentage": NaN}}',
        '{"trainerStatus": {"metrics": {"loss": "1"}}}',
        '{"trainerStatus": {"metrics": [{"name": "loss", "value": 1.5}]}}',
        '{"trainerStatus": {"lastUpdatedTime": "yesterday"}}',
        '{"trainerStatus": {"lastUpdatedTime": "2026-11-21T10:00:00"}}',
        '{"trainerStatus": {"lastUpdatedTime": "2026-11-21 10:00:00Z"}}',
        '{"trainerStatus": {"lastUpdatedTime": "2026-11-21t10:00:00z"}}',
        '{"trainerStatus": {"lastUpdatedTime": "2026-11-21T10:00:00Z\\n"}}',
        '{"trainerStatus": {"lastUpdatedTime": "2026-11-21T10:00:00+25:00"}}',
        '{"trainerStatus": {"lastUpdatedTime": "0001-01-01T00:00:00+05:00"}}',
        "[" * 60000,
    ],
)
def test_what_is_no_report(body: str) -> None:
    with pytest.raises(BadReport):
        parsed(body.encode())


def test_a_byte_of_a_text_that_is_no_utf_8_is_replaced() -> None:
    assert parsed(b'{"trainerStatus": {"metrics": [{"name": "caf\xe9", "value": "1"}]}}') == {
        "metrics": [{"name": "caf\ufffd", "value": "1"}]
    }


def test_bytes_that_are_no_text_are_no_report() -> None:
    with pytest.raises(BadReport):
        parsed(b"\xff{}")


@pytest.mark.parametrize(
    ("status", "is_good"),
    [
        pytest.param({"lastUpdatedTime": TIME}, True, id="a time alone"),
        pytest.param({"progressPercentage": 5}, False, id="no time"),
        pytest.param({"lastUpdatedTime": TIME, "progressPercentage": 101}, False, id="more than all"),
        pytest.param({"lastUpdatedTime": TIME, "progressPercentage": -1}, False, id="less than nothing"),
        pytest.param({"lastUpdatedTime": TIME, "estimatedRemainingSeconds": -1}, False, id="over before it began"),
        pytest.param({"lastUpdatedTime": TIME, "metrics": [{"name": "a", "value": "1"}] * 256}, True, id="256 metrics"),
        pytest.param({"lastUpdatedTime": TIME, "metrics": [{"name": "a", "value": "1"}] * 257}, False, id="257 metrics"),
        pytest.param({"lastUpdatedTime": TIME, "metrics": [{"name": "a"}]}, False, id="a metric without a value"),
        pytest.param({"lastUpdatedTime": TIME, "metrics": [{"name": "a" * 65, "value": "1"}]}, False, id="a long name"),
    ],
)
def test_what_the_schema_allows_is_known(status: Json, is_good: bool) -> None:
    assert is_acceptable(status) is is_good
