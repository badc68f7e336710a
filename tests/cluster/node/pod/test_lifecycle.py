"""What a pod needs next, as a value."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cluster.node.pod.containers import Attempt, ContainerState, Role
from shunter.cluster.node.pod.lifecycle import MAX_BACK_OFF, Decision, back_off, decide, decide_stop, next_streak, will_restart
from shunter.cluster.node.pod.status import pod_phase

NOW = 1000.0
RUNNING = Attempt(0, "id", started_at=900.0)
DONE = RUNNING._replace(finished_at=990.0, exit_code=0, reason="Completed")
FAILED = RUNNING._replace(finished_at=990.0, exit_code=1, reason="Error")


def spec(policy: str, *, inits: tuple[str, ...] = (), sidecars: tuple[str, ...] = (), mains: tuple[str, ...] = ("main",)) -> Any:
    return {
        "restartPolicy": policy,
        "initContainers": [{"name": name} for name in inits] + [{"name": name, "restartPolicy": "Always"} for name in sidecars],
        "containers": [{"name": name} for name in mains],
    }


def init(attempt: Attempt | None = None, **known: Any) -> ContainerState:
    return ContainerState(Role.INIT, attempt, **known)


def sidecar(attempt: Attempt | None = None, **known: Any) -> ContainerState:
    return ContainerState(Role.SIDECAR, attempt, **known)


def ephemeral(attempt: Attempt | None = None) -> ContainerState:
    return ContainerState(Role.EPHEMERAL, attempt)


def main(attempt: Attempt | None = None, **known: Any) -> ContainerState:
    return ContainerState(Role.MAIN, attempt, **known)


@pytest.mark.parametrize(
    ("wanted_spec", "containers", "decision"),
    [
        pytest.param(
            spec("Always", mains=("a", "b")),
            {"a": main(), "b": main()},
            Decision(("a", "b")),
            id="mains-start-together",
        ),
        pytest.param(
            spec("Never", inits=("i", "j")),
            {"i": init(), "j": init(), "main": main()},
            Decision(("i",)),
            id="init-containers-start-one-by-one",
        ),
        pytest.param(
            spec("Never", inits=("i", "j")),
            {"i": init(DONE), "j": init(), "main": main()},
            Decision(("j",)),
            id="next-init",
        ),
        pytest.param(spec("Never", inits=("i",)), {"i": init(RUNNING), "main": main()}, Decision(), id="init-still-runs"),
        pytest.param(spec("Never", inits=("i",)), {"i": init(DONE), "main": main()}, Decision(("main",)), id="initialized"),
        pytest.param(
            spec("Never", inits=("i",)),
            {"i": init(FAILED), "main": main()},
            Decision(finished=True),
            id="init-fails-pod",
        ),
        pytest.param(
            spec("OnFailure", inits=("i",)),
            {"i": init(FAILED), "main": main()},
            Decision(("i",)),
            id="failed-init-restarts-at-once-the-first-time",
        ),
        pytest.param(
            spec("Never", sidecars=("s",)),
            {"s": sidecar(RUNNING), "main": main()},
            Decision(),
            id="main-waits-for-the-sidecars-startup-probe",
        ),
        pytest.param(
            spec("Never", sidecars=("s",)),
            {"s": sidecar(RUNNING, started=True), "main": main()},
            Decision(("main",)),
            id="main-starts-beside-a-started-sidecar",
        ),
        pytest.param(
            spec("Never", sidecars=("s",)),
            {"s": sidecar(DONE), "main": main(RUNNING)},
            Decision(("s",)),
            id="sidecar-restarts-while-main-runs",
        ),
        pytest.param(
            spec("Never", sidecars=("s",)),
            {"s": sidecar(RUNNING), "main": main(DONE)},
            Decision(stop=("s",)),
            id="sidecar-stops-when-main-is-done",
        ),
        pytest.param(spec("Never"), {"main": main(FAILED)}, Decision(finished=True), id="never-restart"),
        pytest.param(spec("OnFailure"), {"main": main(DONE)}, Decision(finished=True), id="success-is-not-restarted"),
        pytest.param(spec("Always"), {"main": main(DONE)}, Decision(("main",)), id="always-restarts-success-too"),
        pytest.param(
            spec("OnFailure"),
            {"main": main(FAILED, streak=1)},
            Decision(("main",)),
            id="back-off-is-over",
        ),
        pytest.param(
            spec("OnFailure"),
            {"main": main(FAILED, streak=2)},
            Decision(back_off=(("main", 10.0),)),
            id="in-back-off",
        ),
    ],
)
def test_the_next_step(wanted_spec: Any, containers: dict[str, ContainerState], decision: Decision) -> None:
    assert decide(wanted_spec, containers, NOW) == decision


def rule(operator: str, *values: int) -> Any:
    return {"action": "Restart", "exitCodes": {"operator": operator, "values": list(values)}}


@pytest.mark.parametrize(
    ("policy", "container", "role", "code", "restarts"),
    [
        pytest.param("Always", {"restartPolicy": "Never"}, Role.MAIN, 1, False, id="never-of-its-own"),
        pytest.param("Never", {"restartPolicy": "OnFailure"}, Role.MAIN, 1, True, id="on-failure-of-its-own"),
        pytest.param("Never", {"restartPolicy": "OnFailure"}, Role.MAIN, 0, False, id="success"),
        pytest.param("Never", {"restartPolicy": "Always"}, Role.MAIN, 0, True, id="always-of-its-own"),
        pytest.param("Never", {"restartPolicyRules": [rule("In", 42)]}, Role.MAIN, 42, True, id="a-rule-is-met"),
        pytest.param("Never", {"restartPolicyRules": [rule("In", 42)]}, Role.MAIN, 1, False, id="no-rule-is-met"),
        pytest.param("Never", {"restartPolicyRules": [rule("NotIn", 1)]}, Role.MAIN, 42, True, id="not-in"),
        pytest.param("OnFailure", {"restartPolicy": "Never"}, Role.INIT, 1, False, id="init-container"),
        pytest.param("Always", {"restartPolicyRules": [rule("In", 0)]}, Role.INIT, 0, False, id="init-container-that-is-done"),
    ],
)
def test_a_containers_own_policy_and_rules_go_before_the_pods(
    policy: str, container: Any, role: Role, code: int, *, restarts: bool
) -> None:
    assert will_restart({"restartPolicy": policy}, {"restartPolicy": "Never", **container}, role, code) is restarts


def test_a_pod_goes_on_while_a_container_restarts_by_its_own_rules() -> None:
    wanted = spec("Never")
    wanted["containers"] = [{"name": "main", "restartPolicy": "Never", "restartPolicyRules": [rule("In", 1)]}]
    assert decide(wanted, {"main": main(FAILED)}, NOW).start == ("main",)
    assert pod_phase(wanted, {"main": main(FAILED)}, ending=False) == "Running"
    assert pod_phase(wanted, {"main": main(FAILED)}, ending=True) == "Failed"


def test_sidecars_stop_after_the_others_from_last_to_first() -> None:
    wanted = spec("Never", sidecars=("s", "t"))
    containers = {"s": sidecar(RUNNING), "t": sidecar(RUNNING), "main": main(RUNNING)}
    order = []
    while not (decision := decide_stop(wanted, containers)).finished:
        order.append(decision.stop)
        for name in decision.stop:
            containers[name] = containers[name]._replace(attempt=DONE)
    assert order == [("main",), ("t",), ("s",)]


def test_back_off_doubles_up_to_five_minutes() -> None:
    assert [back_off(streak, MAX_BACK_OFF) for streak in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_node_may_have_a_shorter_longest_back_off() -> None:
    assert [back_off(streak, 25.0) for streak in range(5)] == [0, 10, 20, 25, 25]
    assert back_off(1, 2.0) == 2.0
    containers = {"main": main(FAILED, streak=2)}
    assert decide(spec("OnFailure"), containers, NOW, max_period=14.0).back_off == (("main", 4.0),)


def test_back_off_starts_over_after_ten_minutes_of_running() -> None:
    long_run = Attempt(7, "id", started_at=100.0, finished_at=800.0, exit_code=1)
    assert next_streak(main(long_run, streak=7)) == 1
    assert decide(spec("Always"), {"main": main(long_run, streak=7)}, 800.0).start == ("main",)


def looked_into(target: str = "") -> Any:
    return {**spec("Never"), "ephemeralContainers": [{"name": "look", **({"targetContainerName": target} if target else {})}]}


@pytest.mark.parametrize(
    ("target", "looks", "mains", "decision"),
    [
        ("", ephemeral(), main(RUNNING), Decision(("look",))),
        ("main", ephemeral(), main(RUNNING), Decision(("look",))),
        ("main", ephemeral(), main(Attempt(0, "id")), Decision()),
        ("", ephemeral(RUNNING), main(RUNNING), Decision()),
        ("", ephemeral(FAILED), main(RUNNING), Decision()),
        ("", ephemeral(RUNNING), main(DONE), Decision(stop=("look",))),
        ("", ephemeral(), main(DONE), Decision(finished=True)),
    ],
    ids=[
        "starts at once",
        "starts beside its target",
        "waits for its target",
        "runs",
        "is never restarted",
        "ends with the pod",
        "does not keep a pod that has ended",
    ],
)
def test_an_ephemeral_container_runs_once_and_decides_nothing(
    target: str, looks: ContainerState, mains: ContainerState, decision: Decision
) -> None:
    containers = {"main": mains, "look": looks}
    assert decide(looked_into(target), containers, NOW) == decision
    assert pod_phase(looked_into(target), containers, ending=False) == pod_phase(spec("Never"), {"main": mains}, ending=False)
