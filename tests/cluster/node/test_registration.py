"""What the Node says, and when it has to be said again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from shunter.api.meta import Json
from shunter.cluster.node.registration import PROCESS_NODE, Description, is_outdated, node_body, node_status, refusal
from shunter.cluster.node.runtime.levels import Finding
from shunter.cluster.node.runtime.protocol import Level

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
GUEST = Description(
    "n",
    "192.0.2.1",
    10250,
    Finding(Level.PLAIN, "because"),
    {"cpu": Fraction(2), "memory": Fraction(2**34)},
    {"cpu": Fraction(64), "memory": Fraction(2**38), "nvidia.com/gpu": Fraction(8)},
    tainted=True,
)


def test_only_a_guest_is_tainted_and_every_node_is_labelled() -> None:
    body, own = node_body(GUEST), node_body(GUEST._replace(tainted=False))
    assert body["spec"]["taints"] == [{"key": PROCESS_NODE, "effect": "NoSchedule"}]
    assert own["spec"] == {}
    assert body["metadata"]["labels"][PROCESS_NODE] == own["metadata"]["labels"][PROCESS_NODE] == "true"


def test_the_scheduler_is_told_what_is_claimed_and_people_what_is_there() -> None:
    status = node_status(GUEST, {}, NOW)
    assert status["capacity"] == {"cpu": "2", "memory": "16777216Ki"}
    assert status["allocatable"] == {"cpu": "64", "memory": "268435456Ki", "nvidia.com/gpu": "8"}


def test_conditions_of_others_stay() -> None:
    theirs = {"type": "KernelDeadlock", "status": "False"}
    assert theirs in node_status(GUEST, {"conditions": [theirs]}, NOW)["conditions"]


def test_a_disk_with_little_room_is_a_condition_that_is_written_at_once() -> None:
    short = GUEST._replace(disk_shortage="make room on the disk of /x")
    before = node_status(GUEST, {}, NOW)
    pressure = {one["type"]: (one["status"], one["message"]) for one in node_status(short, before, NOW)["conditions"]}
    assert pressure["DiskPressure"] == ("True", "kubelet has disk pressure: make room on the disk of /x")
    assert is_outdated(short, before, NOW)
    assert is_outdated(GUEST, node_status(short, before, NOW), NOW)


def unreachable(status: Json) -> Json:
    return {**status, "conditions": [{**one, "status": "Unknown"} for one in status["conditions"]]}


@pytest.mark.parametrize(
    ("change", "age", "outdated"),
    [
        pytest.param(lambda status: status, 299, False, id="as-it-should-be"),
        pytest.param(lambda status: status, 300, True, id="five-minutes-old"),
        pytest.param(unreachable, 0, True, id="declared-unreachable"),
        pytest.param(lambda status: {**status, "addresses": []}, 0, True, id="another-address"),
        pytest.param(lambda status: {**status, "allocatable": {}}, 0, True, id="allocatable-missing"),
        pytest.param(
            lambda status: {**status, "allocatable": {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8"}},
            0,
            False,
            id="quantities-in-the-servers-form",
        ),
        pytest.param(lambda status: {}, 0, True, id="nothing"),
    ],
)
def test_the_status_is_written_again_only_when_it_must(change: object, age: float, outdated: bool) -> None:
    status = node_status(GUEST, {}, NOW)
    assert is_outdated(GUEST, change(status), NOW + timedelta(seconds=age)) is outdated  # type: ignore[operator]


@pytest.mark.parametrize(
    ("tolerations", "runs"),
    [
        pytest.param([{"key": PROCESS_NODE, "operator": "Exists"}], True, id="by-key"),
        pytest.param([{"operator": "Exists"}], False, id="everything"),
        pytest.param([{"key": "other", "operator": "Exists"}], False, id="something-else"),
        pytest.param(None, False, id="nothing"),
    ],
)
def test_only_pods_that_name_the_taint_run(tolerations: object, runs: bool) -> None:
    assert (refusal({"tolerations": tolerations}) == "") is runs
