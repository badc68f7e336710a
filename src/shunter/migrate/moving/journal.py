"""The journal: records each write before and after it is done, on this machine and in the cluster.

The file is synced before the write that it announces, the ConfigMaps take the records of each step before it as well. So the next
run after a kill, here or on another machine, finds every write that may have happened.

The file is its user's alone (mode 0600) and holds deleted jobs whole. The ConfigMaps do not, as others may read their namespace:
a copy is kept in the job's own (`copies`).
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Literal

import msgspec

from shunter.api.grouping import grouped_by
from shunter.api.meta import Json, Struct, rfc3339
from shunter.api.resources import CONFIG_MAPS
from shunter.api.titles import object_title
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, Forbidden, NotFound
from shunter.migrate.moving import copies
from shunter.migrate.moving.marks import PLAN

RECORDS_EACH = 100
"""Records of one ConfigMap, which is written whole for each of them. One that has a deleted object in it (of no namespace) has a
ConfigMap of its own."""
COPIES_AT_ONCE = 50
"""Copies of deleted jobs that are read at the same time."""

Phase = Literal["intended", "done", "undoing", "undone"]


class Record(Struct, frozen=True):
    """One thing that is known about one step; of several the last counts."""

    number: int
    step: str
    phase: Phase
    at: str
    verb: str
    api_version: str
    kind: str
    plural: str
    name: str
    namespace: str = ""
    uid: str = ""
    before: str = ""
    """SHA-256 of the object before; empty when there was none."""
    after: str = ""
    """SHA-256 of the object after; empty when it is gone."""
    undo: Json = {}
    """The merge patch that takes a patch back, or the object that was deleted."""
    state: str = ""
    """A deleted job's state."""
    job: str = ""
    """The v1 job whose step it is."""
    outcome: str = ""
    """What was found instead of something to do: `it was there already`. Nothing of it is taken back."""

    @property
    def title(self) -> str:
        """`TrainJob training/bert`: the object that was written, not the v1 job."""
        return object_title(self.kind, self.namespace, self.name)

    @property
    def object(self) -> tuple[str, str, str]:
        """Kind, namespace and name. Another object made under the name later has the same."""
        return self.kind, self.namespace, self.name

    @property
    def is_copied(self) -> bool:
        """Whether what brings its object back is kept in the object's own namespace."""
        return self.verb == "delete" and bool(self.namespace and self.before)

    @property
    def for_others(self) -> Record:
        """The record as the journal's namespace may hold it."""
        return msgspec.structs.replace(self, undo={}) if self.is_copied else self


