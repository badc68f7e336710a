"""Whether a result waits: the source is suspended, was read from a cluster, or `--suspend` asks for it."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.converted_job import converted
from shunter.api.meta import Json
from shunter.migrate.options import Options

ALIVE = {"uid": "u", "resourceVersion": "5", "creationTimestamp": "2026-11-21T12:00:00Z"}


def conditions(type: str) -> Json:
    return {"conditions": [{"type": type, "status": "True", "lastTransitionTime": "2026-11-21T12:00:00Z"}]}


@pytest.mark.parametrize(
    ("policy", "metadata", "status", "options", "suspended", "told"),
    [
        pytest.param({}, {}, None, Options(), None, [], id="a file runs"),
        pytest.param({"suspend": False}, {}, None, Options(), None, [], id="said so"),
        pytest.param({"suspend": None}, {}, None, Options(), None, [], id="null"),
        pytest.param({"suspend": True}, {}, None, Options(), True, [], id="a suspended source"),
        pytest.param({}, {}, None, Options(suspend=True), True, [], id="asked for"),
        pytest.param({}, ALIVE, conditions("Running"), Options(), True, ["SUSPEND002"], id="it runs in a cluster"),
        pytest.param({}, ALIVE, conditions("Succeeded"), Options(), True, ["SUSPEND001"], id="it has succeeded"),
        pytest.param({}, ALIVE, conditions("Failed"), Options(), True, ["SUSPEND001"], id="it has failed"),
    ],
)
def test_applying_a_result_starts_no_second_training(
    policy: Json, metadata: Json, status: Json | None, options: Options, suspended: bool | None, told: list[str]
) -> None:
    result = converted(policy, metadata=metadata, status=status, options=options)
    assert result.train_job.get("suspend") == suspended
    assert [id for id in result.findings if id.startswith("SUSPEND")] == told
