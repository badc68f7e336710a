"""Explains a field of a v1 job, with the result of converting an example."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.ledger import Row
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Topic
from shunter.migrate.options import Options
from shunter.migrate.paths import Path, path_text


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of fields.yaml. In `field`, `*` stands for any role, and `spec.roles` for the kind's `...ReplicaSpecs`."""

    field: str
    v1: str
    v2: str
    example: Any = None
    """A value for an example; without it, nothing is converted."""
    kind: str = ""
    """The kind of the example, if it is not a PyTorchJob."""

    @property
    def steps(self) -> tuple[str, ...]:
        """The parts of `field`."""
        return tuple(self.field.split("."))


class ConvertedExample(NamedTuple):
    """An example and the result of its conversion."""

    kind: str
    path: str
    value: Any
    rows: tuple[Row, ...]
    topics: tuple[Topic, ...]


@cache
def guide() -> tuple[Field, ...]:
    """All fields that can be explained, in reading order."""
    text = files(__package__ or "").joinpath("fields.yaml").read_bytes()
    return tuple(msgspec.yaml.decode(text, type=list[Field]))


def matching(path: str) -> list[Field]:
    """The entries that match a path such as `spec.runPolicy.suspend`, `runPolicy.suspend` or `suspend`, with any roles and
    indexes. If none matches, the entries that contain the path, else the longest ones of which it is a subfield."""
    steps = tuple(step for step in re.sub(r"\[[^]]*\]", "", path).strip(".").split(".") if step)
    wanted = tuple("roles" if step.lower().endswith("replicaspecs") else step for step in steps)
    exact = [field for field in guide() if _ends_with(field.steps, wanted)]
    if exact or not wanted:
        return exact
    inner = [field for field in guide() if _contains(field.steps, wanted)]
    if inner:
        return inner
    above = [field for field in guide() if _starts_with(wanted, field.steps)]
    longest = max((len(field.steps) for field in above), default=0)
    return [field for field in above if len(field.steps) == longest]


def example_of(field: Field) -> ConvertedExample | None:
    """The field's example, converted."""
    if field.example is None:
        return None
    kind = _kind_of(field)
    path = tuple(_steps(field, kind))
    job = _smallest_job(kind)
    _put(job, path, field.example)
    outcome = converted([SourceObject(job, "example")], Options()).outcomes[0]
    rows = tuple(row for row in outcome.conversion.rows if row.path[: len(path)] == path) if outcome.conversion else ()
    topics = tuple(dict.fromkeys(found.topic for found in outcome.findings if found.path[: len(path)] == path))
    return ConvertedExample(kind.resource.kind, path_text(path), field.example, rows, topics)


def lines(field: Field) -> Iterator[tuple[str, str]]:
    """Headings and texts; the first has no heading."""
    yield "", field.field.replace("spec.roles", "spec.<kind>ReplicaSpecs")
    yield "v1", field.v1
    yield "v2", field.v2
    example = example_of(field)
    if example is None:
        return
    yield "Example", f"{example.kind} {example.path}: {msgspec.json.encode(example.value).decode()}"
    for row in example.rows:
        if row.target is not None:
            note = f" ({row.note})" if row.note else ""
            yield "Becomes", f"{row.target.manifest} {path_text(row.target.path)}{note}"
        elif row.outcome == "defaulted":
            yield "Becomes", f"nothing: {row.note}"
        else:
            yield "Becomes", f"nothing ({path_text(row.path)} is in a finding)"
    for topic in example.topics:
        yield "Finding", f"{topic.id}: {topic.title} ({topic.severity}{', blocking' if topic.impact == 'blocking' else ''})"


def _ends_with(path: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    tail = path[-len(wanted) :]
    return len(tail) == len(wanted) and all(map(_same, tail, wanted))


def _contains(path: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Whether the path contains the steps, in sequence, beginning with a name."""
    starts = [place for place, step in enumerate(path) if step.lower() == wanted[0].lower()]
    return any(len(path) - start >= len(wanted) and all(map(_same, path[start:], wanted)) for start in starts)


def _starts_with(path: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Whether the path begins with `wanted`, with or without `spec`."""
    return any(len(path) >= len(start) and all(map(_same, path, start)) for start in (wanted, ("spec", *wanted)) if start)


def _same(one: str, other: str) -> bool:
    return "*" in (one, other) or one.lower() == other.lower()


def _kind_of(field: Field) -> JobKind:
    return next(kind for kind in JOB_KINDS if kind.resource.kind == (field.kind or "PyTorchJob"))


def _steps(field: Field, kind: JobKind) -> Iterator[str | int]:
    for step in field.steps:
        if step == "roles":
            yield kind.replica_specs
        elif step == "*":
            yield kind.roles[0]
        else:
            yield step
            if step == "containers":
                yield 0


def _smallest_job(kind: JobKind) -> Json:
    container = {"name": kind.container, "image": "trainer:1", "command": ["torchrun", "train.py"]}
    spec = {"template": {"spec": {"containers": [container]}}}
    roles = {role: copy.deepcopy(spec) for role in kind.roles if role in ("Master", "Worker", "Launcher")}
    return kind.resource.typed({"metadata": {"name": "example", "namespace": "team-a"}, "spec": {kind.replica_specs: roles}})


def _put(value: Any, path: Path, example: Any) -> None:
    """Sets the value at the path, and creates the objects on the way."""
    for step, following in pairwise(path):
        if isinstance(value, dict):
            value = value.setdefault(step, [] if isinstance(following, int) else {})
        else:
            if not value:
                value.append({})
            value = value[step]
    value[path[-1]] = example
