"""The status kubelet would show, as a value."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shunter.cluster.node.pod.containers import Attempt, ContainerState, Role, Waiting
from shunter.cluster.node.pod.status import PodObservation, pod_phase, pod_status

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
RUNNING = Attempt(0, "id", started_at=1000.0)
DONE = RUNNING._replace(finished_at=1010.0, exit_code=0, reason="Completed")
FAILED = RUNNING._replace(finished_at=1010.0, exit_code=1, reason="Error")
UP = ContainerState(Role.MAIN, RUNNING, started=True, ready=True)


def spec(policy: str = "Never", **parts: Any) -> Any:
    return {"restartPolicy": policy, "containers": [{"name": "main", "image": "x"}], **parts}


@pytest.mark.parametrize(
    ("policy", "state", "ending", "phase"),
    [
        pytest.param("Never", ContainerState(Role.MAIN), False, "Pending", id="not-started"),
        pytest.param("Never", ContainerState(Role.MAIN, Attempt(0, "id")), False, "Pending", id="being-launched"),
        pytest.param("Never", ContainerState(Role.MAIN, RUNNING), False, "Running", id="running"),
        pytest.param("Never", ContainerState(Role.MAIN, DONE), False, "Succeeded", id="done"),
        pytest.param("Never", ContainerState(Role.MAIN, FAILED), False, "Failed", id="failed-for-good"),
        pytest.param("OnFailure", ContainerState(Role.MAIN, FAILED), False, "Running", id="will-restart"),
        pytest.param("OnFailure", ContainerState(Role.MAIN, Attempt(1, "id"), FAILED), False, "Running", id="is-restarting"),
        pytest.param("Always", ContainerState(Role.MAIN, DONE), False, "Running", id="always-restarts"),
        pytest.param("Always", ContainerState(Role.MAIN, FAILED), True, "Failed", id="stopped-with-failure"),
        pytest.param("Always", ContainerState(Role.MAIN, DONE), True, "Succeeded", id="stopped-well"),
    ],
)
def test_phase_of_a_single_container(policy: str, state: ContainerState, ending: bool, phase: str) -> None:
    assert pod_phase(spec(policy), {"main": state}, ending=ending) == phase


def status(containers: dict[str, ContainerState], wanted_spec: Any = None, before: Any = None, **observation: Any) -> Any:
    pod = {"metadata": {"name": "p", "generation": 1}, "spec": wanted_spec or spec(), "status": before or {}}
    known = {"host_ip": "10.0.0.1", "pod_ip": "10.1.0.2", "has_sandbox": True, "started_at": 990.0, **observation}
    return pod_status(pod, containers, PodObservation(**known), NOW)


def conditions(shown: Any) -> dict[str, str]:
    return {one["type"]: one["status"] + (f" {one['reason']}" if "reason" in one else "") for one in shown["conditions"]}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(UP, ("True", "True", "True"), id="ready"),
        pytest.param(
            ContainerState(Role.MAIN, RUNNING, started=True),
            ("True", "False ContainersNotReady", "False ContainersNotReady"),
            id="unready",
        ),
        pytest.param(
            ContainerState(Role.MAIN, DONE), ("True PodCompleted", "False PodCompleted", "False PodCompleted"), id="completed"
        ),
        pytest.param(ContainerState(Role.MAIN, FAILED), ("True", "False PodFailed", "False PodFailed"), id="failed"),
    ],
)
def test_conditions(state: ContainerState, expected: tuple[str, str, str]) -> None:
    shown = conditions(status({"main": state}))
    assert (shown["Initialized"], shown["Ready"], shown["ContainersReady"]) == expected
    assert shown["PodScheduled"] == shown["PodReadyToStartContainers"] == "True"


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    old = {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    foreign = {"type": "example.com/gate", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    shown = {one["type"]: one for one in status({"main": UP}, before={"conditions": [old, foreign]})["conditions"]}
    assert shown["Ready"]["lastTransitionTime"] == "2020-01-01T00:00:00Z"
    assert shown["Initialized"]["lastTransitionTime"] == "2026-11-21T12:00:00Z"
    assert shown["example.com/gate"] == foreign


def test_a_readiness_gate_holds_readiness_back() -> None:
    gated = spec(readinessGates=[{"conditionType": "example.com/gate"}])
    shown = status({"main": UP}, gated)
    ready = next(one for one in shown["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ReadinessGatesNotReady")
    assert ready["message"] == 'corresponding condition of pod readiness gate "example.com/gate" does not exist.'


def test_an_uninitialized_pod_names_its_incomplete_containers() -> None:
    wanted = spec(initContainers=[{"name": "a"}, {"name": "b"}])
    shown = status(
        {"a": ContainerState(Role.INIT, DONE), "b": ContainerState(Role.INIT, RUNNING), "main": ContainerState(Role.MAIN)}, wanted
    )
    condition = next(one for one in shown["conditions"] if one["type"] == "Initialized")
    assert (shown["phase"], condition["message"]) == ("Pending", "containers with incomplete status: [b]")
    assert shown["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_a_container_in_back_off_shows_its_last_run() -> None:
    state = ContainerState(Role.MAIN, FAILED._replace(number=2), waiting=Waiting("CrashLoopBackOff", "back-off"))
    shown = status({"main": state}, spec("Always"))["containerStatuses"][0]
    assert shown["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
    assert shown["lastState"]["terminated"]["exitCode"] == 1
    assert shown["restartCount"] == 2


@pytest.mark.parametrize(
    ("state", "phase"), [(ContainerState(Role.MAIN), "Failed"), (ContainerState(Role.MAIN, DONE), "Succeeded")]
)
def test_a_pod_that_ended_has_a_final_phase_whether_it_ever_ran(state: ContainerState, phase: str) -> None:
    assert status({"main": state}, ending=True, ended=True)["phase"] == phase


def test_a_finished_pod_never_changes_its_phase() -> None:
    shown = status({"main": UP}, before={"phase": "Failed", "reason": "Evicted"})
    assert (shown["phase"], shown["reason"]) == ("Failed", "Evicted")