class Journal:
    """The records of one plan, in order. As a context it is this process's alone."""

    def __init__(
        self,
        directory: Path,
        plan_id: str,
        client: Client,
        namespace: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.records: list[Record] = []
        self._last: dict[str, Record] = {}
        self._of: dict[tuple[str, str, str], list[Record]] = {}
        self._path = directory / f"{plan_id}.jsonl"
        self._plan_id = plan_id
        self._client = client
        self.namespace = namespace
        self._now = now
        self._file: IO[bytes] | None = None
        self._not_mirrored: list[Record] = []
        self._mirroring = asyncio.Lock()
        self.unread = ""
        """What of the ConfigMaps was not read, and why; empty when all was."""

    def __enter__(self) -> Journal:
        """Takes the file. EnvironmentProblem while another process has it."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self._path, "ab", opener=_private)
        except OSError as error:
            raise EnvironmentProblem(
                f"the journal {self._path}: {error.strerror}.", "Name another place: --journal DIR"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise EnvironmentProblem(
                f"the journal {self._path} is in use: another process applies or rolls back this plan.",
                "Wait until it has ended.",
            ) from error
        _cut_torn_line(self._path)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._file is not None, "entered"
        self._file.close()

    async def load(self) -> None:
        """Reads file and ConfigMaps, and brings each up to what the other knows. EnvironmentProblem when they disagree, or, where
        something is going to be written, may not be read; for a preview the file alone does (`unread` says why)."""
        in_file = {record.number: record for record in _records(self._path)}
        try:
            in_cluster = {record.number: record for record in await self._mirrored()}
        except Forbidden as error:
            if self._file is not None:
                raise self._not_allowed(error) from error
            in_cluster, self.unread = {}, error.message
        if differing := sorted(
            number for number in in_file.keys() & in_cluster.keys() if in_file[number].for_others != in_cluster[number].for_others
        ):
            raise EnvironmentProblem(
                f"the journal {self._path} and its ConfigMaps in namespace {self.namespace} differ from record {differing[0]} on:"
                " another machine went on with this plan.",
                "Go on there, or move the file away: the ConfigMaps have what was done.",
            )
        self.records = await self._with_copies([record for _, record in sorted({**in_cluster, **in_file}.items())])
        for record in self.records:
            self._know(record)
        if self._file is not None:
            self._write(record for record in self.records if record.number not in in_file)
        self._not_mirrored = [record for record in self.records if record.number not in in_cluster]

    def last(self, step: str) -> Record | None:
        """The last record of a step."""
        return self._last.get(step)

    def digest(self, kind: str, namespace: str, name: str) -> str:
        """What an object was after our last write to it that was answered; empty when there was none, or it took it away."""
        records = reversed(self._of.get((kind, namespace, name), ()))
        return next((record.after for record in records if record.phase in ("done", "undone")), "")

    def of(self, kind: str, namespace: str, name: str) -> Sequence[Record]:
        """What is known of an object's steps."""
        return self._of.get((kind, namespace, name), ())

    def digests(self, kind: str, namespace: str, name: str) -> set[str]:
        """What an object may be by our writes to it, answered or not."""
        return {record.after for record in self._of.get((kind, namespace, name), ())}

    async def announce(self, record: Record) -> Record:
        """The record with number and time, safe in the file and in the cluster before this returns. ApiError, and nothing is
        noted, when the copy of what is to be deleted cannot be kept."""
        if record.is_copied and record.phase == "intended":
            await copies.keep(self._client, self._plan_id, record.namespace, record.undo, record.before)
        record = self.note(record)
        await self.mirror()
        return record

    def note(self, record: Record) -> Record:
        """The record, safe in the file; the cluster gets it with the next one that is announced, or with `mirror`."""
        number = self.records[-1].number + 1 if self.records else 1
        record = msgspec.structs.replace(record, number=number, at=rfc3339(self._now()))
        self._write([record])
        self.records.append(record)
        self._know(record)
        self._not_mirrored.append(record)
        return record

    def _know(self, record: Record) -> None:
        self._last[record.step] = record
        self._of.setdefault(record.object, []).append(record)

    async def mirror(self) -> None:
        """Returns when all records noted before the call are in the ConfigMaps. Calls at the same time share their writes."""
        async with self._mirroring:
            records, self._not_mirrored = self._not_mirrored, []
            try:
                await self._mirror(records)
            except BaseException:
                self._not_mirrored = [*records, *self._not_mirrored]
                raise

    async def _mirror(self, records: Iterable[Record]) -> None:
        shards = grouped_by(records, _shard)
        for shard, some in shards.items():
            data = {f"{record.number:06}": msgspec.json.encode(record.for_others).decode() for record in some}
            name = f"shunter-migration-{self._plan_id}-{shard}"
            try:
                await self._client.patch(CONFIG_MAPS, name, self.namespace, {"data": data})
            except NotFound:
                await self._create(name, data)
            except Forbidden as error:
                raise self._not_allowed(error) from error

    async def _create(self, name: str, data: dict[str, str]) -> None:
        metadata = {"name": name, "namespace": self.namespace, "labels": {PLAN: self._plan_id}}
        try:
            await self._client.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        except AlreadyExists:
            await self._client.patch(CONFIG_MAPS, name, self.namespace, {"data": data})
        except NotFound as error:
            raise InputError(
                f"plan: journalNamespace: the cluster has no namespace {self.namespace!r}.", "Name one that is there."
            ) from error
        except Forbidden as error:
            raise self._not_allowed(error) from error

    def _not_allowed(self, error: Forbidden) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"the journal's ConfigMaps in namespace {self.namespace}: {error.message}",
            "Moving jobs takes get, list, create and patch of ConfigMaps there; or set journalNamespace in the plan.",
        )

    async def _mirrored(self) -> list[Record]:
        found = (await self._client.list(CONFIG_MAPS, self.namespace, label_selector=f"{PLAN}={self._plan_id}")).items
        texts = [text for obj in found for _, text in sorted((obj.get("data") or {}).items())]
        return [msgspec.json.decode(text, type=Record) for text in texts]

    async def _with_copies(self, records: Sequence[Record]) -> list[Record]:
        """The records, each with what brings its object back, also where another machine deleted it."""
        wanted = {(record.namespace, record.before): record for record in records if record.is_copied and not record.undo}
        keys = list(wanted)
        found: dict[tuple[str, str], Json] = {}
        for start in range(0, len(keys), COPIES_AT_ONCE):
            some = keys[start : start + COPIES_AT_ONCE]
            found.update(zip(some, await asyncio.gather(*(self._copy(wanted[key]) for key in some)), strict=True))
        return [
            msgspec.structs.replace(record, undo=record.undo or found.get((record.namespace, record.before), {}))
            for record in records
        ]

    async def _copy(self, record: Record) -> Json:
        """What brings a deleted object back; empty when it cannot be had, and `unread` says why."""
        where = f"{record.title}: its copy, ConfigMap {record.namespace}/{copies.name(self._plan_id, record.before)}"
        try:
            copy = await copies.kept(self._client, self._plan_id, record.namespace, record.before)
        except Forbidden as error:
            if self._file is not None:
                raise EnvironmentProblem(f"{where}: {error.message}", copies.RIGHTS) from error
            self.unread = f"{where}: {error.message}"
            return {}
        if not copy:
            self.unread = f"{where}, is gone or was changed; the journal's file where it was deleted has another"
        return copy

    def _write(self, records: Iterable[Record]) -> None:
        assert self._file is not None, "entered"
        self._file.write(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
        self._file.flush()
        os.fsync(self._file.fileno())


def _records(path: Path) -> list[Record]:
    """The records of a file. A last line that was torn by a kill announced nothing that was done."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    found = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            found.append(msgspec.json.decode(line, type=Record))
        except msgspec.MsgspecError as error:
            if number == len(lines):
                break
            raise InputError(f"{path}:{number}: not a record of a journal: {error}.") from error
    return found


def _private(path: str, flags: int) -> int:
    """Opens a file that nobody but its user may read, also one that was made before."""
    descriptor = os.open(path, flags, 0o600)
    with contextlib.suppress(PermissionError):
        os.fchmod(descriptor, 0o600)
    return descriptor


def _cut_torn_line(path: Path) -> None:
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)


def _shard(record: Record) -> str:
    return (
        f"{record.number}-deleted"
        if record.for_others.undo and record.verb == "delete"
        else str((record.number - 1) // RECORDS_EACH)
    )
