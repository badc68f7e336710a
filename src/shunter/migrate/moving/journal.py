"""The journal: records each write before and after it is made, in a file and in ConfigMaps.

A record is synced to the file and written to a ConfigMap before its write. So after a kill the next run, on this machine or
another, finds every write that may have happened.

Only its user can read the file (mode 0600); it contains deleted jobs in full. The ConfigMaps do not, because others may read
their namespace: copies of deleted jobs are in the jobs' own namespaces (`copies`).
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
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving import copies
from shunter.migrate.moving.annotations import PLAN

RECORDS_EACH = 100
"""Records of one ConfigMap. A record that contains a deleted object (without namespace) has its own ConfigMap."""

Phase = Literal["intended", "done", "undoing", "undone"]


class Record(Struct, frozen=True):
    """A phase of one step; the last record of a step is its current state."""

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
    """SHA-256 of the object before the write; empty if there was none."""
    after: str = ""
    """SHA-256 of the object after the write; empty if it was deleted."""
    undo: Json = {}
    """The merge patch that undoes a patch, or the object that was deleted."""
    state: str = ""
    """A deleted job's state."""
    job: str = ""
    """The title of the v1 job; empty for a step of no job."""
    outcome: str = ""
    """Why nothing was written (`it is already in this state`); such a step is not undone."""

    @property
    def title(self) -> str:
        """`TrainJob training/bert`: the object that is written, not the v1 job."""
        return object_title(self.kind, self.namespace, self.name)

    @property
    def object(self) -> tuple[str, str, str]:
        """Kind, namespace and name. A later object with the same name has the same."""
        return self.kind, self.namespace, self.name

    @property
    def is_copied(self) -> bool:
        """Whether a copy of the deleted object is saved in the object's namespace."""
        return self.verb == "delete" and bool(self.namespace and self.before)

    @property
    def without_undo(self) -> Record:
        """The record as it is written to the journal's namespace."""
        return msgspec.structs.replace(self, undo={}) if self.is_copied else self

    def after_write(self, phase: Phase, obj: Json | None) -> Record:
        """The record after its write; `obj` is the object as the server returned it, None after a deletion."""
        if obj is None:
            return msgspec.structs.replace(self, phase=phase, after="")
        return msgspec.structs.replace(self, phase=phase, after=digest(obj), uid=str(obj["metadata"]["uid"]))


