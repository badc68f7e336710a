"""Which GPUs a container gets: the rule, and pods on a node that is told to have some."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import GPU
from shunter.cluster.node.gpus import Gpus, assign
from shunter.cluster.node.layout import PodDirectory
from shunter.cluster.node.resources import requested
from shunter.cluster.node.runtime.protocol import Level

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

SHOW = "echo gpus=$CUDA_VISIBLE_DEVICES; while ! test -e %s; do sleep 0.05; done"


def asking(name: str, gpus: int | str, **more: object) -> Json:
    return {"name": name, "resources": {"limits": {"nvidia.com/gpu": gpus}}, **more}


@pytest.mark.parametrize(
    ("spec", "users", "expected"),
    [
        pytest.param({"containers": [asking("a", 2)]}, {}, {"a": [0, 1]}, id="the first that are free"),
        pytest.param({"containers": [asking("a", "2")]}, {0: 1, 2: 1}, {"a": [1, 3]}, id="not those that others have"),
        pytest.param({"containers": [asking("a", 1), asking("b", 2)]}, {}, {"a": [0], "b": [1, 2]}, id="each container its own"),
        pytest.param({"containers": [{"name": "a"}]}, {}, {}, id="who asks for none is given none"),
        pytest.param({"containers": [asking("a", 9)]}, {}, {"a": [0, 1, 2, 3]}, id="more than there are"),
        pytest.param({"containers": [asking("a", 2)]}, {0: 2, 1: 1, 2: 1, 3: 1}, {"a": [1, 2]}, id="the least used is shared"),
        pytest.param(
            {"initContainers": [asking("i", 2)], "containers": [asking("a", 1), asking("b", 1)]},
            {},
            {"i": [0, 1], "a": [0], "b": [1]},
            id="an init container has ended when the others start",
        ),
        pytest.param(
            {"initContainers": [asking("s", 1, restartPolicy="Always")], "containers": [asking("a", 1)]},
            {},
            {"s": [0], "a": [1]},
            id="a sidecar runs beside the others",
        ),
    ],
)
def test_containers_are_given(spec: Json, users: dict[int, int], expected: dict[str, list[int]]) -> None:
    assert assign({"containers": [], **spec}, 4, users) == expected


@pytest.mark.parametrize(
    ("resources", "gpus"),
    [
        pytest.param({"limits": {GPU: 2}}, 2, id="limits alone are requests"),
        pytest.param({"limits": {GPU: 2}, "requests": {GPU: 2}}, 2, id="both are equal"),
        pytest.param({"limits": {GPU: 2}, "requests": {GPU: 1}}, 2, id="limits are the truth where an old object differs"),
        pytest.param({"limits": None, "requests": {GPU: 1}}, 1, id="requests alone"),
    ],
)
def test_a_container_is_given_as_many_as_the_node_reckons_that_it_asks_for(resources: Json, gpus: int) -> None:
    spec = {"containers": [{"name": "a", "resources": resources}]}
    assert len(assign(spec, 4, {})["a"]) == requested(spec)[GPU] == gpus


def test_a_machine_without_gpus_has_none_to_give() -> None:
    assert assign({"containers": [asking("a", 2)]}, 0, {}) == {}


@pytest.fixture
def level() -> Level:
    return Level.PLAIN


@pytest.fixture
def capacity() -> dict[str, Fraction]:
    return {"cpu": Fraction(2), "memory": Fraction(2**34), "pods": Fraction(100), "nvidia.com/gpu": Fraction(2)}


async def test_pods_have_gpus_of_their_own_until_they_end(node: NodeUnderTest) -> None:
    """An agent that takes over knows what the one before it gave."""
    end = node.directory.parent / "end"

    async def start(name: str) -> None:
        main = {**asking("main", 1), "image": "any", "command": ["sh", "-c", SHOW % (end / name)]}
        await node.create(name, {"restartPolicy": "Never", "containers": [main]})
        await node.wait(name, lambda status: status.get("phase") == "Running", "running")

    async def gpus(name: str) -> str:
        async def has_written() -> bool:
            return bool(await node.log(name))

        await node.until(has_written)
        return (await node.log(name)).strip()

    end.mkdir()
    await start("one")
    await node.stop()
    await node.start()
    await node.wait_for_log_server()
    await start("two")
    assert [await gpus("one"), await gpus("two")] == ["gpus=0", "gpus=1"]

    await start("three")
    assert await gpus("three") == "gpus=0"
    assert "GPU 0 is used by another pod, too" in (await node.event("InsufficientResources"))["message"]

    (end / "two").touch()
    await node.finished("two")
    await start("four")
    assert await gpus("four") == "gpus=1"
    for name in ("one", "three", "four"):
        (end / name).touch()
        await node.finished(name)


async def test_what_the_user_sets_stays(node: NodeUnderTest) -> None:
    own = [{"name": "CUDA_VISIBLE_DEVICES", "value": "7"}]
    await node.run_shell("own", "echo gpus=$CUDA_VISIBLE_DEVICES", env=own, resources=asking("", 1)["resources"])
    assert (await node.log("own")).strip() == "gpus=7"


def test_gpus_of_a_pod_that_cannot_be_read_are_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Gpus(2).restore(PodDirectory(tmp_path / "none"))
    assert not caplog.text, "a pod without GPUs"
    pod = PodDirectory(tmp_path / "uid-1")
    pod.path.mkdir()
    pod.gpus_file.write_text('{"a": [0')
    gpus = Gpus(2)
    gpus.restore(pod)
    assert "Which GPUs pod uid-1 has cannot be read" in caplog.text
    assert gpus.of("uid-1", "a") == []


def test_gpus_that_cannot_be_stored_are_given_and_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "pods").touch()
    gpus = Gpus(2)
    assert gpus.give({"containers": [asking("a", 1)]}, PodDirectory(tmp_path / "pods/uid-1")) == []
    assert gpus.of("uid-1", "a") == [0]
    assert "Which GPUs pod uid-1 has was not stored" in caplog.text
