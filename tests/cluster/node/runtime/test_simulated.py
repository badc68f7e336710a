"""Level `simulated`: pods without processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shunter.api.resources import PODS
from shunter.cluster.node.runtime.protocol import Level
from shunter.cluster.node.runtime.simulated import EXIT_CODE_ANNOTATION, SECONDS_ANNOTATION

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

SPEC = {
    "restartPolicy": "Never",
    "containers": [{"name": "main", "image": "any"}],
    "initContainers": [{"name": "i", "image": "any"}],
}


@pytest.fixture
def level() -> Level:
    return Level.SIMULATED


async def test_a_pod_runs_at_once_and_for_ever(node: NodeUnderTest) -> None:
    await node.create("p", SPEC)
    pod = await node.ready("p")
    assert pod["status"]["phase"] == "Running"
    assert pod["status"]["podIP"]
    assert pod["status"]["initContainerStatuses"][0]["ready"]
    await node.client.delete(PODS, "p", node.namespace)
    await node.gone("p")


@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("3", "Failed")])
async def test_a_pod_ends_as_its_annotations_say(node: NodeUnderTest, code: str, phase: str) -> None:
    await node.create("p", SPEC, annotations={SECONDS_ANNOTATION: "0.1", EXIT_CODE_ANNOTATION: code})
    pod = await node.finished("p")
    assert pod["status"]["phase"] == phase
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == int(code)


async def test_a_pod_that_somebody_keeps_ends_before_it_goes(node: NodeUnderTest) -> None:
    await node.create("p", SPEC, finalizers=["example.com/wait"])
    await node.ready("p")
    await node.client.delete(PODS, "p", node.namespace)
    assert (await node.finished("p"))["status"]["phase"] == "Failed"
    await node.client.patch(PODS, "p", node.namespace, {"metadata": {"finalizers": None}})
    await node.gone("p")


async def test_an_annotation_that_is_no_number_is_none(node: NodeUnderTest) -> None:
    await node.create("p", SPEC, annotations={SECONDS_ANNOTATION: "2m"})
    assert (await node.ready("p"))["status"]["phase"] == "Running"


async def test_a_restarted_node_ends_pods_in_time(node: NodeUnderTest) -> None:
    await node.create("p", SPEC, annotations={SECONDS_ANNOTATION: "1"})
    await node.ready("p")
    await node.stop()
    await node.start()
    assert (await node.finished("p"))["status"]["phase"] == "Succeeded"
