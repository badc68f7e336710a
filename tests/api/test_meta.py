"""What every Kubernetes object has, read and written by one rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from shunter.api.jobset import JobSetStatus
from shunter.api.meta import Condition, Json, ObjectMeta, annotations_of, grace_period
from shunter.api.trainer.trainjob import TrainJobStatus
from shunter.cluster.controllers.autoscaling import plan as autoscaling
from shunter.cluster.controllers.autoscaling.views import AutoscalerStatus
from shunter.cluster.controllers.jobset import progress as jobset
from shunter.operator.trainer.status import status_json

CONDITIONS = (
    Condition(
        type="A",
        status="True",
        reason="R",
        last_transition_time=datetime(2026, 11, 21, 10, tzinfo=UTC),
        observed_generation=3,
    ),
    Condition(type="B", status="False"),
)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(lambda: jobset.status_json(JobSetStatus(conditions=CONDITIONS)), id="JobSet"),
        pytest.param(lambda: autoscaling.status_json(AutoscalerStatus(conditions=CONDITIONS)), id="HorizontalPodAutoscaler"),
        pytest.param(lambda: status_json(TrainJobStatus(conditions=CONDITIONS)), id="TrainJob"),
    ],
)
def test_conditions_are_written_as_they_were_read(written: Callable[[], Json]) -> None:
    assert written()["conditions"] == [
        {
            "type": "A",
            "status": "True",
            "reason": "R",
            "message": "",
            "lastTransitionTime": "2026-11-21T10:00:00Z",
            "observedGeneration": 3,
        },
        {"type": "B", "status": "False", "reason": "", "message": ""},
    ]


@pytest.mark.parametrize("obj", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"annotations": None}}])
def test_an_object_without_annotations_has_none(obj: Json) -> None:
    assert annotations_of(obj) == {}


def test_annotations_are_found() -> None:
    assert annotations_of({"metadata": {"annotations": {"a": "b"}}}) == {"a": "b"}


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (30, timedelta(seconds=30)),
        (9_223_372_036, timedelta(seconds=9_223_372_036)),
        (9_223_372_037, timedelta(seconds=9_223_372_037) - timedelta(microseconds=2**64 / 1000)),
        (10**12, timedelta(seconds=3_875_820_019.684)),
    ],
)
def test_a_grace_period_comes_round_as_in_go(seconds: int, expected: timedelta) -> None:
    assert abs(grace_period(seconds) - expected) < timedelta(seconds=1)
    deleted = datetime(2026, 11, 21, 10, tzinfo=UTC)
    metadata = ObjectMeta(deletion_timestamp=deleted + grace_period(seconds), deletion_grace_period_seconds=seconds)
    assert metadata.deletion_requested == deleted
