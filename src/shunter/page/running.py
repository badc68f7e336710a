"""One view of one viewer at work: its watches and readings as tasks, and the rows that come of them in a table.

What may not be listed in all namespaces is asked for in each of those that the viewer named. Every minute the API server is asked
again what may be listed: a watch that runs is not cut when a right is taken away.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.kube.access import Request, allowed
from shunter.kube.errors import ApiError, ConnectionProblem, Forbidden, NotFound, ServerProblem, Unauthorized
from shunter.kube.watching import follow
from shunter.page.freed_memory import return_freed_memory
from shunter.page.hidden import Refused, hidden
from shunter.page.live import Table
from shunter.page.views.view import Observed, Parameters, Reading, View, Viewer, Watch
from shunter.page.wire import Hidden

log = logging.getLogger(__name__)

PACE_SECONDS = 0.05
"""Between a projection that changed a row and the next; the first change after a pause is projected at once."""
VAIN_SHARE = 0.2
"""Of the time, at most, is spent on projections that change nothing: most of what is watched changes no row, and a change that
does must not wait for it."""
REVIEW_SECONDS = 60.0
"""How often rights are asked for again."""
MISSING_KIND_SECONDS = 10.0
"""How often a kind that the cluster does not serve is looked for."""
RETRY_SECONDS = 5.0
SILENCE_SECONDS = 75.0
PROJECTION = "projection"
REVIEW = "review"

Scope = tuple[str, str]
"""The name of a watch, and the namespace that it is asked for; empty: all of them."""


class RunningView:
    """Started and stopped by its session. `on_expired` is called when the API server does not know the viewer any more."""

    def __init__(
        self, view: View, viewer: Viewer, parameters: Parameters, own: tuple[str, ...], on_expired: Callable[[], None]
    ) -> None:
        """`own` are the namespaces to ask for where the viewer may not list all and the parameters name none."""
        self.table = Table()
        self._view = view
        self._viewer = viewer
        self._asked = parameters.namespaces
        self._own = own
        self._on_expired = on_expired
        self._watches = {watch.name: watch for watch in view.watches}
        self._objects: dict[str, dict[str, Any]] = {name: {} for name in self._watches}
        self._scope_of: dict[str, dict[str, str]] = {name: {} for name in self._watches}
        """By watch and uid: the namespace it was asked for."""
        self._readings: dict[str, Any] = {}
        self._tasks: dict[Scope | str, asyncio.Task[None]] = {}
        self._unlisted: set[Scope] = set()
        """What is waited for before rows are shown."""
        self._scopes_listed: dict[str, set[str]] = {name: set() for name in self._watches}
        """By watch: the namespaces of which it has had a list."""
        self._is_answered = False
        """The API server has answered a watch."""
        self._refused: dict[Scope, Refused] = {}
        self._refused_readings: list[Refused] = []
        self._bugs: set[tuple[Scope | str, type[BaseException]]] = set()
        """Of ours, which are in the log, since the task worked last."""
        self._malformed: dict[str, Hidden] = {}
        """Objects that the view fails at, by uid."""
        self._changed = asyncio.Event()
        self._changes = 0
        """Of watched objects."""
        self._moved = asyncio.Condition()

    def start(self) -> None:
        """Returns at once: its tasks run in the event loop and fill `table`."""
        for watch in self._watches.values():
            for namespace in self._first_scopes(watch):
                self._begin(watch, namespace)
        for reading in self._view.readings:
            self._run(_reading_key(reading), self._read(reading))
        self._run(PROJECTION, self._project())
        self._run(REVIEW, self._review())

    def stop(self) -> None:
        """Cancels all its tasks, without waiting for their ends. Listeners of `table` are not told."""
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Those that are shown as the viewer may not list all; empty: all are, or those that the parameters name."""
        if self._asked:
            return ()
        free = [name for name, watch in self._watches.items() if self._is_free(watch)]
        return self._own_shown(free) if free and all((name, "") in self._refused for name in free) else ()

    def _own_shown(self, names: Iterable[str]) -> tuple[str, ...]:
        """Of the namespaces to ask for instead of all those in which one of these watches was not refused."""
        names = [*names]
        return tuple(each for each in self._own if any((name, each) not in self._refused for name in names))

    # Watches.

    def _is_free(self, watch: Watch) -> bool:
        """Whether the watch is of whatever namespaces the page shows."""
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
        """Its objects are shown no more."""
        name, namespace = scope
        if (task := self._tasks.pop(scope, None)) is not None and task is not asyncio.current_task():
            task.cancel()
        self._unlisted.discard(scope)
        self._scopes_listed[name].discard(namespace)
        self._works(scope)
        found = self._scope_of[name]
        for uid in [uid for uid, of in found.items() if of == namespace]:
            del found[uid]
            self._objects[name].pop(uid, None)
        self._note_change()

    async def _follow(self, watch: Watch, namespace: str) -> None:
        scope = watch.name, namespace
        while True:
            try:
                changes = follow(
                    self._viewer.client,
                    watch.resource,
                    namespace,
                    label_selector=watch.label_selector,
                    field_selector=watch.field_selector,
                    keeps_objects=False,
                    on_listed=lambda: self._listed(watch, scope),
                    on_silence=lambda problem: self._broken(watch, scope, problem),
                    silence=SILENCE_SECONDS,
                )
                async for seen in changes:
                    self._take(watch, namespace, seen.object, gone=seen.gone)
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
                if not isinstance(problem, ConnectionProblem | ServerProblem):
                    await asyncio.sleep(RETRY_SECONDS)
            except Exception as error:
                self._fails(scope, error)
                self._miss(watch, scope)
                await asyncio.sleep(RETRY_SECONDS)

    def _take(self, watch: Watch, namespace: str, found: Json, *, gone: bool) -> None:
        uid = found["metadata"]["uid"]
        kept = None if gone else self._kept(watch, found)
        if gone and self._malformed.pop(uid, None) is not None:
            self._tell_hidden()
        if kept is None:
            if self._objects[watch.name].pop(uid, None) is None:
                return
            self._scope_of[watch.name].pop(uid, None)
        else:
            self._scope_of[watch.name][uid] = namespace
            if self._objects[watch.name].get(uid) == kept:
                return  # As when a node says that it is still there.
            self._objects[watch.name][uid] = kept
        self._note_change()

    def _kept(self, watch: Watch, found: Json) -> Any:
        """What the view keeps of an object. One that it fails at is left out, and named: it takes no others with it."""
        metadata = found["metadata"]
        try:
            kept = watch.keep(found)
        except Exception:
            name = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
            if metadata["uid"] not in self._malformed:
                log.exception("%s %s is left out of the page", watch.resource.kind, name)
                self._malformed[metadata["uid"]] = Hidden(
                    what=f"{watch.resource.kind} {name}",
                    consequence="It could not be shown: this version of shunter expects another form.",
                    role="",
                    is_subject=watch.is_subject,
                )
                self._tell_hidden()
            return None
        if self._malformed.pop(metadata["uid"], None) is not None:
            self._tell_hidden()
        return kept

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

    def _miss(self, watch: Watch, scope: Scope) -> None:
        """Where others like it are shown, they do not wait for it any longer."""
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
        """What was refused is allowed now."""
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
        self.table.hide((*refused, *self._malformed.values()))

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
        """Asks the API server what may be listed, and acts on it."""
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
            log.debug("rights were not asked for: %s", problem)
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
        """Where a reading lists: namespaces; empty: all, or none."""
        if reading.is_of_all or not resource.namespaced:
            return ("",)
        return self._asked or self.namespaces or ("",)

    # Readings.

    async def _read(self, reading: Reading) -> None:
        async with self._moved:
            await self._moved.wait_for(lambda: self._may_show)
        key = _reading_key(reading)
        whole, failures = time.time(), 0
        while True:
            at = self._changes
            try:
                result = await reading.read(self._viewer.client, self._observed())
                is_first = reading.name not in self._readings
                if is_first or self._readings[reading.name] is not result:
                    self._readings[reading.name] = result
                    self._changed.set()
                if is_first:
                    return_freed_memory()
                whole, failures = time.time(), 0
                self._works(key)
            except Unauthorized:
                self._on_expired()
                return
            except ApiError as problem:
                log.debug("reading %s: %s", reading.name, problem)
                failures += 1
                if failures > 1:
                    # One alone passes by itself: a pod went between two requests, or the server was busy.
                    why = f"{reading.name}: {problem.message}"
                    self.table.broken(key, (key,), whole, why, is_away=isinstance(problem, ConnectionProblem))
            except Exception as error:
                self._fails(key, error)
            if reading.settle is None:
                await asyncio.sleep(reading.seconds)
            else:
                await self._wait_for_change(at, reading.seconds)
                await asyncio.sleep(reading.settle)

    async def _wait_for_change(self, at: int, seconds: float) -> None:
        """Until watched objects have changed since `at`, but no longer than that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._moved:
                await self._moved.wait_for(lambda: self._changes != at)

    # Projection.

    def _note_change(self) -> None:
        self._changes += 1
        self._changed.set()

    def _observed(self) -> Observed:
        refused = frozenset(name for name, _ in self._refused)
        return Observed(self._objects, self._readings, refused, self._scopes_listed)

    async def _project(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            began = time.monotonic()
            is_news = self._may_show and self._show()
            pause = pause_after(time.monotonic() - began, is_news=is_news)
            async with self._moved:
                self._moved.notify_all()
            await asyncio.sleep(pause)

    @property
    def _may_show(self) -> bool:
        return (self._is_answered or not self._watches) and not self._unlisted

    def _show(self) -> bool:
        """Whether a row has changed."""
        try:
            rows = self._view.rows(self._observed(), time.time())
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
        """Whatever kept it from being up to date has passed."""
        self.table.whole(key)
        self._bugs = {bug for bug in self._bugs if bug[0] != key}

    def _fails(self, key: Scope | str, error: BaseException) -> None:
        """A bug of ours is said in the log, once, and on the page for as long as it lasts; also after errors of the server."""
        collections = {name for watch in self._watches.values() for name in watch.collections}
        self.table.broken(key, collections, time.time(), f"internal error: {error!r}", is_away=False)
        if (key, type(error)) not in self._bugs:
            self._bugs.add((key, type(error)))
            log.error("the page's view fails: %s", key, exc_info=error)


def pause_after(seconds: float, *, is_news: bool) -> float:
    """Seconds until the next projection, after one that took so long and has changed a row or none."""
    return PACE_SECONDS if is_news else min(PACE_SECONDS, seconds / VAIN_SHARE)


def _reading_key(reading: Reading) -> str:
    return f"reading {reading.name}"


def _reading_verb(resource: Resource) -> str:
    """Subresources, such as pods/log, are not listed."""
    return "get" if "/" in resource.plural else "list"
