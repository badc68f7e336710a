"""Carries out plans: the only code that writes. It decides nothing, and may be killed between any two writes.

Writes go in the plan's order. Neighbours of the same verb and resource go together, in batches that double, as in client-go's
controllers, so that a thousand creations that are all refused (quota, webhook down) cost few requests and not a thousand. They
begin with four and not with one: the pods of a small job, which wait for one another, are created at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from shunter.api.meta import Json, MetadataOnly
from shunter.api.ownership import controller_uid
from shunter.api.resources import Resource
from shunter.api.secrets.masking import masked_log
from shunter.kube.cache.expectations import CompletedWrite
from shunter.kube.cache.store import key_of
from shunter.kube.cache.watch_events import ObjectIdentity
from shunter.kube.client import Client
from shunter.kube.controllers.plan import (
    Apply,
    ContainerLog,
    Create,
    Delete,
    Failure,
    Key,
    Note,
    Patch,
    Plan,
    Ref,
    StatusWrite,
    Write,
)
from shunter.kube.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
from shunter.kube.events import EventRecorder
from shunter.kube.merge_patch import difference
from shunter.kube.pods.log_lines import text_lines

FIRST_BATCH = 4
"""Neighbours that are sent before it is known that any of them is accepted."""
READ_LINES = 48
"""The number of lines read from the end of a log: torchrun writes about thirty lines after the exception that ended its ranks."""
LAST_LINES = 5
LAST_WORDS = 500
"""Lines and characters of an event's last words: its message may have 1024."""
LAST_WORDS_SECONDS = 5.0
"""A log comes through the API server and a node, both of which may be busy just when a job fails: 2 seconds were too few."""
LONGEST_LINE = 256
"""Characters of a line in a status."""

_TRANSIENT_CODES = (0, 429, 503, 504)


class Outcome(NamedTuple):
    """What the server carried out, and the write that it refused, if any; writes after that one were not sent."""

    written: tuple[CompletedWrite, ...]
    failure: Failure | None = None


