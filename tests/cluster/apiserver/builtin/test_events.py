"""Events of both groups: what is refused of a new one and of a change (Kubernetes 1.36: `apis/core/validation/events.go`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shunter.api.meta import Json

Write = Callable[..., Any]


def event(**fields: Any) -> Json:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.org/c",
        "reportingInstance": "c-1",
        "action": "Made",
        "reason": "Made",
        "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
        **fields,
    }


def test_an_event_of_the_new_group_has_a_time_a_reporter_and_an_action(write: Write) -> None:
    assert write(event()).code == 201
    for missing in ("eventTime", "reportingController", "reportingInstance", "action", "reason"):
        answer = write({name: value for name, value in event().items() if name != missing})
        assert (answer.code, missing in answer.message) == (422, True), missing


@pytest.mark.parametrize(
    ("field", "value", "accepted"),
    [
        ("note", "x" * 1024, True),
        ("note", "x" * 1025, False),
        ("note", "\u00fc" * 512, True),
        ("note", "\u00fc" * 513, False),
        ("reason", "\u4e16" * 42, True),
        ("reason", "\u4e16" * 43, False),
        ("action", "x" * 129, False),
        ("reportingInstance", "x" * 129, False),
    ],
)
def test_texts_are_as_long_as_their_bytes(write: Write, field: str, value: str, accepted: bool) -> None:
    """Go counts bytes, whatever its message says: an event that is too long on a real cluster is too long here."""
    answer = write(event(**{field: value}))
    assert (answer.code, "characters" in answer.message) == ((201, False) if accepted else (422, True))


@pytest.mark.parametrize(
    ("series", "accepted"),
    [
        ({"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}, True),
        ({"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}, False),
        ({"count": 2}, False),
    ],
)
def test_a_series_has_two_occurrences_and_the_time_of_the_last(write: Write, series: Json, accepted: bool) -> None:
    assert (write(event(series=series)).code == 201) is accepted
    old = write(event()).object
    assert (write({**event(series=series), "metadata": old["metadata"]}, old).code == 200) is accepted


@pytest.mark.parametrize("field", ["note", "reason", "type", "action", "reportingInstance"])
def test_nothing_but_the_series_changes(write: Write, field: str) -> None:
    old = write(event(note="a")).object
    assert write({**old, field: "Warning"}, old).code == 422


def test_an_event_is_in_the_namespace_of_what_it_is_about(write: Write) -> None:
    old: Json = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "team"},
        "involvedObject": {"kind": "Pod", "namespace": "team"},
    }
    assert write(old).code == 201
    assert write({**old, "involvedObject": {"kind": "Pod", "namespace": "other"}}).code == 422
    about_the_cluster: Json = {**old, "involvedObject": {"kind": "Node"}}
    assert write(about_the_cluster).code == 422
    assert write({**about_the_cluster, "metadata": {"name": "e", "namespace": "default"}}).code == 201
