"""The programs of a job that can be read, container by container: what rules about their texts have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.jobs.commands.arguments import SourceRange
from shunter.migrate.conversion.commands.pod_reads import words_and_texts
from shunter.migrate.conversion.commands.reads import line_of
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.excerpts import excerpt
from shunter.migrate.paths import Path

_CONTAINERS = ("initContainers", "containers")
_COMMENT = re.compile(r"[ \t]*#(?!\s*define\b)")
"""How a line begins that no program runs; one of C that gives a value a name is none."""
_REMARK = late_pattern(r"(?:^|(?<=\s))(?:#|//)[^\n]*", re.MULTILINE)


class Programs(NamedTuple):
    """A container of v1 roles that are written alike."""

    roles: tuple[str, ...]
    group: Group
    path: Path
    """In the source, of the first role."""
    field: str
    container: Json
    volumes: list[Json]
    texts: Sequence[tuple[str, SourceRange]]
    """All that stands in words, hooks, probes and mounted files, each once."""


class Match(NamedTuple):
    """Where a text of a program first fits a pattern."""

    path: Path
    """In the source."""
    offset: int | None
    line: str
    """The line as findings show it."""
    text: str
    """What fits."""


def all_programs(draft: Draft) -> Sequence[Programs]:
    """The containers of all roles; of roles that are written alike once."""
    if draft.programs is None:
        draft.programs = [*_programs(draft)]
    return draft.programs


def _programs(draft: Draft) -> Iterator[Programs]:
    alike: dict[bytes, list[str]] = {}
    for role in draft.job.replicas:
        if draft.job.replica_count(role) and any(role in group.roles for group in draft.groups):
            spec = draft.job.replicas[role].template.get("spec") or {}
            key = msgspec.json.encode([spec.get(field) for field in (*_CONTAINERS, "volumes")])
            alike.setdefault(key, []).append(role)
    for roles in alike.values():
        spec = draft.job.replicas[roles[0]].template.get("spec") or {}
        for field in _CONTAINERS:
            for index, container in enumerate(spec.get(field) or ()):
                path = (*draft.role_path(roles[0]), "template", "spec", field, index)
                group, volumes = draft.group_of(roles[0]), spec.get("volumes") or []
                texts = words_and_texts(container, volumes, draft.texts_of)
                yield Programs(tuple(roles), group, path, field, container, volumes, texts)


def matches(programs: Programs, pattern: re.Pattern[str]) -> Iterator[Match]:
    """The first match in each text of the container that has one."""
    for text, spot in programs.texts:
        if match := first_match(pattern, text):
            path, offset = place(programs, spot, spot.offset(match.start()))
            yield Match(path, offset, quoted(text, match.start(), spot), match[0])


def has_any(programs: Programs, words: Iterable[str]) -> bool:
    """Whether one of the words stands in a text: what most texts have not, and a pattern that holds a job's name needs, is asked
    before that is compiled."""
    return any(word in text for word in words for text, _ in programs.texts)


@lru_cache(maxsize=8192)
def first_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match that begins in no comment line. Jobs of one team have most of their texts in common, and rules ask the
    same of one text."""
    return next((match for match in pattern.finditer(text) if not is_in_comment(text, match.start())), None)


def is_in_comment(text: str, start: int) -> bool:
    """Whether the place is in a line that no program runs."""
    return _COMMENT.match(text, text.rfind("\n", 0, start) + 1) is not None


def without_comments(text: str) -> str:
    """The text with blanks for all comments, also those behind code, so that places in it stay what they are."""
    return _REMARK.sub(lambda comment: " " * len(comment[0]), text)


def place(programs: Programs, spot: SourceRange, start: int) -> tuple[Path, int | None]:
    """In the source; of a file of a ConfigMap the mounts of the container."""
    if spot.file:
        return (*programs.path, "volumeMounts"), None
    return (*programs.path, *spot.path), start


def quoted(text: str, start: int, spot: SourceRange, *, with_number: bool = False) -> str:
    """The line of a text in which something stands, as findings name it: `ConfigMap scripts, run.sh: 'hostname -s'`. Of a Secret
    only its number: reports are read by people who may not read the Secret. With the number in any case where a reader has to
    find the line in a long file."""
    number = f" line {text.count(chr(10), 0, start) + 1}" if with_number or spot.is_secret else ""
    where = f"{spot.file}, {spot.path[-1]}{number}" if spot.file else ""
    if spot.is_secret:
        return where
    shown = excerpt(line_of(text, start))
    return f"{where}: {shown!r}" if where else repr(shown)
