"""Following objects: which silences of the server are told."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from fault_transport import Disconnect, FaultTransport, Refuse
from kube.peer import Peer
from shunter.api.resources import CONFIG_MAPS
from shunter.kube import watching
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, ConnectionProblem, ServiceUnavailable, TooManyRequests
from shunter.kube.retry import RetryPolicy
from shunter.kube.watching import follow

pytestmark = pytest.mark.integration


async def test_a_silence_is_told_again_when_it_is_of_another_kind(
    peer: Peer, faults: FaultTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a server that shuts down, is away, and starts."""
    monkeypatch.setattr(watching, "RETRY_SECONDS", 0.001)
    await peer.put("/api/v1/configmaps", {"metadata": {"name": "a", "namespace": "n"}})
    for fault in (Refuse(503), Disconnect(), Refuse(429)):
        faults.inject(fault, times=3)
    told: list[ApiError] = []
    client = Client(faults, retry=RetryPolicy(attempts=1))
    async with aclosing(follow(client, CONFIG_MAPS, "n", on_silence=told.append)) as changes:
        assert (await anext(changes)).object["metadata"]["name"] == "a"
    assert [type(one) for one in told] == [ServiceUnavailable, ConnectionProblem, TooManyRequests]
