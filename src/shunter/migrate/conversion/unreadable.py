"""All fields of a job that do not have the types of its kind: reading stops at the first, people want to mend them at once."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

from shunter.migrate.conversion.reading import UnreadableJobError, read
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.paths import Path, value_at
from shunter.operator.training.framework import AnyFramework

_MOST = 20
"""Faults of one job that are reported."""


def faults(source: SourceObject, framework: AnyFramework, first: UnreadableJobError) -> Iterator[UnreadableJobError]:
    """The first fault, and those that are met when it is left out, and so on. What follows only from leaving out is none."""
    yield first
    known = [first.path]
    rest = replace(source, value=deepcopy(source.value))
    for _ in range(_MOST - 1):
        holder = value_at(rest.value, known[-1][:-1])
        if not known[-1] or not isinstance(holder, dict):
            return
        holder[known[-1][-1]] = None
        try:
            read(rest, framework)
        except UnreadableJobError as error:
            if any(_are_nested(error.path, path) for path in known):
                return
            yield error
            known.append(error.path)
        else:
            return


def _are_nested(one: Path, other: Path) -> bool:
    shortest = min(len(one), len(other))
    return one[:shortest] == other[:shortest]
