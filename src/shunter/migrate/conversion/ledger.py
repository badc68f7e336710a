"""What became of every leaf of a source object: carried over, left to a default of the same meaning, or reported. Nothing is
dropped in silence: what no rule said anything about is reported as not understood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from shunter.api.meta import Json
from shunter.migrate.findings import Finding
from shunter.migrate.paths import Path

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
    """The rows about fields. Of two rows about the same leaf the one with the longer path counts, of two with the same path the
    later one."""

    def __init__(self) -> None:
        self._rows: dict[Path, Row] = {}
        self._changes: dict[Path, str] = {}

    def carried(self, path: Path, target: Target, note: str = "") -> None:
        """What stands at `path` stands at `target` now, all that is below it too."""
        self._rows[path] = Row(path, "carried", target, note)

    def defaulted(self, path: Path, note: str) -> None:
        """The result needs no such field to mean the same."""
        self._rows[path] = Row(path, "defaulted", None, note)

    def reported(self, path: Path, finding: Finding) -> None:
        """What stands at `path` has no place in the result; the finding tells the user."""
        self._rows[path] = Row(path, "reported", None, finding.message, finding)

    def changed(self, path: Path, note: str) -> None:
        """The value at `path`, or something below it, stands in the result in other words, wherever it is carried to."""
        self._changes[path] = f"{self._changes[path]}; {note}" if path in self._changes else note

    def moved(self, place: Callable[[Target], Target]) -> None:
        """Carried values stand elsewhere now: at what `place` says of where they stood."""
        self._rows = {path: row._replace(target=row.target and place(row.target)) for path, row in self._rows.items()}

    def row(self, path: Path) -> Row | None:
        """What became of the field at `path`; None when no rule spoke of it."""
        rows = (self._rows.get(path[:length]) for length in range(len(path), -1, -1))
        return next((row for row in rows if row is not None), None)

    def account(self, value: Json) -> list[tuple[Path, Any, Row | None]]:
        """Every leaf of the source with its value and what became of it, in the order of the object; None for a leaf that no rule
        spoke of. A row's path and target are those of the leaf itself, and its note also says how values were changed."""
        found: list[tuple[Path, Any, Row | None]] = []
        self._account(value, (), None, (), found)
        return found

    def _account(
        self, value: Any, path: Path, row: Row | None, changes: tuple[str, ...], found: list[tuple[Path, Any, Row | None]]
    ) -> None:
        row = self._rows.get(path, row)
        if path in self._changes:
            changes = (*changes, self._changes[path])
        if value and isinstance(value, dict):
            for key, inner in value.items():
                self._account(inner, (*path, key), row, changes, found)
        elif value and isinstance(value, list):
            for index, inner in enumerate(value):
                self._account(inner, (*path, index), row, changes, found)
        else:
            found.append((path, value, row and _of_leaf(row, path, changes)))


def _of_leaf(row: Row, path: Path, changes: tuple[str, ...]) -> Row:
    if row.target is None:
        return Row(path, row.outcome, None, row.note, row.finding)
    target = Target(row.target.manifest, row.target.path + path[len(row.path) :])
    note = "; ".join(note for note in (row.note, *changes) if note) if changes else row.note
    return Row(path, row.outcome, target, note, row.finding)
