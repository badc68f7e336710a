"""What `kubectl get` shows of a pod."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shunter.cluster.apiserver.printers.pod import PRINTER as POD

Json = dict[str, Any]
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def ago(**delta: float) -> str:
    return (NOW - timedelta(**delta)).strftime("%Y-%m-%dT%H:%M:%SZ")


def container(name: str = "c", **state: Any) -> Json:
    rest: Json = {key: state.pop(key) for key in ("ready", "restartCount", "lastState", "started") if key in state}
    return {"name": name, "state": state, **rest}


RUNNING = container(ready=True, running={})


@pytest.mark.parametrize(
    ("status", "metadata", "shown"),
    [
        pytest.param({"phase": "Pending"}, {}, ("0/1", "Pending", "0"), id="pending"),
        pytest.param({"phase": "Running", "containerStatuses": [RUNNING]}, {}, ("1/1", "Running", "0"), id="running"),
        pytest.param(
            {"phase": "Pending", "containerStatuses": [container(waiting={"reason": "ContainerCreating"})]},
            {},
            ("0/1", "ContainerCreating", "0"),
            id="a waiting container's reason",
        ),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [
                    container(
                        waiting={"reason": "CrashLoopBackOff"},
                        restartCount=3,
                        lastState={"terminated": {"finishedAt": ago(seconds=90)}},
                    )
                ],
            },
            {},
            ("0/1", "CrashLoopBackOff", "3 (90s ago)"),
            id="crash loop with the time of the last restart",
        ),
        pytest.param(
            {"phase": "Succeeded", "containerStatuses": [container(terminated={"exitCode": 0, "reason": "Completed"})]},
            {},
            ("0/1", "Completed", "0"),
            id="completed",
        ),
        pytest.param(
            {"phase": "Failed", "containerStatuses": [container(terminated={"exitCode": 3})]},
            {},
            ("0/1", "ExitCode:3", "0"),
            id="exit code without a reason",
        ),
        pytest.param(
            {"phase": "Failed", "containerStatuses": [container(terminated={"exitCode": 137, "signal": 9})]},
            {},
            ("0/1", "Signal:9", "0"),
            id="signal",
        ),
        pytest.param({"phase": "Failed", "reason": "Evicted"}, {}, ("0/1", "Evicted", "0"), id="the pod's own reason"),
        pytest.param(
            {"phase": "Running", "containerStatuses": [RUNNING]},
            {"deletionTimestamp": ago(seconds=1)},
            ("1/1", "Terminating", "0"),
            id="terminating",
        ),
        pytest.param(
            {"phase": "Pending", "initContainerStatuses": [container("i", running={})]},
            {},
            ("0/2", "Init:0/2", "0"),
            id="init containers at work",
        ),
        pytest.param(
            {"phase": "Pending", "initContainerStatuses": [container("i", terminated={"exitCode": 1, "reason": "Error"})]},
            {},
            ("0/2", "Init:Error", "0"),
            id="failed init container",
        ),
        pytest.param(
            {
                "phase": "Running",
                "initContainerStatuses": [
                    container("i", terminated={"exitCode": 0}),
                    container("side", running={}, started=True, ready=True),
                ],
                "containerStatuses": [RUNNING],
            },
            {},
            ("2/2", "Running", "0"),
            id="a sidecar counts as a container",
        ),
    ],
)
def test_pod_line(status: Json, metadata: Json, shown: tuple[str, str, str]) -> None:
    spec: Json = {"containers": [{"name": "c"}]}
    if "initContainerStatuses" in status or shown[0].endswith("/2"):
        spec["initContainers"] = [{"name": "i"}, {"name": "side", "restartPolicy": "Always"}]
    pod = {"metadata": {"name": "p", "creationTimestamp": ago(minutes=5), **metadata}, "spec": spec, "status": status}
    cells = POD.cells(pod, NOW)
    assert tuple(cells[1:4]) == shown
    assert cells[4] == "5m"
    assert len(cells) == len(POD.columns)
