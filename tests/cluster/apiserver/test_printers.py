"""What `kubectl get` shows of an object."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shunter.api.resources import Resource
from shunter.cluster.apiserver.kinds import Column, Kind, Schema
from shunter.cluster.apiserver.printers.columns import format_selector, human_duration
from shunter.cluster.apiserver.printers.custom import custom_printer
from shunter.cluster.apiserver.printers.json_path import compiled, values
from shunter.cluster.apiserver.printers.pod import PRINTER as POD
from shunter.cluster.apiserver.printers.workloads import PRINTERS as WORKLOADS

Json = dict[str, Any]
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def ago(**delta: float) -> str:
    return (NOW - timedelta(**delta)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 120, "3h2m"),
        (8 * 3600 + 120, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (8 * 86400, "8d"),
        (500 * 86400, "500d"),
        (800 * 86400, "2y70d"),
        (3000 * 86400, "8y"),
    ],
)
def test_durations_read_as_in_kubectl(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


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


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        ({"completions": 3}, {"succeeded": 1}, ["Running", "1/3", ""]),
        ({"parallelism": 4}, {}, ["Running", "0/1 of 4", ""]),
        ({}, {"startTime": ago(seconds=30)}, ["Running", "0/1", "30s"]),
        (
            {"completions": 1},
            {
                "succeeded": 1,
                "startTime": ago(seconds=30),
                "completionTime": ago(seconds=20),
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ["Complete", "1/1", "10s"],
        ),
        ({"completions": 1}, {"conditions": [{"type": "Suspended", "status": "True"}]}, ["Suspended", "0/1", ""]),
    ],
)
def test_job_line(spec: Json, status: Json, shown: list[str]) -> None:
    job = {"metadata": {"name": "j", "creationTimestamp": ago(hours=1)}, "spec": spec, "status": status}
    assert WORKLOADS["batch", "Job"].cells(job, NOW)[1:4] == shown


DOCUMENT = {
    "spec": {"replicas": 2, "a.b": {"c": "dotted"}, "list": [1, 2, 3]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Done", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [2]),
        ("{.spec.replicas}", [2]),
        (".spec.missing.deeper", []),
        (r".spec.a\.b.c", ["dotted"]),
        (".spec['a.b'].c", ["dotted"]),
        (".spec.list[0]", [1]),
        (".spec.list[-1]", [3]),
        (".spec.list[-1:]", [3]),
        (".spec.list[0:2]", [1, 2]),
        (".spec.list[*]", [1, 2, 3]),
        (".spec.list[9]", []),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='None')].status", []),
        (".status.conditions[-1:].type", ["Done"]),
    ],
)
def test_json_path(path: str, found: list[Any]) -> None:
    assert values(compiled(path), DOCUMENT) == found


def test_what_is_no_json_path_is_refused() -> None:
    with pytest.raises(ValueError, match="unrecognized JSONPath"):
        compiled(".spec[")


def test_selectors_are_shown_in_their_own_notation() -> None:
    selector = {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["q", "p"]}, {"key": "y", "operator": "Exists"}],
    }
    assert format_selector(selector) == "a=1,b=2,x notin (p,q),y"


@pytest.mark.parametrize("text", ["soon", "9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00"])
def test_what_is_no_date_on_any_calendar_is_shown_as_invalid(text: str) -> None:
    def no_schema() -> Schema:
        raise AssertionError("printing needs none")

    thing = Kind(
        resource=Resource("x.io", "v1", "Thing", "things"), schema=no_schema, columns=(Column("When", "date", ".spec.when"),)
    )
    cells = custom_printer(thing).cells({"metadata": {"name": "a"}, "spec": {"when": text}}, NOW)
    assert cells == ["a", "<invalid>"]


WHOLE_NUMBERS = {
    ("apps", "ReplicaSet"): ["Desired", "Current", "Ready"],
    ("apps", "DaemonSet"): ["Desired", "Current", "Ready", "Up-to-date", "Available"],
    ("policy", "PodDisruptionBudget"): ["Allowed Disruptions"],
}


@pytest.mark.parametrize("kind", WHOLE_NUMBERS, ids=[kind for _, kind in WHOLE_NUMBERS])
def test_counts_are_columns_of_whole_numbers(kind: tuple[str, str]) -> None:
    """Clients sort such columns as numbers."""
    assert [one.name for one in WORKLOADS[kind].columns if one.type == "integer"] == WHOLE_NUMBERS[kind]
