"""How the containers of a pod that is deleted are stopped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from shunter.api.resources import PODS
from shunter.cluster.node.runtime.protocol import Level

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

pytestmark = pytest.mark.e2e


@pytest.fixture(params=[None, Level.PLAIN], ids=["best-level", "plain"])
def level(request: pytest.FixtureRequest) -> Level | None:
    level: Level | None = request.param
    return level


async def test_sigterm_comes_first_and_the_grace_period_ends_it(node: NodeUnderTest) -> None:
    script = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True))\n"
        "print('up', flush=True)\n"
        "while True: time.sleep(60)\n"
    )
    main = {"name": "main", "image": "any", "command": ["python", "-c", script]}
    pod = await node.create("p", {"terminationGracePeriodSeconds": 1, "containers": [main]})
    await node.ready("p")
    follower = asyncio.create_task(node.log("p", follow=True))
    await node.eventually(lambda: b"up" in (node.attempts(pod["metadata"]["uid"]) / "0" / "log").read_bytes())
    started = asyncio.get_running_loop().time()
    await node.client.delete(PODS, "p", node.namespace)
    await node.gone("p")
    assert 0.9 < asyncio.get_running_loop().time() - started < 5
    assert await follower == "up\nasked\n"


async def test_sigterm_comes_when_the_pre_stop_hook_has_ended(node: NodeUnderTest) -> None:
    script = (
        "import os, signal, sys, time\n"
        "def asked(*_):\n"
        "    print('after' if os.path.exists(os.environ['DIR'] + '/hooked') else 'before', 'the hook', flush=True)\n"
        "    sys.exit()\n"
        "signal.signal(signal.SIGTERM, asked)\n"
        "print('up', flush=True)\n"
        "while True: time.sleep(60)\n"
    )
    main = {
        "name": "main", "image": "any", "command": ["python", "-c", script], "env": [{"name": "DIR", "value": "/shared"}],
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "sleep 0.2; touch $DIR/hooked"]}}},
        "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
    }  # fmt: skip
    pod = await node.create("p", {"containers": [main], "volumes": [{"name": "shared", "emptyDir": {}}]})
    await node.ready("p")
    follower = asyncio.create_task(node.log("p", follow=True))
    await node.eventually(lambda: b"up" in (node.attempts(pod["metadata"]["uid"]) / "0" / "log").read_bytes())
    await node.client.delete(PODS, "p", node.namespace)
    await node.gone("p")
    assert await follower == "up\nafter the hook\n"
