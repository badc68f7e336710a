"""A node on an API server: real processes at the level under test; every test has a node and a namespace of its own."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from shunter.api.meta import Json
from shunter.api.resources import CORE_EVENTS, NAMESPACES, NODES, PODS
from shunter.cluster.node.content.images import Images
from shunter.cluster.node.node import Node
from shunter.cluster.node.resources import Capacity
from shunter.cluster.node.runtime.protocol import HostPort, Level
from shunter.cluster.node.server.access import CredentialGuard, KubeletAccess
from shunter.cluster.node.teardown import teardown
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.errors import NotFound
from shunter.kube.kubeconfig import Connection
from shunter.kube.tls.certificates import KeyPair, issue

DEADLINE_SECONDS = 30.0
_numbers = itertools.count()


class NodeUnderTest:
    """A running node with what a test needs to drive it."""

    def __init__(
        self,
        connection: Connection,
        client: Client,
        authority: KeyPair,
        directory: Path,
        level: Level | None,
        images: Images,
        capacity: Capacity | None,
        warm_modules: tuple[str, ...] = (),
    ) -> None:
        self.connection = connection
        self.client = client
        self.name = f"node-{next(_numbers)}"
        self.namespace = f"test-{self.name}"
        self.directory = directory
        self.level = level
        self._authority = authority
        self._images = images
        self._capacity = capacity
        self._warm_modules = warm_modules
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        serving = issue(self._authority, self.name, ["127.0.0.1"])
        self.node = Node(
            self.client,
            name=self.name,
            api_server=HostPort(*self.connection.address),
            directory=self.directory,
            access=KubeletAccess(serving, self._authority.certificate, CredentialGuard()),
            images=self._images,
            level=self.level,
            capacity=self._capacity,
            warm_modules=self._warm_modules,
        )
        self._task = asyncio.create_task(self.node.run())
        ready = asyncio.create_task(self.node.ready.wait())
        await asyncio.wait([self._task, ready], return_when=asyncio.FIRST_COMPLETED, timeout=DEADLINE_SECONDS)
        ready.cancel()
        if self._task.done():
            self._task.result()

    async def stop(self) -> None:
        """Stops the agent in good order; pods run on."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def create(self, name: str, spec: Json, **metadata: object) -> Json:
        """Creates a pod that is bound to this node already."""
        metadata = {"name": name, "namespace": self.namespace, **metadata}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": self.name, **spec}}
        return await self.client.create(PODS, body, view=dict)

    async def run_shell(self, name: str, script: str, **container: object) -> Json:
        """Runs a script in a pod that is not restarted, to its end."""
        main = {"name": "main", "image": "any", "command": ["sh", "-c", script], **container}
        await self.create(name, {"restartPolicy": "Never", "containers": [main]})
        return await self.finished(name)

    async def pod(self, name: str) -> Json:
        return await self.client.get(PODS, name, self.namespace, view=dict)

    async def wait(self, name: str, condition: Callable[[Json], object], what: str) -> Json:
        """The pod once its status fulfils a condition."""
        pod: Json = {}
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                while True:
                    pod = await self.pod(name)
                    if condition(pod.get("status") or {}):
                        return pod
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"pod {name} never was {what}: {pod.get('status')}") from None

    async def finished(self, name: str) -> Json:
        return await self.wait(name, lambda status: status.get("phase") in ("Succeeded", "Failed"), "finished")

    async def ready(self, name: str) -> Json:
        return await self.wait(
            name, lambda s: any(c["type"] == "Ready" and c["status"] == "True" for c in s.get("conditions") or ()), "ready"
        )

    async def eventually(self, condition: Callable[[], object]) -> None:
        """Returns once something outside the API is so."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not condition():  # noqa: ASYNC110 -- files and processes send no events to tests
                await asyncio.sleep(0.02)

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Returns once a question to the cluster is answered with yes."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not await condition():  # noqa: ASYNC110 -- the API has no event for it
                await asyncio.sleep(0.02)

    async def wait_for_log_server(self) -> None:
        """Returns once the agent that registered last answers; another one may have been killed before."""

        async def answers() -> bool:
            body = await self.client.get(NODES, self.name, view=dict)
            port = body["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                return False
            writer.close()
            return True

        await self.until(answers)

    async def gone(self, name: str) -> None:
        """Returns once the pod is no longer on the server."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            with suppress(NotFound):
                while True:
                    await self.pod(name)
                    await asyncio.sleep(0.02)

    async def log(self, name: str, container: str = "main", *, previous: bool = False, **options: object) -> str:
        chunks = [
            chunk
            async for chunk in self.client.logs(name, self.namespace, container=container, previous=previous, **options)  # type: ignore[arg-type]
        ]
        return b"".join(chunks).decode()

    async def event(self, reason: str) -> Json:
        """The first event with this reason in the test's namespace."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                events = await self.client.list(CORE_EVENTS, self.namespace, view=dict)
                for event in events.items:
                    if event["reason"] == reason:
                        return event
                await asyncio.sleep(0.02)

    def attempts(self, uid: str, container: str = "main") -> Path:
        return self.directory / "pods" / uid / "containers" / container


@pytest.fixture
def connection(api_server: object) -> Connection:
    return kubeconfig.load(api_server.kubeconfig)  # type: ignore[attr-defined]


@pytest.fixture
async def client(connection: Connection) -> AsyncIterator[Client]:
    async with connect(connection) as connected:
        yield connected


@pytest.fixture
def authority(api_server: object) -> KeyPair:
    pki = api_server.state.pki  # type: ignore[attr-defined]
    return KeyPair((pki / "ca.crt").read_bytes(), (pki / "ca.key").read_bytes())


@pytest.fixture
def images() -> Images:
    return Images()


@pytest.fixture
def level() -> Level | None:
    """The best level this machine allows, unless a test or module says otherwise."""
    return None


@pytest.fixture
def capacity() -> Capacity | None:
    """The machine's own, unless a test or module says otherwise."""
    return None


@pytest.fixture
def warm_modules() -> tuple[str, ...]:
    """None, unless a test or module says otherwise."""
    return ()


@pytest.fixture
async def node(
    connection: Connection,
    client: Client,
    authority: KeyPair,
    tmp_path: Path,
    level: Level | None,
    images: Images,
    capacity: Capacity | None,
    warm_modules: tuple[str, ...],
) -> AsyncIterator[NodeUnderTest]:
    (tmp_path / "state").mkdir()
    directory = tmp_path / "state" / "node"
    under_test = NodeUnderTest(connection, client, authority, directory, level, images, capacity, warm_modules)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": under_test.namespace}}
    await client.create(NAMESPACES, namespace)
    try:
        await under_test.start()
        yield under_test
    finally:
        await under_test.stop()
        await asyncio.to_thread(teardown, under_test.directory)
