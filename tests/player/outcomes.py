"""What comes of each recording here: equal, different on purpose, or not yet equal, as tests/recordings/outcomes.yaml says it.

Tests hold every case to its outcome, the ones that differ too: a case listed there that turns out equal fails as well.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
import yaml

from player.case import Case, load

RECORDINGS = Path(__file__).parents[1] / "recordings"
Place = Literal["plans", "webhooks", "embedded", "real"]
PLACES: tuple[Place, ...] = ("plans", "webhooks", "embedded", "real")
GANG_SCHEDULERS = {"v1-volcano": "volcano", "v1-coscheduling": "scheduler-plugins-scheduler"}
"""The folders that were recorded with an operator for gangs, and what its --gang-scheduler-name was."""
CONTROLLERS = ("job", "jobset")
"""Folders that are about Kubernetes' own controllers, not about operators."""
Verdict = Literal["equal", "but events", "on purpose", "not yet", "chance"]


class Outcome(NamedTuple):
    """`but events`: equal when events are left out. `chance`: the original itself does now this and now that, so the case is not
    judged."""

    verdict: Verdict = "equal"
    reason: str = ""

    @property
    def is_met(self) -> bool:
        """Whether a test of the case passes."""
        return self.verdict in ("equal", "but events")

    @property
    def has_events(self) -> bool:
        """Whether events are compared."""
        return self.verdict != "but events"


class Recorded(NamedTuple):
    """A case by its name and the folder it is in, e.g. `v1`; it is read when it is first played."""

    folder: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def case(self) -> Case:
        return load(RECORDINGS / self.folder / f"{self.name}.yaml")

    @property
    def sections(self) -> str:
        """Which sections of the specification of the original it is about: its steps, which are long, are not read for it."""
        with (RECORDINGS / self.folder / f"{self.name}.yaml").open() as file:
            head = "".join(takewhile(lambda line: not line.startswith("steps:"), file))
        return str(yaml.load(head, yaml.CSafeLoader)["spec"])

    @property
    def gang_scheduler(self) -> str:
        """What the operator's --gang-scheduler-name was."""
        return GANG_SCHEDULERS.get(self.folder, "")


def played_on(place: Place) -> list[str]:
    """The folders that say something about a place: on a real control plane, Job and JobSet controllers are the recorded ones."""
    originals = CONTROLLERS if place == "real" else ()
    return sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir() and path.name not in originals)


def recorded(*folders: str) -> list[Recorded]:
    """The cases of these folders."""
    return [Recorded(folder, path.stem) for folder in folders for path in sorted(RECORDINGS.joinpath(folder).glob("*.yaml"))]


def outcome(one: Recorded, place: Place) -> Outcome:
    """What is to come of a case in a place."""
    return next(_listed(one, place), Outcome())


def parameters(place: Place, *folders: str) -> list[Any]:
    """The cases as parameters of a test that fails where a recording is not met."""
    return [pytest.param(one, id=one.id, marks=_marks(outcome(one, place))) for one in recorded(*folders)]


def _marks(expected: Outcome) -> list[pytest.MarkDecorator]:
    match expected.verdict:
        case "equal" | "but events":
            return []
        case "chance":
            return [pytest.mark.skip(reason=expected.reason)]
        case _:
            return [pytest.mark.xfail(strict=True, reason=f"{expected.verdict}: {expected.reason}")]


def _listed(one: Recorded, place: Place) -> Iterator[Outcome]:
    return (expected for cases, places, expected in _entries() if place in places and cases.match(one.id))


@cache
def _entries() -> list[tuple[re.Pattern[str], Collection[Place], Outcome]]:
    """Which cases each entry is about, where, and what is to come of them."""
    entries: list[dict[str, Any]] = yaml.load((RECORDINGS / "outcomes.yaml").read_text(), yaml.CSafeLoader)
    return [
        (
            re.compile("|".join(map(fnmatch.translate, entry["cases"]))),
            entry.get("where", PLACES),
            Outcome(entry["outcome"], entry["reason"]),
        )
        for entry in entries
    ]
