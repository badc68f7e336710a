"""What became of every leaf of a source object: carried over, left to a default of the same meaning, or reported. Nothing is
dropped in silence: what no rule said anything about is reported as not understood (I7).
"""

from __future__ import annotations

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

    def carried(self, path: Path, target: Target, note: str = "") -> None:
        self._rows[path] = Row(path, "carried", target, note)

    def defaulted(self, path: Path, note: str) -> None:
        """The result needs no such field to mean the same."""
        self._rows[path] = Row(path, "defaulted", None, note)

    def reported(self, path: Path, finding: Finding) -> None:
        self._rows[path] = Row(path, "reported", None, finding.message, finding)

    def row(self, path: Path) -> Row | None:
        """What became of the leaf at `path`, its target being that of the leaf itself; None when no rule spoke of it."""
        for length in range(len(path), -1, -1):
            row = self._rows.get(path[:length])
            if row is not None:
                target = row.target and Target(row.target.manifest, (*row.target.path, *path[length:]))
                return row._replace(path=path, target=target)
        return None

    def rows(self, value: Json) -> list[Row]:
        """A row for each leaf that some rule spoke of, in the order of the object."""
        return [row for path, _ in leaves(value) if (row := self.row(path)) is not None]

    def unaccounted(self, value: Json) -> list[Path]:
        """The leaves that no rule spoke of."""
        return [path for path, _ in leaves(value) if self.row(path) is None]
