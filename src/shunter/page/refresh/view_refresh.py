"""Keeps a view up to date: when its objects are watched, when the rest is read again, and how often its rows are made from them.

If the viewer may not list a resource in all namespaces, it is listed in each of the namespaces that the options of the page name.
Permissions are checked again every minute, as the API server does not end a running watch when its permission is revoked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from shunter.api.resources import Resource
from shunter.kube.access import Request, allowed
from shunter.kube.errors import PASSING, ApiError, ConnectionProblem, Forbidden, NotFound, Unauthorized
from shunter.kube.watching import follow, no_answer
from shunter.page.refresh.freed_memory import return_freed_memory
from shunter.page.refresh.hidden import Refused, hidden
from shunter.page.refresh.live import Table
from shunter.page.refresh.slow_readings import answered
from shunter.page.refresh.watched_objects import WatchedObjects
from shunter.page.views.view import Observed, Parameters, Reading, View, Viewer, Watch

log = logging.getLogger(__name__)

PACE_SECONDS = 0.05
"""The pause after a projection that changed a row. The first change after a longer pause is projected at once."""
UNCHANGED_SHARE = 0.2
"""The largest share of time spent on projections that change no row. Most changes of watched objects change none; the pause after
them is shorter, so that a change of a row is not delayed."""
REVIEW_SECONDS = 60.0
"""How often permissions are checked again."""
MISSING_KIND_SECONDS = 10.0
"""How often a kind that the cluster does not serve is requested again."""
RETRY_SECONDS = 5.0
SILENCE_SECONDS = 75.0
"""A watch without any response for so long is broken."""
ANSWER_SECONDS = 10.0
"""The cluster does not answer if it has not done so once for so long, and its rows are said to be old."""
LOOK_SECONDS = 12.0
"""How often that is looked at: a connection that a network cut without a word breaks no watch."""
PROJECTION = "projection"
REVIEW = "review"
ANSWERS = "answers"

Scope = tuple[str, str]
"""The name of a watch, and the namespace that it covers; empty: all."""


class RefreshedView:
    """Started and stopped by its session. `on_expired` is called when the API server rejects the viewer's credentials."""

    def __init__(
        self, view: View, viewer: Viewer, parameters: Parameters, own: tuple[str, ...], on_expired: Callable[[], None]
    ) -> None:
        """`own` are the namespaces to list if the viewer may not list all and the parameters name none."""
        self.table = Table()
        self._view = view
        self._viewer = viewer
        self._asked = parameters.namespaces
        self._own = own
        self._on_expired = on_expired
        self._watches = {watch.name: watch for watch in view.watches}
        self._objects = WatchedObjects(self._watches, on_malformed=self._tell_hidden)
        self._readings: dict[str, Any] = {}
        self._tasks: dict[Scope | str, asyncio.Task[None]] = {}
        self._unlisted: set[Scope] = set()
        """Scopes that have to be listed before rows are shown."""
        self._scopes_listed: dict[str, set[str]] = {name: set() for name in self._watches}
        """By watch: the namespaces that have been listed."""
        self._is_answered = False
        """The API server has answered at least one watch."""
        self._refused: dict[Scope, Refused] = {}
        self._refused_readings: list[Refused] = []
        self._bugs: set[tuple[Scope | str, type[BaseException]]] = set()
        """Exceptions of a task that have been logged since it last worked."""
        self._changed = asyncio.Event()
        self._changes = 0
        """The number of changes of watched objects so far."""
        self._projected = asyncio.Condition()
        """Notified after each projection."""

    def start(self) -> None:
        """Starts the tasks that fill `table`."""
        for watch in self._watches.values():
            for namespace in self._first_scopes(watch):
                self._begin(watch, namespace)
        for reading in self._view.readings:
            self._run(_reading_key(reading), self._read(reading))
        self._run(PROJECTION, self._project())
        self._run(REVIEW, self._review())
        self._run(ANSWERS, self._look_for_answers())

    def stop(self) -> None:
        """Cancels all tasks, without waiting for them. Listeners of `table` are not notified."""
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that are shown because the viewer may not list all; empty: all, or those that the parameters name."""
        if self._asked:
            return ()
        free = [name for name, watch in self._watches.items() if self._is_free(watch)]
        return self._own_shown(free) if free and all((name, "") in self._refused for name in free) else ()

    def _own_shown(self, names: Iterable[str]) -> tuple[str, ...]:
        """The namespaces of the options in which at least one of these watches was not refused."""
        names = [*names]
        return tuple(each for each in self._own if any((name, each) not in self._refused for name in names))

    # Watches.

    def _is_free(self, watch: Watch) -> bool:
        """Whether the watch covers the namespaces that the page shows."""
        return watch.resource.namespaced and not watch.namespace and not watch.is_of_all

    def _first_scopes(self, watch: Watch) -> tuple[str, ...]:
        if not self._is_free(watch):
            return (watch.namespace,)
        return self._asked or ("",)

    def _begin(self, watch: Watch, namespace: str) -> None:
        scope = watch.name, namespace
        if scope not in self._tasks:
            self._unlisted.add(scope)
            self._run(scope, self._follow(watch, namespace))

    def _end(self, scope: Scope) -> None:
        """Stops the watch of a scope, and drops its objects."""
        name, namespace = scope
        if (task := self._tasks.pop(scope, None)) is not None and task is not asyncio.current_task():
            task.cancel()
        self._unlisted.discard(scope)
        self._scopes_listed[name].discard(namespace)
        self._works(scope)
        self._objects.drop(name, namespace)
        self._note_change()

    async def _follow(self, watch: Watch, namespace: str) -> None:
        scope = watch.name, namespace
        while True:
            try:
                changes = follow(
                    self._viewer.client,
                    watch.resource,
                    namespace,
                    # Those that are gone now, after a long break, are reported.
                    initial=[{"metadata": {"uid": uid}} for uid in self._objects.uids(watch.name, namespace)],
                    label_selector=watch.label_selector,
                    field_selector=watch.field_selector,
                    keeps_objects=False,
                    on_listed=lambda: self._listed(watch, scope),
                    on_silence=lambda problem: self._broken(watch, scope, problem),
                    silence=SILENCE_SECONDS,
                )
                async for change in changes:
                    if self._objects.take(watch, namespace, change.object, gone=change.gone):
                        self._note_change()
            except Forbidden:
                self._refuse(watch, namespace)
                return
            except Unauthorized:
                self._on_expired()
                return
            except NotFound:
                self._listed(watch, scope)
                await asyncio.sleep(MISSING_KIND_SECONDS)
            except ApiError as problem:
                self._broken(watch, scope, problem)
                if not isinstance(problem, PASSING):
                    await asyncio.sleep(RETRY_SECONDS)
            except Exception as error:
                self._fails(scope, error)
                self._miss(watch, scope)
                await asyncio.sleep(RETRY_SECONDS)

    def _listed(self, watch: Watch, scope: Scope) -> None:
        self._is_answered = True
        self._unlisted.discard(scope)
        self._scopes_listed[watch.name].add(scope[1])
        self._works(scope)
        self._changed.set()

    def _broken(self, watch: Watch, scope: Scope, problem: ApiError) -> None:
        is_away = isinstance(problem, ConnectionProblem)
        self.table.broken(scope, watch.collections, time.time(), problem.message, is_away=is_away)
        self._miss(watch, scope)

    async def _look_for_answers(self) -> None:
        while True:
            last = time.time()
            await asyncio.sleep(LOOK_SECONDS)
            has_answered = True
            while (problem := await no_answer(self._viewer.client, ANSWER_SECONDS)) is not None:
                has_answered = False
                self.table.broken(ANSWERS, self._collections, last, problem.message)
            if not has_answered:
                # The connections of the watches may be dead.
                for name, namespace in [key for key in self._tasks if isinstance(key, tuple)]:
                    self._tasks.pop((name, namespace)).cancel()
                    self._run((name, namespace), self._follow(self._watches[name], namespace))
                self.table.whole(ANSWERS)

    @property
    def _collections(self) -> frozenset[str]:
        return frozenset(name for watch in self._watches.values() for name in watch.collections)

    def _miss(self, watch: Watch, scope: Scope) -> None:
        """If it is one of several kinds of jobs, rows of the others are shown without waiting for it."""
        if watch.is_one_of_several:
            self._unlisted.discard(scope)
            self._changed.set()

    def _refuse(self, watch: Watch, namespace: str) -> None:
        self._is_answered = True
        self._refused[watch.name, namespace] = Refused(watch.resource, namespace, watch.consequence, watch.is_subject)
        if not namespace and self._is_free(watch):
            for each in self._own:
                self._begin(watch, each)
        self._end((watch.name, namespace))
        self._tell_hidden()
        self.table.restart()

    def _allow(self, watch: Watch, namespace: str) -> None:
        """The permission for a refused scope has been granted."""
        del self._refused[watch.name, namespace]
        if not namespace and self._is_free(watch):
            for each in self._own:
                self._refused.pop((watch.name, each), None)
                self._end((watch.name, each))
        self._begin(watch, namespace)
        self._tell_hidden()
        self.table.restart()

    def _tell_hidden(self) -> None:
        user, free_names = self._viewer.user, [name for name, watch in self._watches.items() if self._is_free(watch)]
        shown = self._own_shown(free_names) if not self._asked else ()
        free = [one for (name, _), one in self._refused.items() if self._is_free(self._watches[name])]
        others = [one for (name, _), one in self._refused.items() if not self._is_free(self._watches[name])]
        refused = (*hidden(free, user, shown), *hidden([*others, *self._refused_readings], user))
        self.table.hide((*refused, *self._objects.malformed.values()))

    async def _review(self) -> None:
        while True:
            try:
                await self.review()
            except Exception as error:
                self._fails(REVIEW, error)
            else:
                self._works(REVIEW)
            await asyncio.sleep(REVIEW_SECONDS)

    async def review(self) -> None:
        """Checks the permissions of all scopes and readings; starts watches that are now allowed, stops those that are not."""
        scopes = {key for key in self._tasks if isinstance(key, tuple)} | {*self._refused}
        watched = {
            scope: {Request(verb, self._watches[scope[0]].resource, scope[1]) for verb in ("list", "watch")} for scope in scopes
        }
        read = {
            Request(_reading_verb(resource), resource, namespace): Refused(resource, namespace, reading.consequence)
            for reading in self._view.readings
            for resource in reading.resources
            for namespace in self._scopes_of(reading, resource)
        }
        try:
            answers = await allowed(self._viewer.client, {*(one for each in watched.values() for one in each), *read})
        except Unauthorized:
            self._on_expired()
            return
        except ApiError as problem:
            log.debug("permissions could not be checked: %s", problem)
            return
        for scope, questions in watched.items():
            watch, may_watch = self._watches[scope[0]], all(answers[question] for question in questions)
            if may_watch and scope in self._refused:
                self._allow(watch, scope[1])
            elif not may_watch and scope in self._tasks:
                self._refuse(watch, scope[1])
        self._refused_readings = [refused for question, refused in read.items() if not answers[question]]
        self._tell_hidden()

    def _scopes_of(self, reading: Reading, resource: Resource) -> tuple[str, ...]:
        """The namespaces in which a reading lists; an empty name for all, or for a cluster-scoped resource."""
        if reading.is_of_all or not resource.namespaced:
            return ("",)
        return self._asked or self.namespaces or ("",)

    # Readings.

    async def _read(self, reading: Reading) -> None:
        async with self._projected:
            await self._projected.wait_for(lambda: self._may_show)
        key = _reading_key(reading)
        last_success, failures = time.time(), 0

        def tell(why: str) -> None:
            self.table.broken(key, (key,), last_success, why, is_away=False)

        while True:
            at = self._changes
            try:
                result = await answered(reading, self._viewer.client, self._observed(), tell)
                is_first = reading.name not in self._readings
                if is_first or self._readings[reading.name] is not result:
                    self._readings[reading.name] = result
                    self._changed.set()
                if is_first:
                    return_freed_memory()
                last_success, failures = time.time(), 0
                self._works(key)
            except Unauthorized:
                self._on_expired()
                return
            except ApiError as problem:
                log.debug("reading %s: %s", reading.name, problem)
                failures += 1
                if failures > 1:
                    # A single failure is normal: a pod was deleted between two requests, or the server was busy.
                    why = f"{reading.name}: {problem.message}"
                    self.table.broken(key, (key,), last_success, why, is_away=isinstance(problem, ConnectionProblem))
            except Exception as error:
                self._fails(key, error)
            if reading.settle is None:
                await asyncio.sleep(reading.seconds)
            else:
                await self._wait_for_change(at, reading.seconds)
                await asyncio.sleep(reading.settle)

    async def _wait_for_change(self, at: int, seconds: float) -> None:
        """Waits until watched objects have changed since `at`, but no longer than `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._projected:
                await self._projected.wait_for(lambda: self._changes != at)

    # Projection.

    def _note_change(self) -> None:
        self._changes += 1
        self._changed.set()

    def _observed(self) -> Observed:
        refused = frozenset(name for name, _ in self._refused)
        return Observed(self._objects.by_watch, self._readings, refused, self._scopes_listed)

    async def _project(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            began = time.monotonic()
            has_changed = self._may_show and self._show()
            pause = pause_after(time.monotonic() - began, has_changed=has_changed)
            async with self._projected:
                self._projected.notify_all()
            await asyncio.sleep(pause)

    @property
    def _may_show(self) -> bool:
        return (self._is_answered or not self._watches) and not self._unlisted

    def _show(self) -> bool:
        """Projects the rows. Returns whether one has changed."""
        try:
            rows = self._view.rows(self._observed(), self._viewer.client.now().timestamp())
        except Exception as error:
            self._fails(PROJECTION, error)
            return True
        self._works(PROJECTION)
        return self.table.replace(rows)

    def _run(self, key: Scope | str, work: Coroutine[Any, Any, None]) -> None:
        def report(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (error := task.exception()) is not None:
                self._fails(key, error)

        task = asyncio.get_running_loop().create_task(work)
        self._tasks[key] = task
        task.add_done_callback(report)

    def _works(self, key: Scope | str) -> None:
        """The task works again: what it shows is up to date."""
        self.table.whole(key)
        self._bugs = {bug for bug in self._bugs if bug[0] != key}

    def _fails(self, key: Scope | str, error: BaseException) -> None:
        """An internal error of a task: logged once, and shown on the page for as long as it lasts."""
        self.table.broken(key, self._collections, time.time(), f"internal error: {error!r}", is_away=False)
        if (key, type(error)) not in self._bugs:
            self._bugs.add((key, type(error)))
            log.error("the page's view fails: %s", key, exc_info=error)


def pause_after(seconds: float, *, has_changed: bool) -> float:
    """The pause until the next projection, in seconds, after one that took `seconds` and changed a row or none."""
    return PACE_SECONDS if has_changed else min(PACE_SECONDS, seconds / UNCHANGED_SHARE)


def _reading_key(reading: Reading) -> str:
    return f"reading {reading.name}"


def _reading_verb(resource: Resource) -> str:
    """`get` for subresources, such as pods/log, which cannot be listed."""
    return "get" if "/" in resource.plural else "list"