class Executor:
    """Writes as one component."""

    def __init__(self, client: Client, recorder: EventRecorder | None = None) -> None:
        self._client = client
        self._recorder = recorder

    async def execute(self, plan: Plan, wait: Callable[[float], Awaitable[None]] = asyncio.sleep) -> Outcome:
        """Writes, then the status, then the events, or the plan's other order; stops at the first failure. Cancelling it stops
        between requests. `wait` is called with the seconds for which the plan's status may wait."""
        logs = {note.last_words for note in plan.events} | {one.log for one in (plan.status.last_lines if plan.status else ())}
        read = [log for log in logs if log is not None]
        log_lines = dict(zip(read, await asyncio.gather(*map(self._last_lines, read)), strict=True))
        events = [_with_last_words(note, log_lines) for note in plan.events]
        status = _with_last_lines(plan.status, log_lines)
        written: list[CompletedWrite] = []
        steps = (partial(self._carry_out, plan.writes, written), partial(self._report, status, events, written))
        for number, step in enumerate(reversed(steps) if plan.is_status_first else steps):
            if number and plan.writes and plan.status_after:
                await wait(plan.status_after)
            if (failure := await step()) is not None:
                return Outcome(tuple(written), failure)
        return Outcome(tuple(written))

    async def _carry_out(self, writes: Sequence[Write], written: list[CompletedWrite]) -> Failure | None:
        """The first refusal; what was carried out is added to `written`."""
        for batch in batches(writes):
            results = await asyncio.gather(*(self._write(write) for write in batch), return_exceptions=True)
            failures, is_reported = [result for result in results if isinstance(result, Failure)], False
            for write, result in zip(batch, results, strict=True):
                if isinstance(result, Failure):
                    # One for the batch: the others were most likely refused for the same reason.
                    is_reported = is_reported or self._record_refusal(write, result)
                elif not isinstance(result, BaseException):
                    self._record_success(write, result)
            written += [result for result in results if isinstance(result, CompletedWrite)]
            for error in results:
                if isinstance(error, BaseException):
                    raise error
            if failures:
                return failures[0]
        return None

    async def _report(self, status: StatusWrite | None, events: Sequence[Note], written: list[CompletedWrite]) -> Failure | None:
        """Writes the status, and once that is done records the events."""
        result = await self._write_status(status) if status is not None else None
        if isinstance(result, Failure):
            return result
        if result:
            written.append(result)
        for note in events:
            self._record(note)
        return None

    async def _write(self, write: Write) -> CompletedWrite | Failure | None:
        """None if the object no longer exists."""
        try:
            return await self._send(write)
        except ApiError as error:
            return Failure(write, error.code, "Conflict" if _is_conflict(error) else error.reason, error.message)

    def _record_success(self, write: Write, written: CompletedWrite | None) -> None:
        if write.succeeded and (written or isinstance(write, Create)):
            self._record(_filled(write.succeeded, "{name}", written.key.name if written else ""))

    def _record_refusal(self, write: Write, failure: Failure) -> bool:
        """Whether an event was recorded."""
        if not write.failed or not concerns_user(failure):
            return False
        self._record(_filled(write.failed, "{error}", failure.message))
        return True

    async def _send(self, write: Write) -> CompletedWrite | None:
        """None also for what was posted to a subresource: its answer does not say which version it led to."""
        match write:
            case Create(resource=resource, body=body, subresource=subresource) if subresource:
                await self._client.create(resource, body, subresource=subresource, name=body["metadata"]["name"])
                return None
            case Create(resource=resource, body=body):
                return await self._create(resource, body)
            case Apply(resource=resource, body=body, field_manager=manager):
                applied = await self._client.apply(resource, body, field_manager=manager, view=ObjectIdentity)
                return _written(resource, applied)
            case Patch(ref=ref, patch=patch, subresource=subresource):
                return await self._patch(ref, _guarded(patch, ref), subresource)
            case Delete(ref=ref):
                return await self._delete(write)

    async def _create(self, resource: Resource, body: Json) -> CompletedWrite:
        try:
            return _written(resource, await self._client.create(resource, body, view=ObjectIdentity))
        except AlreadyExists:
            # By ourselves, when the answer to an earlier attempt was lost and the caches have not seen the object yet.
            present = await self._present(resource, body["metadata"])
            if present is None:
                raise
            return present

    async def _present(self, resource: Resource, desired: Json) -> CompletedWrite | None:
        """The object of the desired name, if it has the same owner and labels. Listed, as controllers may not `get`."""
        selector = f"metadata.name={desired['name']}"
        try:
            found = await self._client.list(resource, desired.get("namespace", ""), view=MetadataOnly, field_selector=selector)
        except ApiError:
            return None
        present = next((one for one in found.items if one.metadata.name == desired["name"]), None)
        if present is None:
            return None
        metadata = present.metadata
        owner = controller_uid({"metadata": desired})
        is_ours = metadata.is_controlled_by(owner) and metadata.deletion_timestamp is None
        if not is_ours or not desired.get("labels", {}).items() <= metadata.labels.items():
            return None
        return CompletedWrite(resource, key_of(present), metadata.uid, metadata.resource_version)

    async def _patch(self, ref: Ref, patch: Json, subresource: str) -> CompletedWrite | None:
        try:
            patched = await self._client.patch(
                ref.resource, ref.name, ref.namespace, patch, subresource=subresource, view=ObjectIdentity
            )
        except NotFound:
            return None
        return _written(ref.resource, patched)

    async def _delete(self, write: Delete) -> CompletedWrite | None:
        ref = write.ref
        try:
            answer = await self._client.delete(
                ref.resource,
                ref.name,
                ref.namespace,
                uid=ref.uid,
                propagation=write.propagation,
                grace_period_seconds=write.grace_period_seconds,
            )
        except NotFound:
            return None
        except Conflict:
            if not ref.uid:
                raise
            # The uid is the only precondition: what was to be deleted is gone, and the name has a new owner.
            return None
        return CompletedWrite(ref.resource, Key(ref.namespace, ref.name), ref.uid or _deleted_uid(answer))

    async def _write_status(self, status: StatusWrite) -> CompletedWrite | Failure | None:
        patch = difference(status.observed, status.desired)
        if not patch:
            return None
        # An empty status is left out: a schema may ask for at least one property.
        body = _guarded({"status": patch if status.desired else None}, status.ref)
        if status.resource_version:
            body = {**body, "metadata": {**body.get("metadata", {}), "resourceVersion": status.resource_version}}
        try:
            return await self._patch(status.ref, body, "status")
        except ApiError as error:
            return Failure(status, error.code, "Conflict" if _is_conflict(error) else error.reason, error.message)

    async def _last_lines(self, log: ContainerLog) -> list[str]:
        """The last lines of a log, without credentials: more users read events and statuses than logs. None where the log cannot
        be read, or not soon."""
        chunks = self._client.logs(log.pod, log.namespace, container=log.container, previous=log.previous, tail_lines=READ_LINES)
        try:
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                return masked_log("\n".join([line async for line in text_lines(chunks)]), ()).split("\n")
        except (ApiError, TimeoutError):
            return []

    def _record(self, note: Note) -> None:
        if self._recorder:
            self._recorder.record(note)


