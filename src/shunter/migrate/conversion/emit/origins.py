"""From which field of the source each field of a result comes: what the rows say of leaves, carried up to what holds them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from shunter.migrate.conversion.ledger import Manifest, Row, Target
from shunter.migrate.paths import Path

_SAME = (("apiVersion",), ("kind",), ("metadata",), ("spec",))
"""What every object has."""
_NODES = Target("TrainJob", ("spec", "trainer", "numNodes"))
"""Where the replicas of all roles are counted."""


class Origins:
    """Made of the rows of one conversion, of which those without a target say nothing here."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = [row for row in rows if row.target is not None]
        self._sources: dict[Target, list[Path]] = {}
        self._targets: dict[Path, Target] = {}
        self._holding: set[Target] = set()
        for path in _SAME:
            self._climb(path, Target("TrainJob", path))
        for row in self._rows:
            assert row.target is not None
            self._hold(row.target)
            self._climb(row.path, row.target)

    def _hold(self, target: Target) -> None:
        """What holds a field that is held already is held as well."""
        while target not in self._holding:
            self._holding.add(target)
            target = Target(target.manifest, target.path[:-1])

    def _climb(self, source: Path, target: Target) -> None:
        """Relates the two, and then what holds them as far as names agree. What holds fields with other names is no counterpart,
        but the order of its fields still counts: `trainer` and the container that its image comes from."""
        manifest, path = target
        self._targets.setdefault(source, target)
        while True:
            known = self._sources.setdefault(Target(manifest, path), [])
            if source in known:
                return
            known.append(source)
            if not source or not path or not _corresponds(source[-1], path[-1]):
                return
            self._targets.setdefault(source, Target(manifest, path))
            source, path = source[:-1], path[:-1]

    def has_any(self, target: Target) -> bool:
        """Whether the field, or something below it, comes from the source."""
        return target in self._holding

    def source(self, target: Target) -> Path | None:
        """The first one that has the field's own name, or else the first."""
        known = self._sources.get(target)
        if not known:
            return None
        if len(known) == 1:
            return known[0]
        name = target.path[-1:]
        return next((path for path in known if path[-1:] == name), known[0])

    def targets(self, source: Path) -> list[Target]:
        """Where the field stands now; for how many replicas a role has, the places that may say it, best first."""
        target = self._targets.get(source)
        if target is not None or len(source) != 4 or source[-1] != "replicas":
            return [target] if target is not None else []
        template = self._targets.get((*source[:-1], "template"))
        if template is None or template.manifest != "TrainingRuntime" or len(template.path) < 4:
            return [_NODES]
        job = template.path[:-3]
        return [
            Target("TrainingRuntime", (*job, "replicas")),
            Target("TrainingRuntime", (*job, "template", "spec", "parallelism")),
            _NODES,
        ]

    def near(self, source: Path) -> Target | None:
        """The smallest part of the TrainJob that holds whatever came from below the field, or else of the runtime; None when
        nothing did."""
        below = [row.target for row in self._rows if row.path[: len(source)] == source and row.target is not None]
        manifests: tuple[Manifest, ...] = ("TrainJob", "TrainingRuntime")
        for manifest in manifests:
            paths = [target.path for target in below if target.manifest == manifest]
            if paths:
                common: Path = _common(paths)
                return Target(manifest, common if len(paths) > 1 else common[:-1] or common)
        return None


def _common(paths: list[Path]) -> Path:
    """The beginning that all of them share."""
    steps = takewhile(lambda column: len(set(column)) == 1, zip(*paths, strict=False))
    return tuple(column[0] for column in steps)


def _corresponds(left: str | int, right: str | int) -> bool:
    """Items of lists correspond wherever they stand: some may have been left out before them."""
    return left == right or (isinstance(left, int) and isinstance(right, int))
