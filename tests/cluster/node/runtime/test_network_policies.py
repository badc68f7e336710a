"""NetworkPolicies on a node where what follows from them cannot be done at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from shunter.cluster.node.net.policies import World
from shunter.cluster.node.runtime.network_policies import NetworkPolicies
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

    async def bring_up_to_date(self, world: World) -> None:
        self.requests += 1
        if self.requests == 1:
            raise OSError(24, "Too many open files")
        self.succeeded.set()


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
