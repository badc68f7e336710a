"""Ephemeral containers of doctor: which is used again, and what is said where one does not come."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.doctor.debug_containers import NoDebugContainerError, definition, is_due, is_running, usable

Json = dict[str, Any]
RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def pod(state: Json, name: str = "shunter-doctor-1", image: str = "spy:1", target: str = "node") -> Json:
    statuses = [{"name": name, "state": state}] if state else []
    return {
        "spec": {"ephemeralContainers": [definition(name, target, image)]},
        "status": {"ephemeralContainerStatuses": statuses},
    }


@pytest.mark.parametrize(
    ("image", "has_program", "is_tried", "due"),
    [
        pytest.param("spy:1", False, False, True, id="first sample"),
        pytest.param("spy:1", False, True, False, id="did not come for an earlier sample"),
        pytest.param("spy:1", True, False, False, id="the image has py-spy"),
        pytest.param("", False, False, False, id="not allowed"),
    ],
)
def test_a_pod_gets_one_where_it_needs_it_and_only_once(image: str, has_program: bool, is_tried: bool, due: bool) -> None:
    assert is_due(image, has_program=has_program, is_tried=is_tried) == due


def test_one_that_runs_is_used_again() -> None:
    assert usable(pod(RUNNING), "node", "spy:1") == "shunter-doctor-1"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod({"terminated": {"exitCode": 0}}), id="has ended"),
        pytest.param(pod(RUNNING, image="spy:2"), id="of another image"),
        pytest.param(pod(RUNNING, target="sidecar"), id="beside another container"),
        pytest.param(pod(RUNNING, name="debugger-x"), id="somebody else's"),
        pytest.param({"spec": {}}, id="none"),
    ],
)
def test_any_other_is_not(other: Json) -> None:
    assert usable(other, "node", "spy:1") == ""


def test_one_that_may_still_come_is_waited_for() -> None:
    assert not is_running(pod({}), "shunter-doctor-1")
    assert not is_running(pod({"waiting": {"reason": "ContainerCreating"}}), "shunter-doctor-1")
    assert is_running(pod(RUNNING), "shunter-doctor-1")


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"waiting": {"reason": "ErrImagePull", "message": "no such image"}}, "cannot start: ErrImagePull: no such image"),
        ({"terminated": {"exitCode": 127, "message": "sleep: not found"}}, "has ended: sleep: not found"),
        ({"terminated": {"exitCode": 1}}, "has ended: exit code 1"),
    ],
)
def test_one_that_will_not_come_is_said_with_the_reason(state: Json, said: str) -> None:
    with pytest.raises(NoDebugContainerError) as raised:
        is_running(pod(state), "shunter-doctor-1")
    assert str(raised.value).endswith(said)
