"""The node: watches the pods bound to it and gives each a worker.

It speaks only HTTP to the API server. Killed at any moment, its pods run on, and the next one takes them over.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from fractions import Fraction
from logging import getLogger
from pathlib import Path

from shunter.api.core import Service
from shunter.api.resources import PODS, SERVICES
from shunter.api.scheduling.pod_requests import GPU
from shunter.cluster.disk_space import disk_space, shortage
from shunter.cluster.node.content.ignored_fields import ignored
from shunter.cluster.node.content.images import ImageError, Images
from shunter.cluster.node.content.service_links import has_variables
from shunter.cluster.node.content.warm_start import Interpreter, interpreter
from shunter.cluster.node.gpus import Gpus, shared_gpu
from shunter.cluster.node.launch import linux
from shunter.cluster.node.layout import NodeDirectory
from shunter.cluster.node.net.external_services import ExternalService
from shunter.cluster.node.net.network import PLACES, owner_name
from shunter.cluster.node.pod.assigned_pod import AssignedPod
from shunter.cluster.node.pod.container_start import StartDependencies
from shunter.cluster.node.pod.lifecycle import MAX_BACK_OFF
from shunter.cluster.node.pod.status_writer import StatusWriter
from shunter.cluster.node.pod.worker import NodeServices, PodWorker
from shunter.cluster.node.registration import Description, keep_alive, refusal, register
from shunter.cluster.node.resources import machine_capacity, shortfalls, with_room_for
from shunter.cluster.node.runtime.cgroups import find_cgroups
from shunter.cluster.node.runtime.launcher import Launcher, LauncherError
from shunter.cluster.node.runtime.levels import Finding, Trial, find_level
from shunter.cluster.node.runtime.namespaces import NamespaceRuntime
from shunter.cluster.node.runtime.network_policies import Enforcement, NetworkPolicies, PacketFilters, Warnings
from shunter.cluster.node.runtime.plain import PlainRuntime
from shunter.cluster.node.runtime.protocol import HostPort, Level, Runtime
from shunter.cluster.node.runtime.simulated import SimulatedPods
from shunter.cluster.node.runtime.warm_parents import WarmParents
from shunter.cluster.node.server.access import KubeletAccess
from shunter.cluster.node.server.kubelet_api import ContainerLog, KubeletServer, LogUnavailableError
from shunter.cluster.node.server.stats import MeasuredContainer, Stats
from shunter.cluster.node.streams.endpoints import StreamServer
from shunter.cluster.node.streams.port_forward import ForwardedPod
from shunter.cluster.node.streams.remote_command import StreamRefusedError
from shunter.cluster.node.streams.sessions import RunningContainer
from shunter.cluster.node.teardown import kill_pod, teardown
from shunter.errors import EnvironmentProblem
from shunter.kube.cache.informer import Informer
from shunter.kube.client import Client
from shunter.kube.controllers.plan import Note
from shunter.kube.errors import PASSING
from shunter.kube.events import EventRecorder

__all__ = ["Node", "teardown"]

log = getLogger(__name__)

_REGISTRATION_RETRY_SECONDS = 1.0
_LINKED = "namespace of service variables"


class Node:
    """One machine as a node. `directory` is ours alone (STATE/node); what lies beside it, in its parent, is hidden from pods.

    `level` forces one; None takes the best this machine allows. `address` is where the API server reaches us, and what pods see
    as the host's address; `api_server` is where we reach the server; `port` 0 is one of the system's choosing. `allocatable` is
    what the scheduler counts with, if that is not the machine's `capacity`. With `strict_resources` the scheduler keeps pods that
    ask for too much away, so there is no warning. `max_restart_period` is in seconds. A `guest` is a node in the cluster of
    others: it carries the taint. `external_services` are reachable for pods outside of their network. `warm_modules` are what
    containers need not import again (docs/warm-start.md).
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str,
        api_server: HostPort,
        directory: Path,
        access: KubeletAccess,
        images: Images,
        level: Level | None = None,
        strict_resources: bool = False,
        max_restart_period: float = MAX_BACK_OFF,
        address: str = "127.0.0.1",
        port: int = 0,
        capacity: Mapping[str, Fraction] | None = None,
        allocatable: Mapping[str, Fraction] | None = None,
        guest: bool = False,
        external_services: Sequence[ExternalService] = (),
        warm_modules: tuple[str, ...] = (),
    ) -> None:
        self._client = client
        self._name = name
        self._api_server = api_server
        self._directory = NodeDirectory(directory)
        self._access = access
        self._images = images
        self._wanted_level = level
        self._strict_resources = strict_resources
        self._max_restart_period = max_restart_period
        self._address = address
        self._port = port
        self._capacity = machine_capacity() if capacity is None else capacity
        self._allocatable = self._capacity if allocatable is None else allocatable
        self._gpus = Gpus(int(self._capacity.get(GPU, 0)))
        self._guest = guest
        self._external_services = external_services
        self._warm_modules = warm_modules
        self._recorder = EventRecorder(client, "kubelet", form="v1", instance=name)
        self._statuses = StatusWriter(client)
        self._pods = Informer(client, PODS, AssignedPod, field_selector=f"spec.nodeName={name}")
        self._services = Informer(client, SERVICES, Service, indexes={_LINKED: _linked_namespace})
        self._workers: dict[str, PodWorker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._publishing = False
        self._runtime: Runtime | None = None
        self._node_services: NodeServices | None = None
        self._policies: NetworkPolicies | None = None
        self._simulated: SimulatedPods | None = None
        self.ready = asyncio.Event()
        """Set once the node is registered and serves."""

    async def run(self) -> None:
        """Serves until cancelled; pods run on after that."""
        self._directory.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._make_pods_directory()
        async with AsyncExitStack() as stack:
            finding, launcher = await self._find_level()
            stack.push_async_callback(launcher.stop)
            log.info(
                "Node %s runs pods at level %s%s", self._name, finding.level.value, f": {finding.reason}" * bool(finding.reason)
            )
            stats = Stats(self._name, self._measured)
            server = KubeletServer(self._access, self, StreamServer(launcher, self), stats, self._directory.path)
            port = await server.start(self._address, self._port)
            stack.push_async_callback(server.stop)
            capacity, allocatable = self._capacity, self._allocatable
            if finding.level is Level.NAMESPACES:
                capacity, allocatable = with_room_for(len(PLACES), capacity), with_room_for(len(PLACES), allocatable)
            description = Description(self._name, self._address, port, finding, capacity, allocatable, tainted=self._guest)
            stack.push_async_callback(self._stop_pods)
            await self._start_level(finding.level, launcher, stack)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._recorder.run())
                group.create_task(self._pods.run())
                group.create_task(self._services.run())
                await self._services.wait_synced()
                await self._pods.wait_synced()
                await self._remove_leftovers(launcher)
                description = description._replace(policy_obstacle=await self._follow_policies(group, launcher))
                for pod_directory in self._directory.pods():
                    self._gpus.restore(pod_directory)
                self._pods.add_handler(self._pod_changed)
                self._services.add_handler(lambda old, new: self._publish_soon())
                self._publish_soon()
                uid = await self._register(description)
                self.ready.set()
                await keep_alive(self._client, description, uid, self._disk_shortage)

    def _make_pods_directory(self) -> None:
        """Each pod lies at a place of its own on the disk. An ext4 without a journal looks at inodes that were freed in the last
        minutes, one by one, before it gives one to a new file: 0.3 to 1 ms for each of a pod's dozens of files."""
        self._directory.pods_directory.mkdir(exist_ok=True)
        if sys.platform == "linux":
            linux.spread_subdirectories(str(self._directory.pods_directory))

    def container_log(self, namespace: str, pod: str, container: str, *, previous: bool) -> ContainerLog:
        """Where a log is. Raises LogUnavailableError."""
        worker = self._worker(namespace, pod)
        if worker is None:
            raise LogUnavailableError(404, f'pod "{pod}" not found')
        return worker.container_log(container, previous=previous)

    def running_container(self, namespace: str, pod: str, container: str, *, uid: str) -> RunningContainer:
        """Where commands are run. Raises StreamRefusedError."""
        return self._streamed(namespace, pod, uid).running_container(container)

    def forwarded_pod(self, namespace: str, pod: str, *, uid: str) -> ForwardedPod:
        """The pod whose ports are forwarded. Raises StreamRefusedError."""
        return self._streamed(namespace, pod, uid).forwarded_pod()

    def _disk_shortage(self) -> str:
        """Without an amount: the condition should not change with every byte."""
        path = self._directory.path
        try:
            is_short = bool(shortage(path, disk_space(path)))
        except OSError:
            return ""
        return f"make room on the disk of {path}" if is_short else ""

    def _measured(self) -> Iterable[MeasuredContainer]:
        """Every container that runs."""
        return [one for worker in self._workers.values() for one in worker.measured()]

    def _worker(self, namespace: str, pod: str) -> PodWorker | None:
        named = (one for one in self._workers.values() if one.pod.metadata.name == pod)
        return next((one for one in named if one.pod.metadata.namespace == namespace), None)

    def _streamed(self, namespace: str, pod: str, uid: str) -> PodWorker:
        if self._simulated is not None:
            raise StreamRefusedError(501, f"node {self._name} simulates its pods: no process in {pod}, and no port")
        worker = self._worker(namespace, pod)
        if worker is None or (uid and worker.pod.uid != uid):
            raise StreamRefusedError(404, "pod does not exist")
        return worker

    # What the watches say.

    def _pod_changed(self, old: AssignedPod | None, new: AssignedPod | None) -> None:
        if old is not None and (new is None or new.uid != old.uid):
            self._pod_gone(old)
        if new is None:
            return
        if new.is_finished:
            self._gpus.free(new.uid)
        if self._simulated is not None:
            self._simulated.update(new)
        elif new.uid in self._workers:
            self._workers[new.uid].update(new)
            if old is not None and old.metadata.labels != new.metadata.labels:
                self._publish_soon()
        else:
            self._pod_arrived(new)

    def _pod_arrived(self, pod: AssignedPod) -> None:
        assert self._node_services is not None
        shared = [] if pod.is_finished else self._gpus.give(pod.spec, self._directory.pod(pod.uid))
        worker = PodWorker(pod, self._directory.pod(pod.uid), self._node_services)
        self._workers[pod.uid] = worker
        worker.adopt()
        task = asyncio.ensure_future(worker.run())
        self._tasks[pod.uid] = task
        task.add_done_callback(lambda done: self._worker_ended(pod, done))
        if not pod.is_finished and not pod.status.get("startTime") and not self._strict_resources:
            for shortfall in (*shortfalls(pod.spec, self._capacity), *map(shared_gpu, shared)):
                self._recorder.record(
                    Note(regarding=pod.ref, type="Warning", reason="InsufficientResources", message=shortfall, action="Running")
                )
        if not pod.is_finished and not pod.status.get("startTime"):
            runtime = self._node_services.dependencies.runtime
            has_namespaces = runtime.level is Level.NAMESPACES
            for reason, message in ignored(pod.spec, switches_users=runtime.switches_users, has_namespaces=has_namespaces):
                self._recorder.record(Note(regarding=pod.ref, type="Warning", reason=reason, message=message, action="Running"))

    def _pod_gone(self, pod: AssignedPod) -> None:
        if self._simulated is not None:
            self._simulated.vanish(pod)
        elif worker := self._workers.get(pod.uid):
            worker.vanish()

    def _worker_ended(self, pod: AssignedPod, task: asyncio.Task[None]) -> None:
        self._workers.pop(pod.uid, None)
        self._tasks.pop(pod.uid, None)
        self._gpus.free(pod.uid)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("Pod %s: its worker failed", pod.title, exc_info=error)

    def _unfinished(self) -> Iterable[PodWorker]:
        """The pods that have names and a network. Many more may exist that have ended, until they are deleted."""
        return (worker for worker in self._workers.values() if not worker.is_finished)

    # Names.

    def _publish_soon(self) -> None:
        """Publishes names once for all changes of this turn of the event loop."""
        if not self._publishing:
            self._publishing = True
            asyncio.get_running_loop().call_soon(self._publish)

    def _publish(self) -> None:
        self._publishing = False
        if self._runtime is not None:
            self._runtime.publish(self._services.store.list(), [worker.endpoint for worker in self._unfinished()])
        if self._policies is not None:
            self._policies.changed()

    # NetworkPolicies.

    async def _follow_policies(self, group: asyncio.TaskGroup, launcher: Launcher) -> str:
        """Why NetworkPolicies have no effect on our pods; empty when they have, from here on."""
        if self._runtime is None:
            return "its pods are simulated"
        gateway = self._runtime.gateway if isinstance(self._runtime, NamespaceRuntime) else ""
        filters = PacketFilters(launcher, network_of=lambda uid: self._directory.pod(uid).namespaces / "net", trusted=gateway)
        obstacle = await filters.obstacle() if gateway else "its pods share the network of the machine (level plain)"
        enforcement: Enforcement = Warnings(self._recorder, obstacle) if obstacle else filters
        self._policies = NetworkPolicies(
            self._client, pods=lambda: [worker.network_pod for worker in self._unfinished()], name_server=gateway
        )
        adopted = [directory.uid for directory in self._directory.pods()]
        await self._policies.begin(group, enforcement, obstacle, adopted)
        if self._policies.obstacle:
            await filters.clear(adopted)
        return self._policies.obstacle

    async def _enforce_policies(self, uid: str) -> None:
        if self._policies is not None:
            await self._policies.bring_up_to_date(uid)

    # Start and stop.

    async def _find_level(self) -> Trial:
        """The level, and the launcher for it. Raises EnvironmentProblem when the level that was asked for is not possible."""
        if self._wanted_level in (Level.PLAIN, Level.SIMULATED):
            return Trial(Finding(self._wanted_level, "chosen by --level"), Launcher(self._directory.launcher_log))
        trial = await find_level(self._directory)
        if self._wanted_level is Level.NAMESPACES and trial.finding.level is not Level.NAMESPACES:
            raise EnvironmentProblem(
                f"--level namespaces: {trial.finding.reason}.", "Omit --level to use the strongest available."
            )
        return trial

    async def _start_level(self, level: Level, launcher: Launcher, stack: AsyncExitStack) -> None:
        if level is Level.SIMULATED:
            self._simulated = SimulatedPods(self._client, self._statuses, host_ip=self._address)
            return
        runtime: Runtime
        if level is Level.NAMESPACES:
            runtime = NamespaceRuntime(
                self._directory,
                launcher,
                host_ip=self._address,
                api_server=self._api_server,
                external_services=self._external_services,
            )
        else:
            runtime = PlainRuntime(
                self._directory, launcher, api_server=self._api_server, external_services=self._external_services
            )
        await runtime.start()
        stack.push_async_callback(runtime.stop)
        self._runtime = runtime
        warm_parents = WarmParents(self._directory.launcher_log, launcher.holder_file)
        stack.callback(warm_parents.stop)
        if self._warm_modules and (usual := _usual_interpreter(self._images, level)):
            await warm_parents.prepare(usual, self._warm_modules)
        dependencies = StartDependencies(
            client=self._client,
            runtime=runtime,
            launcher=launcher,
            cgroups=find_cgroups(owner_name(self._directory.path)),
            images=self._images,
            host_ip=self._address,
            capacity=self._capacity,
            gpus=self._gpus,
            services=lambda namespace: self._services.store.by_index(_LINKED, namespace),
            enforce_policies=self._enforce_policies,
            warm_parents=warm_parents,
            warm_modules=self._warm_modules,
        )
        self._node_services = NodeServices(
            dependencies,
            self._statuses,
            self._recorder,
            self._publish_soon,
            refusal if self._guest else lambda spec: "",
            self._max_restart_period,
        )

    async def _register(self, description: Description) -> str:
        """The uid of our Node. Tries as long as the server is away; raises ApiError when it does not want us."""
        while True:
            try:
                return await register(self._client, description)
            except PASSING as error:
                log.warning("Node %s could not be registered yet: %s", self._name, error.message)
                await asyncio.sleep(_REGISTRATION_RETRY_SECONDS)

    async def _remove_leftovers(self, launcher: Launcher) -> None:
        """Ends and removes pods that were deleted while no agent ran."""
        known = {pod.uid for pod in self._pods.store.list()}
        for directory in self._directory.pods():
            if directory.uid not in known:
                await asyncio.to_thread(kill_pod, directory)
                try:
                    await launcher.request("remove", directories=[str(directory.path)])
                except LauncherError as error:
                    # The others want their agent.
                    log.error("What pod %s left could not be removed: %s", directory.uid, error.message)

    async def _stop_pods(self) -> None:
        """Ends our part of every pod; what runs goes on."""
        for task in self._tasks.values():
            task.cancel()
        for worker in self._workers.values():
            worker.close()
        if self._simulated is not None:
            self._simulated.close()
        if self._policies is not None:
            self._policies.stop()
        await self._statuses.stop()
        await self._recorder.flush()


def _usual_interpreter(images: Images, level: Level) -> Interpreter | None:
    """The interpreter of pods that name no image and add nothing to its environment; None where these cannot start warm, or
    images stand for nothing unless they are named."""
    try:
        image = images.find("")
    except ImageError:
        return None
    found = interpreter("python", image.environment, level=level.value, root=image.root)
    return None if isinstance(found, str) else found


def _linked_namespace(service: Service) -> Iterable[str]:
    return (service.metadata.namespace,) if has_variables(service) else ()
