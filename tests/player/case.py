"""Cases: what was played against the original controllers, and what was recorded after each step.

A recording is YAML: name, about, spec, and steps, each with the `step` itself (apply, patch, status, pods, delete, wait), the API
server's `answers`, objects `new` and `changed` and `removed`, and `events`.
"""

from __future__ import annotations

import fnmatch
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

_SECONDS = re.compile("DeadlineSeconds|ttlSeconds")


class Step(NamedTuple):
    """One step: the verb, its argument, and everything recorded after it."""

    verb: str
    argument: Any
    recorded: dict[str, Any]


class Case(NamedTuple):
    name: str
    about: str
    steps: tuple[Step, ...]

    @property
    def namespace(self) -> str:
        """The namespace a case is played in; messages in recordings name it."""
        return f"g-{self.name}"

    @property
    def is_timed(self) -> bool:
        """Whether seconds pass in it that count: a wait, a deadline, a time to live."""
        return any(step.verb == "wait" or _SECONDS.search(str(step.argument)) for step in self.steps)


@cache
def load(path: Path) -> Case:
    """A recorded case, read once a process: whoever changes an object of it copies it first. Its name is its file's."""
    document = yaml.load(path.read_text(), yaml.CSafeLoader)
    steps = []
    for entry in document["steps"]:
        ((verb, argument),) = entry["step"].items()
        steps.append(Step(verb, argument, {key: value for key, value in entry.items() if key != "step"}))
    assert document["name"] == path.stem, path
    return Case(document["name"], document["about"], tuple(steps))


def cases(folder: Path, pattern: str = "*") -> list[Case]:
    return [load(path) for path in sorted(folder.glob("*.yaml")) if fnmatch.fnmatch(path.stem, pattern)]
