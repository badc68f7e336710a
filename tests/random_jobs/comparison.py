"""Where ours does something else than upstream's operator did both times that it was played."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from player.case import Case, Step
from player.compare import Difference, differences
from player.shape import Json


class DifferentStep(NamedTuple):
    """A step of a case after which ours differs, and in what."""

    case: str
    number: int
    step: Step
    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        head = f"{self.case}, step {self.number} ({self.step.verb} {str(self.step.argument)[:160]})"
        return "\n    ".join([head, *map(str, self.differences)])


def different_step(case: Case, upstream: list[Json], again: list[Json], ours: list[Json]) -> DifferentStep | None:
    """The first step that differs. What upstream itself does by chance is no difference, and what follows such a step is not
    compared: the states that it began from were others. Nor are warnings: ours has more of them on purpose."""
    runs = (map(_by_event, records) for records in (upstream, again, ours))
    for number, (step, first, second, mine) in enumerate(zip(case.steps, *runs, strict=True)):
        by_chance = set(_places(first, second))
        found = tuple(one for one in differences(first, mine) if one.at not in by_chance and not one.at.endswith(".warnings"))
        if found:
            return DifferentStep(case.name, number, step, found)
        if by_chance:
            return None
    return None


def _by_event(record: Json) -> Json:
    """The record with its events by their texts, each a place of its own."""
    if "events" not in record:
        return record
    events = {f"{one['object']} {one['reason']}: {one['message']}": "sent" for one in record["events"]}
    return {**record, "events": events}


def _places(first: Json, second: Json) -> Iterator[str]:
    for one in differences(first, second):
        yield one.at