def batches(writes: Sequence[Write]) -> Iterator[Sequence[Write]]:
    """Runs of writes of the same verb and resource, cut into batches that double from the first."""
    for _, run in groupby(writes, key=lambda write: (type(write), _resource(write))):
        waiting = list(run)
        size = FIRST_BATCH
        while waiting:
            yield waiting[:size]
            waiting = waiting[size:]
            size *= 2


def concerns_user(failure: Failure) -> bool:
    """Whether a failure says something about what the user asked for, and not only that this was a bad moment."""
    return failure.code not in _TRANSIENT_CODES and failure.reason != "Conflict"


def _resource(write: Write) -> Resource:
    return write.resource if isinstance(write, Create | Apply) else write.ref.resource


def _guarded(patch: Json, ref: Ref) -> Json:
    """The patch with the ref's uid as precondition."""
    if not ref.uid:
        return patch
    return {**patch, "metadata": {**patch.get("metadata", {}), "uid": ref.uid}}


def _is_conflict(error: ApiError) -> bool:
    """A patch that carries another uid is a Conflict for some kinds and, without a resourceVersion, Invalid for others."""
    if isinstance(error, Conflict):
        return True
    causes = error.status.details.causes if isinstance(error, Invalid) and error.status.details else ()
    return any(cause.field == "metadata.uid" for cause in causes)


def _written(resource: Resource, answer: ObjectIdentity) -> CompletedWrite:
    metadata = answer.metadata
    return CompletedWrite(resource, metadata.key, metadata.uid, metadata.resource_version, metadata.is_released)


def _deleted_uid(answer: Json) -> str:
    """From a DELETE's answer: the object while its deletion is under way, else a Status."""
    uid = answer.get("metadata", {}).get("uid") or answer.get("details", {}).get("uid")
    return str(uid or "")


def _with_last_words(note: Note, log_lines: Mapping[ContainerLog, Sequence[str]]) -> Note:
    lines = log_lines[note.last_words] if note.last_words is not None else ()
    words = "\n".join(lines[-LAST_LINES:]).strip()[-LAST_WORDS:]
    return msgspec.structs.replace(note, message=f"{note.message}. Last log lines:\n{words}") if words else note


def _with_last_lines(status: StatusWrite | None, log_lines: Mapping[ContainerLog, Sequence[str]]) -> StatusWrite | None:
    """The status with the lines that were read in the places for them."""
    for place in status.last_lines if status else ():
        if line := place.choose(log_lines[place.log]).strip():
            assert status is not None
            desired = _replaced(status.desired, place.path, line[:LONGEST_LINE])
            status = msgspec.structs.replace(status, desired=desired)
    return status


def _replaced(value: Any, path: Sequence[str | int], text: str) -> Any:
    """A copy of the JSON value that has the text at the path."""
    if not path:
        return text
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        return [_replaced(item, rest, text) if number == first else item for number, item in enumerate(value)]
    return {**value, first: _replaced(value.get(first), rest, text)}


def _filled(note: Note, mark: str, text: str) -> Note:
    return msgspec.structs.replace(note, message=note.message.replace(mark, text))
