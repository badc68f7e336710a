"""What became of every leaf of a source object: carried over, left to a default of the same meaning, or reported. Nothing is
dropped in silence: what no rule said anything about is reported as not understood (I7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.migrate.findings import Finding
from shunter.migrate.paths import Path, leaves

Outcome = Literal["carried", "defaulted", "reported"]
Manifest = Literal["TrainJob", "TrainingRuntime"]


class Target(NamedTuple):
    """A field of the result."""

    manifest: Manifest
    path: Path


class Row(NamedTuple):
    """What became of the field at `path` and of everything below it that has no row of its own."""

    path: Path
    outcome: Outcome
    target: Target | None = None
    """Where a carried value stands now; the same below it, step by step."""
    note: str = ""
    """Why nothing needs to be carried, or how the value was changed on its way."""
    finding: Finding | None = None


class Ledger:
    """Of two rows about the same leaf the one with the longer path counts, of two with the same path the later one."""

    def __init__(self) -> None:
        self._rows: dict[Path, Row] = {}
        self._changes: dict[Path, str] = {}

    def carried(self, path: Path, target: Target, note: str = "") -> None:
        self._rows[path] = Row(path, "carried", target, note)

    def defaulted(self, path: Path, note: str) -> None:
        """The result needs no such field to mean the same."""
        self._rows[path] = Row(path, "defaulted", None, note)

    def reported(self, path: Path, finding: Finding) -> None:
        self._rows[path] = Row(path, "reported", None, finding.message, finding)

    def changed(self, path: Path, note: str) -> None:
        """The value at `path`, or something below it, stands in the result in other words, wherever it is carried to."""
        self._changes[path] = f"{self._changes[path]}; {note}" if path in self._changes else note

    def moved(self, place: Callable[[Target], Target]) -> None:
        """Carried values stand elsewhere now: at what `place` says of where they stood."""
        self._rows = {path: row._replace(target=row.target and place(row.target)) for path, row in self._rows.items()}

    def row(self, path: Path) -> Row | None:
        """What became of the leaf at `path`, its target being that of the leaf itself; None when no rule spoke of it."""
        for length in range(len(path), -1, -1):
            row = self._rows.get(path[:length])
            if row is not None:
                target = row.target and Target(row.target.manifest, (*row.target.path, *path[length:]))
                return row._replace(path=path, target=target, note=self._note(row, path))
        return None

    def _note(self, row: Row, path: Path) -> str:
        if row.outcome != "carried" or not self._changes:
            return row.note
        changes = (self._changes.get(path[:length]) for length in range(1, len(path) + 1))
        return "; ".join(note for note in (row.note, *changes) if note)

    def rows(self, value: Json) -> list[Row]:
        """A row for each leaf that some rule spoke of, in the order of the object."""
        return [row for path, _ in leaves(value) if (row := self.row(path)) is not None]

    def unaccounted(self, value: Json) -> list[Path]:
        """The leaves that no rule spoke of."""
        return [path for path, _ in leaves(value) if self.row(path) is None]
