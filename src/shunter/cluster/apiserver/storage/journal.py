"""The journal on disk: the current state of all durable objects in SQLite, written by one thread with group commit.

A write is acknowledged only after its transaction is committed and synced (WAL, synchronous=FULL), so a kill -9 loses no
acknowledged write; all writes queued while the disk was busy go into the next transaction, so durability costs nothing under
load. There is no history on disk: watches start over after a restart (410, clients list again).

Space for the write-ahead log is allocated in advance, so deletions still work on a full disk, which is how users free space.

Revisions of objects that are kept in memory only must not come back after a restart either, so the file holds a ceiling that
always lies above every revision handed out, and a start continues from it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple, Protocol

from shunter.cluster.apiserver.storage import state_file

log = logging.getLogger(__name__)

_UPSERT = "insert or replace into objects values (?, ?, ?, ?, ?, ?, ?)"
_FURTHER_ROW = ", (?, ?, ?, ?, ?, ?, ?)"
_ROWS_AT_ONCE = 64
"""Every statement gives the interpreter's lock away and has to get it back from the loop's thread, so a transaction takes few."""
_DELETE = "delete from objects where api_group = ? and resource = ? and namespace = ? and name = ?"

_RESERVE_BYTES = 8 * 2**20
"""Twice what the write-ahead log grows to before SQLite begins it anew (1,000 pages)."""
_REVISIONS_AHEAD = 10_000
"""How far the ceiling runs ahead: one row more in every ten-thousandth revision's transaction."""


class Row(NamedTuple):
    """One object on disk."""

    group: str
    plural: str
    namespace: str
    name: str
    revision: int
    value: bytes


class Entry(Protocol):
    """What can be appended: rows to write or delete (none for objects that live in memory), and its place in the order."""

    revision: int
    generation: int
    """Writes build on one another; after a failed commit all writes of that generation fail."""

    def upsert(self) -> Row | None:
        """The row to write, in place of the object's earlier one; None for a deletion too."""

    def delete(self) -> tuple[str, str, str, str] | None:
        """API group, resource, namespace and name of the row to delete; None unless a durable object is deleted."""


class Journal:
    """The writer thread and its file. `committed` and `failed` are called on the loop, in the order of the appends."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._db = state_file.opened(path)
        _reserve(path.with_name(f"{path.name}-wal"))
        self._ceiling: int = self._db.execute("select ceiling from revisions").fetchone()[0]
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._failed_generation = -1
        self._failure: Exception = sqlite3.OperationalError("an earlier write failed")
        self._thread: Thread | None = None

    @property
    def ceiling(self) -> int:
        """No revision above it was ever handed out before this start."""
        return self._ceiling

    def rows(self) -> Iterator[Row]:
        """All rows on disk; call it before `start`. Raises EnvironmentProblem when the file or a row is damaged."""
        try:
            for *columns, checksum in self._db.execute("select * from objects order by api_group, resource, namespace, name"):
                row = Row(*columns)
                if state_file.checksum(*row) != checksum:
                    what = f"{row.plural} {row.namespace}/{row.name} is not what was written".replace(" /", " ")
                    raise state_file.damaged(self._path, what)
                yield row
        except sqlite3.DatabaseError as error:
            raise state_file.damaged(self._path, str(error)) from error

    def start(
        self,
        loop: AbstractEventLoop,
        committed: Callable[[list[Entry]], None],
        failed: Callable[[list[Entry], Exception], None],
    ) -> None:
        """Starts the writer thread, which does not keep the process alive; what was appended before is written then."""
        self._thread = Thread(target=self._run, args=(loop, committed, failed), name="journal", daemon=True)
        self._thread.start()

    def append(self, entry: Entry) -> None:
        """Returns at once; `committed` or `failed` is called once it is known whether the write is on disk."""
        self._queue.put(entry)

    def close(self) -> None:
        """Commits what is queued, folds the write-ahead log into the file, and closes it."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        self._db.execute("pragma wal_checkpoint(truncate)")
        self._db.close()

    def _run(
        self,
        loop: AbstractEventLoop,
        committed: Callable[[list[Entry]], None],
        failed: Callable[[list[Entry], Exception], None],
    ) -> None:
        open_ = True
        while open_:
            entries, open_ = self._queued()
            good = [entry for entry in entries if entry.generation > self._failed_generation]
            if len(good) < len(entries):
                late = [entry for entry in entries if entry.generation <= self._failed_generation]
                loop.call_soon_threadsafe(failed, late, self._failure)
            if not good:
                continue
            try:
                self._commit(good)
            except sqlite3.Error as error:
                log.error("commit of %d writes failed: %s", len(good), error)
                self._failed_generation, self._failure = good[-1].generation, error
                loop.call_soon_threadsafe(failed, good, error)
            else:
                loop.call_soon_threadsafe(committed, good)

    def _queued(self) -> tuple[list[Entry], bool]:
        """Waits for one entry, then takes all that are there; False when the journal is being closed."""
        entries: list[Entry] = []
        entry = self._queue.get()
        while entry is not None:
            entries.append(entry)
            try:
                entry = self._queue.get_nowait()
            except Empty:
                return entries, True
        return entries, False

    def _commit(self, entries: list[Entry]) -> None:
        last = entries[-1].revision
        raise_ceiling = last > self._ceiling - _REVISIONS_AHEAD // 2
        ceiling = last + _REVISIONS_AHEAD if raise_ceiling else self._ceiling
        rows, gone = _outcome(entries)
        if not (raise_ceiling or rows or gone):
            return
        self._db.execute("begin immediate")
        try:
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                part = rows[start : start + _ROWS_AT_ONCE]
                self._db.execute(
                    _UPSERT + _FURTHER_ROW * (len(part) - 1),
                    [value for row in part for value in (*row, state_file.checksum(*row))],
                )
            self._db.executemany(_DELETE, gone)
            if raise_ceiling:
                self._db.execute("update revisions set ceiling = ?", (ceiling,))
            self._db.execute("commit")
        except sqlite3.Error:
            if self._db.in_transaction:
                self._db.execute("rollback")
            raise
        self._ceiling = ceiling


def _reserve(log: Path) -> None:
    """Allocates space for the write-ahead log. SQLite reads it up to the first incomplete frame, so zeros at its end do not
    matter, and never shortens it while it is open."""
    if hasattr(os, "posix_fallocate"):
        with suppress(OSError), log.open("r+b") as file:  # full already, or a file system that cannot
            os.posix_fallocate(file.fileno(), 0, _RESERVE_BYTES)


def _outcome(entries: list[Entry]) -> tuple[list[Row], list[tuple[str, str, str, str]]]:
    """The rows that a transaction of these entries must write and delete: the last state of each object."""
    states: dict[tuple[str, str, str, str], Row | None] = {}
    for entry in entries:
        row, gone = entry.upsert(), entry.delete()
        if row is not None:
            states[row[:4]] = row
        elif gone is not None:
            states[gone] = None
    return [row for row in states.values() if row is not None], [key for key, row in states.items() if row is None]
