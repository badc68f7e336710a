"""One process with controllers: shared informers, leader election, health, metrics, events, and an orderly stop.

Informers start at once, in every replica. A controller's workers start when this process leads and the informers it reads from
are synced; a controller whose kind the server does not serve yet waits for it without holding up the others. Who follows another
leader lists everything anew before: its watches may lag behind that one's last writes, and what is over would run again.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import ssl
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from logging import getLogger
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from shunter.api.resources import Resource
from shunter.cancelling import cancelled
from shunter.errors import EnvironmentProblem
from shunter.kube.cache.expectations import Expectations
from shunter.kube.cache.informer import Informer
from shunter.kube.cache.mapping import Mapping as KeyMapping
from shunter.kube.cache.mapping import enqueuing, own_key, to_controller
from shunter.kube.cache.reflector import Timing
from shunter.kube.cache.store import Index, Object, key_of
from shunter.kube.client import Client
from shunter.kube.controllers.controller import Controller
from shunter.kube.controllers.executor import Executor
from shunter.kube.controllers.fence import FencedTransport
from shunter.kube.controllers.leader import LeaderElection, LeaderOptions
from shunter.kube.controllers.plan import Reconciler
from shunter.kube.controllers.workqueue import WorkQueue
from shunter.kube.events import EventRecorder, Form
from shunter.kube.health import Answer, Check, Endpoint, EndpointServer, Guard, checked, parse_address
from shunter.kube.transport import Transport

if TYPE_CHECKING:
    from shunter.kube.metrics import Metrics

log = getLogger(__name__)

T = TypeVar("T", bound=Object)
Observed = TypeVar("Observed")

STOP_SECONDS = 10.0
"""How long reconciles in progress may take to end after SIGTERM; Kubernetes kills after 30."""

PROGRESS_SECONDS = 10.0

LIVENESS_PATH, READINESS_PATH = "/healthz", "/readyz"

GC_THRESHOLDS = (100_000, 50, 100)
"""The default makes the collector walk all cached objects every few hundred allocations: twice the time per decoded object."""


class _Share(NamedTuple):
    """Informers of the same share are one."""

    resource: Resource
    view: type[Any]
    namespaces: tuple[str, ...]
    label_selector: str
    field_selector: str
    pause: float


class _Registered(NamedTuple):
    controller: Controller[Any]
    reads: Sequence[Informer[Any]]
    optional: Sequence[Informer[Any]]


class LeadershipLost(EnvironmentProblem):
    """Another process may lead by now: this one must end, and be started again to wait for its turn."""


class Manager:
    """Put together first (`informer`, `controller`, `background`), then `run` once.

    `namespaces` limits all informers of namespaced kinds; none means all. Addresses are as in flags: `:8080`, or `0` for none.
    `timing` is that of all watches, `now` what controllers take for the time. A process that is its own (`owns_process`) collects
    garbage rarely, and looks no more at what was there when all was synchronised.
    """

    def __init__(
        self,
        client: Client,
        *,
        component: str,
        namespaces: Collection[str] = (),
        leader: LeaderOptions | None = None,
        metrics_bind_address: str = "0",
        metrics_tls: ssl.SSLContext | None = None,
        metrics_guard: Guard | None = None,
        health_probe_bind_address: str = "0",
        liveness_path: str = LIVENESS_PATH,
        readiness_path: str = READINESS_PATH,
        stop_seconds: float = STOP_SECONDS,
        timing: Timing = Timing(),  # noqa: B008 -- frozen
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        owns_process: bool = True,
    ) -> None:
        self.client = client
        self.component = component
        self.namespaces = tuple(namespaces)
        self.metrics: Metrics | None = _new_metrics() if parse_address(metrics_bind_address) else None
        """None when they are not served."""
        self._stop_seconds = stop_seconds
        self._timing = timing
        self._now = now
        self._owns_process = owns_process
        self._stopping = asyncio.Event()
        self._election = LeaderElection(client, leader) if leader else None
        self._writer = client.through(FencedTransport(client.transport, self._may_write))
        if self.metrics and self._election and leader:
            election = self._election
            self.metrics.follow_leader(leader.name, lambda: election.is_leader)
        self._ready_checks: dict[str, Check] = {"informers": self._why_not_synced}
        self._servers: list[EndpointServer] = []
        if (address := parse_address(metrics_bind_address)) and self.metrics:
            endpoints: dict[str, Endpoint] = {"/metrics": self.metrics.answer}
            self._servers.append(EndpointServer(address, endpoints, tls=metrics_tls, guard=metrics_guard))
        if address := parse_address(health_probe_bind_address):
            self._servers.append(EndpointServer(address, self._health_endpoints(liveness_path, readiness_path)))
        self._informers: dict[_Share, Informer[Any]] = {}
        self._recorders: dict[tuple[str, Form], EventRecorder] = {}
        self._controllers: list[_Registered] = []
        self._background: list[tuple[str, Callable[[], Awaitable[None]]]] = []

    def send_through(self, wrap: Callable[[Transport], Transport]) -> None:
        """Wraps the transports of all requests, those of controllers included; call it before anything is put together. The
        fence stays inside: what waits in the wrapper has yet to pass it."""
        for client in (self.client, self._writer):
            client.transport = wrap(client.transport)

    def informer(
        self,
        resource: Resource,
        view: type[T],
        *,
        namespaces: Collection[str] | None = None,
        label_selector: str = "",
        field_selector: str = "",
        indexes: Mapping[str, Index[T]] = {},
        is_optional: bool = False,
        pause: float = 0.0,
    ) -> Informer[T]:
        """The informer of these objects, shared by all who ask for the same; indexes add up. Nobody is warned when a kind that
        `is_optional` is not served. `pause`: see `Timing`."""
        scope = tuple(sorted(self.namespaces if namespaces is None else namespaces)) if resource.namespaced else ()
        share = _Share(resource, view, scope, label_selector, field_selector, pause)
        informer: Informer[T] | None = self._informers.get(share)
        if informer is None:
            informer = Informer(
                self.client,
                resource,
                view,
                namespaces=scope,
                label_selector=label_selector,
                field_selector=field_selector,
                timing=replace(self._timing, pause=pause),
                is_optional=is_optional,
                ended=self.metrics.restart_counter(resource.plural) if self.metrics else lambda reason: None,
            )
            self._informers[share] = informer
        for name, index in indexes.items():
            informer.store.add_index(name, index)
        return informer

    def recorder(self, component: str = "", form: Form = "events.k8s.io/v1") -> EventRecorder:
        """Records events as `component`, by default the manager's."""
        name = (component or self.component, form)
        if name not in self._recorders:
            self._recorders[name] = EventRecorder(self.client, name[0], form=name[1], is_busy=self._lets_statuses_wait)
        return self._recorders[name]

    def _lets_statuses_wait(self) -> bool:
        """Whether a controller lets statuses wait until what other objects need is made."""
        return any(registered.controller.queue.has_postponed for registered in self._controllers)

    def controller(
        self,
        name: str,
        reconciler: Reconciler[Observed],
        *,
        primary: Informer[Any],
        owned: Sequence[Informer[Any]] = (),
        mapped: Sequence[tuple[Informer[Any], KeyMapping[Any]]] = (),
        optional: Sequence[Informer[Any]] = (),
        workers: int = 5,
        recorder: EventRecorder | None = None,
        first_wait: float = 0.005,
        longest_wait: float = 60.0,
    ) -> Controller[Observed]:
        """A controller of `primary`'s objects, woken by changes of them, of objects whose managing owner they are (`owned`), and
        of whatever `mapped` maps to their keys. Of `optional` informers the server may not serve the kind: that holds up nothing,
        and all keys are looked at again when it changes. Failed keys wait `first_wait` seconds, doubled up to `longest_wait`.
        One namespace has all workers but one, so that its large jobs do not hold up another's."""
        reads = [primary, *owned, *(informer for informer, _ in mapped)]
        metrics = self.metrics.of_controller(name) if self.metrics else None
        controller: Controller[Observed] = Controller(
            name,
            reconciler,
            Executor(self._writer, recorder or self.recorder()),
            Expectations({informer.resource: informer.store for informer in reads}),
            queue=WorkQueue(
                first_wait=first_wait, longest_wait=longest_wait, max_per_namespace=max(workers - 1, 1), metrics=metrics
            ),
            workers=workers,
            metrics=metrics,
            now=self._now,
        )
        if metrics:
            metrics.follow(controller)
        primary.add_handler(enqueuing(own_key, controller.add))
        for informer in owned:
            informer.add_handler(enqueuing(to_controller(primary.resource), controller.add))
        for informer, mapping in mapped:
            informer.add_handler(enqueuing(mapping, controller.add))

        def enqueue_all() -> None:
            for obj in primary.store.list():
                controller.add(key_of(obj))

        for informer in optional:
            informer.add_presence_handler(enqueue_all)
        self._controllers.append(_Registered(controller, reads, optional))
        return controller

    def background(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """Something else to run in every replica, from the start to the stop, when it is cancelled, e.g. the webhook server.
        Its failure ends the process."""
        self._background.append((name, run))

    def add_ready_check(self, name: str, check: Check) -> None:
        """One more thing that /readyz looks at: the check says why the process is not ready, or nothing."""
        self._ready_checks[name] = check

    async def run(self, stop: asyncio.Event | None = None) -> None:
        """Runs until SIGTERM, SIGINT or `stop`, then stops in order: reconciles under way end, events are sent, the lease is
        released. Raises LeadershipLost, and whatever else makes going on impossible."""
        stop = stop or asyncio.Event()
        with _Signals(stop), _rare_collections() if self._owns_process else nullcontext():
            tasks: list[asyncio.Task[Any]] = []
            background: list[asyncio.Task[Any]] = []
            work: asyncio.Task[None] | None = None
            try:
                for server in self._servers:
                    await server.start()
                background += [asyncio.create_task(_awaited(run), name=name) for name, run in self._background]
                services: list[tuple[str, Coroutine[Any, Any, None]]] = [
                    *((share.resource.plural, self._follow(informer)) for share, informer in self._informers.items()),
                    *((f"events of {component}", recorder.run()) for (component, _), recorder in self._recorders.items()),
                ]
                tasks += [asyncio.create_task(service, name=name) for name, service in services]
                tasks.append(asyncio.create_task(self._follow_sync(), name="sync"))
                work = asyncio.create_task(self._work(), name="controllers")
                stopped = asyncio.create_task(stop.wait(), name="stop")
                tasks.append(stopped)
                watched = {task for task in [*tasks, *background] if task.get_name() != "sync"} | {work}
                done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
                for task in done - {stopped}:
                    await task
            finally:
                await self._stop(work, tasks, background)

    async def _work(self) -> None:
        """Everything that only the leader does."""
        if self._election is None:
            await self._run_controllers()
            return
        if not await self._unless_stopping(self._election.acquire()):
            return
        if self._election.has_followed:
            for informer in self._informers.values():
                informer.refresh()
        controllers = asyncio.create_task(self._run_controllers())
        holding = asyncio.create_task(self._election.hold())
        try:
            await asyncio.wait({controllers, holding}, return_when=asyncio.FIRST_COMPLETED)
            if holding.done():
                await holding
                raise LeadershipLost("The leader lease was lost.", "Another replica takes over; this one must be restarted.")
            await controllers
        finally:
            await cancelled([controllers, holding])

    async def _follow(self, informer: Informer[Any]) -> None:
        if self._election:
            # Who leads before it lists has nothing to list anew.
            await self._election.has_tried.wait()
        await informer.run()

    async def _run_controllers(self) -> None:
        """Returns when all controllers were stopped."""
        async with asyncio.TaskGroup() as group:
            group.create_task(_awaited(self._stopping.wait))
            for registered in self._controllers:
                group.create_task(self._run_controller(registered))

    async def _run_controller(self, registered: _Registered) -> None:
        for informer in registered.reads:
            known = informer.wait_resolved() if informer in registered.optional else informer.wait_synced()
            if not await self._unless_stopping(known):
                return
        log.info("%s: starting %d workers", registered.controller.name, registered.controller.workers)
        await registered.controller.run()

    async def _unless_stopping(self, step: Coroutine[Any, Any, None]) -> bool:
        """Whether `step` came to its end before the process began to stop."""
        task, stopping = asyncio.create_task(step), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
            return task.done()
        finally:
            await cancelled([task, stopping])

    async def _stop(
        self,
        work: asyncio.Task[None] | None,
        tasks: Sequence[asyncio.Task[Any]],
        background: Sequence[asyncio.Task[Any]],
    ) -> None:
        self._stopping.set()
        for registered in self._controllers:
            registered.controller.stop()
        if work is not None:
            await asyncio.wait({work}, timeout=self._stop_seconds)
            await cancelled([work])
        await cancelled(tasks)
        await asyncio.gather(*(recorder.flush() for recorder in self._recorders.values()))
        if self._election is not None:
            await self._election.release()
        # Last, when another may lead already: webhooks are called until no API server knows of us any more.
        await cancelled(background)
        for server in self._servers:
            await server.stop()

    def _may_write(self) -> bool:
        return self._election is None or self._election.is_leader

    def _why_not_synced(self) -> str:
        waiting = [informer.resource.plural for informer in self._informers.values() if _holds_up(informer)]
        return f"waiting for {', '.join(sorted(waiting))}" if waiting else ""

    async def _follow_sync(self) -> None:
        """Says how the first synchronisation goes, until every kind is there or known not to be served."""
        started = time.monotonic()
        informers = list(self._informers.values())
        waits = [asyncio.create_task(informer.wait_resolved()) for informer in informers]
        try:
            while pending := [task for task in waits if not task.done()]:
                await asyncio.wait(pending, timeout=PROGRESS_SECONDS, return_when=asyncio.ALL_COMPLETED)
                for informer in filter(_holds_up, informers):
                    problem = informer.problem
                    log.warning("waiting for %s: %s", informer.resource.plural, problem.text if problem else "listing")
        finally:
            await cancelled(waits)
        count = sum(len(informer.store) for informer in informers)
        log.info("synced %d objects of %d kinds in %.2f s", count, len(informers), time.monotonic() - started)
        if self._owns_process:
            gc.collect()
            gc.freeze()

    def _health_endpoints(self, liveness_path: str, readiness_path: str) -> dict[str, Endpoint]:
        """Under the usual paths as well: probes that do not know of others go on."""
        alive = {path: lambda: Answer(200, "ok") for path in (LIVENESS_PATH, liveness_path)}
        return {**alive, **checked(READINESS_PATH, self._ready_checks), **checked(readiness_path, self._ready_checks)}


class _Signals:
    """Sets an event on SIGTERM and SIGINT while it is entered."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._installed: list[signal.Signals] = []

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(number, self._stop.set)
            except (ValueError, RuntimeError):
                # Not the main thread: the caller stops us by the event.
                return
            self._installed.append(number)

    def __exit__(self, *_: object) -> None:
        for number in self._installed:
            asyncio.get_running_loop().remove_signal_handler(number)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Looks for garbage cycles less often, since caches are large and hold none; afterwards as before."""
    before = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _holds_up(informer: Informer[Any]) -> bool:
    """Whether the informer is not synced for another reason than that the server does not know its kind."""
    return not informer.is_synced and not informer.is_kind_missing


def _new_metrics() -> Metrics:
    from shunter.kube.metrics import Metrics

    return Metrics()


async def _awaited(run: Callable[[], Awaitable[object]]) -> None:
    await run()
