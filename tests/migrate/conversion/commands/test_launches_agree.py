"""`scale` and the doctor see the launchers of a container that the migration sees, with the same options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from jobs.commands.test_launches import NONE, TORCHRUN_WITH_2
from migrate_scenarios import CASES, cases
from shunter.jobs.commands.launchers import Started
from shunter.jobs.commands.launches import launchers_in
from shunter.migrate.conversion.commands import understood

Words = tuple[str, ...]


def commands_in(value: Any) -> Iterator[Words]:
    """The words of each container; a YAML alias may stand for what is around it."""
    left, seen = [value], set()
    while left:
        one = left.pop()
        if not isinstance(one, dict | list) or id(one) in seen:
            continue
        seen.add(id(one))
        left += one.values() if isinstance(one, dict) else one
        if isinstance(one, dict) and "image" in one:
            words = [word for name in ("command", "args") if isinstance(one.get(name), list) for word in one[name]]
            if words and all(isinstance(word, str) for word in words):
                yield tuple(words)


def of_the_scenarios() -> list[Words]:
    found: dict[Words, None] = {}
    for path in cases(CASES):
        try:
            documents = [*yaml.load_all(path.read_text(), yaml.CSafeLoader)]
        except (yaml.YAMLError, UnicodeDecodeError):  # templates, and what is no YAML on purpose
            continue
        found |= dict.fromkeys(commands_in(documents))
    return [*found]


def seen_by_migration(words: Words) -> Iterator[Started]:
    """The launchers, those behind a launcher as well, which it tells what to start. No file is written by a text."""
    for found in understood({"command": [*words]}).started:
        if found.launcher not in {"python", "unknown"}:
            yield found
            if found.program:
                yield from seen_by_migration(tuple(word.value for word in found.program))


def values(found: Started) -> dict[str, str]:
    """Without those that are replaced at run time: the migration takes a variable's default for its value."""
    return {name: one.value for name, one in found.options.items() if "$" not in one.value}


TEXTS = [("bash", "-c", line.replace(r"\n", "\n")) for line in (NONE + TORCHRUN_WITH_2).strip().split("\n")]


@pytest.mark.parametrize("words", [*TEXTS, *of_the_scenarios()], ids=lambda words: " ".join(words)[:60])
def test_launchers_agree(words: Words) -> None:
    ours, others = launchers_in(words), [*seen_by_migration(words)]
    assert [(one.launcher, [*one.options]) for one in ours] == [(one.launcher, [*one.options]) for one in others]
    for one, other in zip(ours, others, strict=True):
        assert values(one).items() <= values(other).items()


def test_the_scenarios_have_launchers_of_each_kind() -> None:
    found = [one.launcher for words in of_the_scenarios() for one in launchers_in(words)]
    assert {"torchrun", "accelerate", "deepspeed", "mpirun"} <= {*found}
    assert len(found) > 50
