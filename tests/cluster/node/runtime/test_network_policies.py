"""NetworkPolicies on a node where what follows from them cannot be done at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from shunter.api.meta import ObjectMeta
from shunter.api.network_policies import NetworkPod, NetworkPolicy, World
from shunter.cluster.node.runtime.launcher import Launcher, LauncherError
from shunter.cluster.node.runtime.network_policies import Failures, NetworkPolicies, PacketFilters
from shunter.kube.client import Client

pytestmark = pytest.mark.integration

DEADLINE_SECONDS = 30.0


class OutOfDescriptors:
    """An enforcement whose first request cannot be sent."""

    def __init__(self) -> None:
        self.requests = 0
        self.succeeded = asyncio.Event()

    def adopt(self, uids: Iterable[str]) -> None:
        """There is no earlier agent."""

    async def bring_up_to_date(self, world: World) -> Failures:
        self.requests += 1
        if self.requests == 1:
            return {"1": OSError(24, "Too many open files")}
        self.succeeded.set()
        return {}


async def test_a_change_that_could_not_be_sent_is_tried_again(client: Client) -> None:
    enforcement = OutOfDescriptors()
    policies = NetworkPolicies(client, pods=list, name_server="10.0.0.1")
    async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as group:
        following = group.create_task(_begun(policies, enforcement))
        await enforcement.succeeded.wait()
        policies.stop()
        following.cancel()


async def _begun(policies: NetworkPolicies, enforcement: OutOfDescriptors) -> None:
    """One change, and no other that would have it tried again; ends when it is cancelled."""
    async with asyncio.TaskGroup() as group:
        await policies.begin(group, enforcement, "", [])
        policies.changed()


def world(*uids: str) -> World:
    """Pods that nothing may reach."""
    metadata, spec = ObjectMeta(name="deny", namespace="a"), {"podSelector": {}, "policyTypes": ["Ingress"]}
    pods = [NetworkPod(uid, "a", uid, {}, f"10.0.0.{number}") for number, uid in enumerate(uids, 2)]
    return World([NetworkPolicy(metadata=metadata, spec=spec)], {"a": {}}, pods, "10.0.0.1")


async def test_a_launcher_that_cannot_be_started_is_why_a_pod_has_no_filter(tmp_path: Path) -> None:
    network = tmp_path / "net"
    network.touch()
    launcher = Launcher(tmp_path / "absent" / "log")
    failures = await PacketFilters(launcher, network_of=lambda uid: network, trusted="10.0.0.1").bring_up_to_date(world("one"))
    assert {uid: type(error) for uid, error in failures.items()} == {"one": FileNotFoundError}


class HalfRefused(Launcher):
    """Refuses the filter of one pod, and sets that of another when it may."""

    def __init__(self) -> None:
        super().__init__(Path("log"))
        self.refused = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def request(self, do: str, **arguments: object) -> None:
        if arguments["namespace"] == "/dev/null":
            self.refused.set()
            raise LauncherError("Invalid argument")
        await self.may_go_on.wait()


async def test_a_filter_that_is_refused_ends_nothing_while_others_are_under_way() -> None:
    launcher = HalfRefused()
    places = {"one": Path("/dev/null"), "other": Path("/dev/zero")}
    setting = asyncio.ensure_future(
        PacketFilters(launcher, network_of=places.__getitem__, trusted="10.0.0.1").bring_up_to_date(world("one", "other"))
    )
    async with asyncio.timeout(DEADLINE_SECONDS):
        await launcher.refused.wait()
        for _ in range(10):
            await asyncio.sleep(0)  # whatever would end by the refusal alone has ended then
        assert not setting.done()
        launcher.may_go_on.set()
        assert list(await setting) == ["one"]
