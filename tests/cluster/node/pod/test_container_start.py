"""What a container that cannot start shows: its status and its events, as kubelet's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shunter.api.meta import Json
from shunter.cluster.node.content.images import Images

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

pytestmark = pytest.mark.e2e


@pytest.fixture
def images() -> Images:
    """Those of `up --strict-images`."""
    return Images(strict=True)


def waiting(status: Json) -> Json:
    state: Json = status["containerStatuses"][0]["state"] if status.get("containerStatuses") else {}
    shown: Json = state.get("waiting") or {}
    return shown


async def test_an_image_without_environment_cannot_be_pulled(node: NodeUnderTest) -> None:
    await node.create("p", {"containers": [{"name": "main", "image": "team/none:1", "command": ["true"]}]})
    pod = await node.wait("p", lambda status: waiting(status).get("reason") == "ErrImagePull", "refused")
    assert 'image "team/none:1" has no environment on this machine' in waiting(pod["status"])["message"]
    assert pod["status"]["phase"] == "Pending"
    assert (await node.event("Failed"))["message"].startswith('Failed to pull image "team/none:1": ')
    pod = await node.wait("p", lambda status: waiting(status).get("reason") == "ImagePullBackOff", "backing off")
    assert waiting(pod["status"])["message"].startswith('Back-off pulling image "team/none:1": ErrImagePull: ')
