"""A live view of a few objects: list, then watch, and list again whenever the watch breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.kube.cache.watch_events import Change
from shunter.kube.client import Client
from shunter.kube.errors import PASSING, ApiError, ConnectionProblem, Gone

RETRY_SECONDS = 0.5
SILENCE_TIMEOUT_SECONDS = 60.0
"""How long a server may be silent: longer than any restart of one, shorter than a person waits without wondering."""


class WatchedObject(NamedTuple):
    """An object as it is now, or, with `gone`, as it was last."""

    object: Json
    gone: bool = False


async def follow(
    client: Client,
    resource: Resource,
    namespace: str,
    *,
    label_selector: str = "",
    field_selector: str = "",
    initial: Sequence[Json] = (),
    keeps_objects: bool = True,
    on_listed: Callable[[], None] = lambda: None,
    on_silence: Callable[[ApiError], None] = lambda _: None,
    silence: float | None = None,
) -> AsyncGenerator[WatchedObject]:
    """Every object that matches, then each change of them, for ever. Survives restarts of the server: objects that went
    meanwhile, or since the caller saw them (`initial`), are reported gone; without `keeps_objects`, for callers that keep of
    thousands what they need, such a one has its uid and nothing else. Who leaves off must close the generator (`aclosing`), which
    ends the watch.

    `on_listed` is called after each list, once all its objects have been reported. `on_silence` is called once when the server
    stops answering, and again whenever it changes between errors and no answers; after SILENCE_TIMEOUT_SECONDS in all the error
    is raised. A watch without events for `silence` seconds is restarted: bookmarks come every minute, so the connection is dead.
    """
    now = asyncio.get_running_loop().time
    silent_since = 0.0
    reported_away: bool | None = None
    """Whether the silence that was reported last is one without answers; None while none was reported."""
    last: dict[str, Json | None] = {item["metadata"]["uid"]: item if keeps_objects else None for item in initial}
    while True:
        try:
            page = await client.list(resource, namespace, label_selector=label_selector, field_selector=field_selector)
            silent_since, reported_away = 0.0, None
            # The items of a list of a built-in kind do not say what they are.
            present = {item["metadata"]["uid"]: resource.typed(item) for item in page.items}
            resource_version = page.resource_version
            del page
            for uid in [uid for uid in last if uid not in present]:
                yield WatchedObject(last.pop(uid) or {"metadata": {"uid": uid}}, gone=True)
            for uid, item in present.items():
                last[uid] = item if keeps_objects else None
                yield WatchedObject(item)
            present.clear()
            on_listed()
            changes = client.watch(
                resource,
                namespace,
                resource_version=resource_version,
                label_selector=label_selector,
                field_selector=field_selector,
                silence=silence,
            )
            async with aclosing(changes):
                async for change in changes:
                    if not isinstance(change, Change):
                        continue
                    uid = change.object["metadata"]["uid"]
                    if change.type == "DELETED":
                        last.pop(uid, None)
                    else:
                        last[uid] = change.object if keeps_objects else None
                    yield WatchedObject(change.object, gone=change.type == "DELETED")
        except Gone:
            await asyncio.sleep(RETRY_SECONDS)
        except PASSING as problem:
            if not silent_since:
                silent_since = now()
            elif now() - silent_since > SILENCE_TIMEOUT_SECONDS:
                raise
            elif reported_away != isinstance(problem, ConnectionProblem):
                reported_away = isinstance(problem, ConnectionProblem)
                on_silence(problem)
            await asyncio.sleep(RETRY_SECONDS)


async def no_answer(client: Client, seconds: float) -> ConnectionProblem | None:
    """Why the server has not answered once within so many seconds, or None as soon as it does, whatever its answer is."""
    problem = ConnectionProblem(f"GET /version: no answer within {seconds:g} s.")
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    # Not one of the requests of which only so many are made at once: those may be what waits.
                    async with aclosing(client.stream("/version")) as answer:
                        await anext(answer, b"")
                except ConnectionProblem as found:
                    problem = found
                    await asyncio.sleep(RETRY_SECONDS)
                except ApiError:
                    return None
                else:
                    return None
    except TimeoutError:
        return problem
