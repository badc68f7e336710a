"""The defaulter's times (2.2) and Go's words for values of a wrong type."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.operator.trainer.admission import with_patch_times
from shunter.operator.trainer.go_types import go_decode_error

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
STAMP = "2026-11-21T12:00:00Z"
OLD = "2020-01-01T00:00:00Z"


def job(*patches: Json | None) -> Json:
    return {"spec": {"runtimePatches": list(patches)}}


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        pytest.param(None, {"manager": "a"}, {"manager": "a", "time": STAMP}, id="new: stamped"),
        pytest.param(None, {"manager": "a", "time": OLD}, {"manager": "a", "time": OLD}, id="new with a time: kept"),
        pytest.param(None, None, {"time": STAMP}, id="null: an empty patch"),
        pytest.param(
            {"manager": "a", "time": OLD}, {"manager": "a", "time": STAMP}, {"manager": "a", "time": OLD}, id="same: the old time"
        ),
        pytest.param(
            {"manager": "a", "time": OLD},
            {"manager": "a", "time": OLD, "trainingRuntimeSpec": {}},
            {"manager": "a", "time": STAMP, "trainingRuntimeSpec": {}},
            id="changed: now",
        ),
    ],
)
def test_patches_are_stamped(before: Json | None, after: Json | None, wanted: Json) -> None:
    old = job(before) if before else None
    assert with_patch_times(job(after), old, NOW) == job(wanted)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"trainer": {"numProcPerNode": "auto"}},
            "json: cannot unmarshal string into Go struct field Trainer.spec.trainer.numProcPerNode of type int32",
        ),
        (
            {"trainer": {"numNodes": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field Trainer.spec.trainer.numNodes of type int32",
        ),
        (
            {"trainer": {"env": [{"name": "A", "value": 1}]}},
            "json: cannot unmarshal number into Go struct field EnvVar.spec.trainer.env.value of type string",
        ),
        (
            {"runtimePatches": [{"time": "2020-01-01"}]},
            'parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
        ),
        ({"trainer": {"numNodes": 2.0, "resourcesPerNode": {"limits": {"cpu": 1.0}}}}, ""),
        ({"trainer": None, "runtimePatches": None}, ""),
    ],
)
def test_values_of_a_wrong_type_are_refused_in_gos_words(spec: Any, message: str) -> None:
    assert go_decode_error({"spec": spec}) == message
