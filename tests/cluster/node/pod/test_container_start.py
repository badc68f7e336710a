"""What a container that cannot start shows: its status and its events, as kubelet's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shunter.api.meta import Json
from shunter.cluster.node.content.images import Images
from shunter.cluster.node.runtime.namespaces import NamespaceRuntime
from shunter.cluster.node.runtime.plain import PlainRuntime
from shunter.cluster.node.runtime.protocol import ContainerRequest, Level
from shunter.errors import EnvironmentProblem

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


@pytest.mark.parametrize("level", [None, Level.PLAIN])
async def test_a_full_name_that_is_too_long_keeps_the_pod_pending_and_is_an_event(
    node: NodeUnderTest, level: Level | None
) -> None:
    names = {"hostname": "trainer", "subdomain": "s" * 63, "setHostnameAsFQDN": True}
    await node.create("p", {"containers": [{"name": "main", "image": "any", "command": ["true"]}], **names})
    pod = await node.wait("p", lambda status: waiting(status).get("reason") == "ContainerCreating", "waiting")
    assert pod["status"]["phase"] == "Pending"
    message = (await node.event("FailedCreatePodSandBox"))["message"]
    assert message.startswith("Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain")


@pytest.mark.parametrize("images", [Images()])
@pytest.mark.parametrize("level", [None, Level.PLAIN])
async def test_what_the_machine_cannot_do_for_a_container_is_its_error_and_tried_again(
    node: NodeUnderTest, images: Images, level: Level | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(runtime: object, request: ContainerRequest) -> Json:
        raise EnvironmentProblem("The machine has no room for it.", "Make room.")

    with monkeypatch.context() as patched:
        for runtime in (NamespaceRuntime, PlainRuntime):
            patched.setattr(runtime, "attempt_spec", refuse)
        await node.create("p", {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any", "command": ["true"]}]})
        pod = await node.wait("p", lambda status: waiting(status).get("reason") == "CreateContainerError", "refused")
        assert waiting(pod["status"])["message"] == "The machine has no room for it. Make room."
        assert (await node.event("Failed"))["message"] == "Error: The machine has no room for it. Make room."
    assert (await node.finished("p"))["status"]["phase"] == "Succeeded"