class Journal:
    """The records of one plan, in order. As a context manager it locks the file against other processes."""

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
        """Which ConfigMaps could not be read, and why; empty if all were read."""

    def __enter__(self) -> Journal:
        """Opens and locks the file. EnvironmentProblem while another process has locked it."""
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
        """Reads file and ConfigMaps and merges them. EnvironmentProblem if they differ, or if the ConfigMaps may not be read; but
        if the journal is not entered (a preview), the file is enough, and `unread` has the reason."""
        in_file = {record.number: record for record in _records(self._path)}
        try:
            in_cluster = {record.number: record for record in await self._mirrored()}
        except Forbidden as error:
            if self._file is not None:
                raise self._not_allowed(error) from error
            in_cluster, self.unread = {}, error.message
        if differing := sorted(
            number
            for number in in_file.keys() & in_cluster.keys()
            if in_file[number].without_undo != in_cluster[number].without_undo
        ):
            raise EnvironmentProblem(
                f"the journal {self._path} and its ConfigMaps in namespace {self.namespace} differ from record {differing[0]} on:"
                " another machine continued this plan.",
                "Continue there, or move the file away: the ConfigMaps have what was done.",
            )
        self.records = await self._with_copies([record for _, record in sorted({**in_cluster, **in_file}.items())])
        for record in self.records:
            self._index(record)
        if self._file is not None:
            self._write(record for record in self.records if record.number not in in_file)
        self._not_mirrored = [record for record in self.records if record.number not in in_cluster]

    def last(self, step: str) -> Record | None:
        """The last record of a step."""
        return self._last.get(step)

    def digest(self, kind: str, namespace: str, name: str) -> str:
        """The digest of an object after our last completed write to it; empty if there was none, or it was a deletion."""
        records = reversed(self._of.get((kind, namespace, name), ()))
        return next((record.after for record in records if record.phase in ("done", "undone")), "")

    def of(self, kind: str, namespace: str, name: str) -> Sequence[Record]:
        """The records of an object's steps."""
        return self._of.get((kind, namespace, name), ())

    def digests(self, kind: str, namespace: str, name: str) -> set[str]:
        """The digests that an object may have after our writes to it, completed or not."""
        return {record.after for record in self._of.get((kind, namespace, name), ())}

    async def announce(self, record: Record) -> Record:
        """Writes a record to the file and to the cluster, and returns it with number and time. ApiError, and nothing is recorded,
        if the copy of an object that will be deleted cannot be saved."""
        if record.is_copied and record.phase == "intended":
            await copies.save(self._client, self._plan_id, record.namespace, record.undo, record.before)
        record = self.note(record)
        await self.mirror()
        return record

    def note(self, record: Record) -> Record:
        """Writes a record to the file, and returns it with number and time; `announce` or `mirror` writes it to the cluster."""
        number = self.records[-1].number + 1 if self.records else 1
        record = msgspec.structs.replace(record, number=number, at=rfc3339(self._now()))
        self._write([record])
        self.records.append(record)
        self._index(record)
        self._not_mirrored.append(record)
        return record

    def _index(self, record: Record) -> None:
        self._last[record.step] = record
        self._of.setdefault(record.object, []).append(record)

    async def mirror(self) -> None:
        """Returns when all records made before the call are in the ConfigMaps. Concurrent calls share their writes."""
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
            data = {f"{record.number:06}": msgspec.json.encode(record.without_undo).decode() for record in some}
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
            await self._client.create(CONFIG_MAPS, CONFIG_MAPS.typed({"metadata": metadata, "data": data}))
        except AlreadyExists:
            await self._client.patch(CONFIG_MAPS, name, self.namespace, {"data": data})
        except NotFound as error:
            raise InputError(
                f"plan: journalNamespace: the cluster has no namespace {self.namespace!r}.", "Name one that exists."
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
        return [self._decoded(obj, key) for obj in found for key in sorted(obj.get("data") or {})]

    def _decoded(self, obj: Json, key: str) -> Record:
        try:
            return msgspec.json.decode(obj["data"][key], type=Record)
        except msgspec.MsgspecError as error:
            raise EnvironmentProblem(
                f"ConfigMap {self.namespace}/{obj['metadata']['name']}: {key} is not a record of a journal: {error}.",
                f"Another version wrote it, or it was edited. If {self._path} has all records, delete the ConfigMap: apply "
                "and rollback write it again.",
            ) from error

    async def _with_copies(self, records: Sequence[Record]) -> list[Record]:
        """The records, with the copies of objects that another machine deleted."""
        wanted = {(record.namespace, record.before): record for record in records if record.is_copied and not record.undo}
        found = dict(zip(wanted, await asyncio.gather(*map(self._copy, wanted.values())), strict=True))
        return [
            msgspec.structs.replace(record, undo=record.undo or found.get((record.namespace, record.before), {}))
            for record in records
        ]

    async def _copy(self, record: Record) -> Json:
        """The copy of a deleted object; empty if it cannot be read, and `unread` has the reason."""
        where = f"{record.title}: its copy, ConfigMap {record.namespace}/{copies.name(self._plan_id, record.before)}"
        try:
            copy = await copies.saved(self._client, self._plan_id, record.namespace, record.before)
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
    """The records of a file. A last line that was cut off by a kill is ignored: its write was not made."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise EnvironmentProblem(f"the journal {path}: {error.strerror}.", "Name another place: --journal DIR") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            found.append(msgspec.json.decode(line, type=Record))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            if number == len(lines):
                break
            raise InputError(f"{path}:{number}: not a record of a journal: {error}.") from error
    return found


def _private(path: str, flags: int) -> int:
    """Opens a file that only its user may read, and restricts an existing one."""
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
        if record.without_undo.undo and record.verb == "delete"
        else str((record.number - 1) // RECORDS_EACH)
    )
