"""Groups findings for people: each cause once, equal ones together. Reports for programs keep every finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shunter.api.formats.counts import count, listed
from shunter.migrate.findings import Finding

_MOST_OF_A_TOPIC = 10
"""Groups of one topic that are shown in full; the others are counted."""
_PLACE = re.compile(r"\S+:\d+:\d+")
_ROLES = "ReplicaSpecs"


class Group(NamedTuple):
    """A finding, and equal ones about other objects or places."""

    first: Finding
    others: tuple[Finding, ...] = ()

    @property
    def line(self) -> str:
        """`TORCH004: 400 jobs, also at b.yaml:3:1, c.yaml:3:1 and 397 more places.`; empty for a finding by itself."""
        if not self.others:
            return ""
        objects = dict.fromkeys(finding.object for finding in (self.first, *self.others))
        thing = "job" if all(title.partition(" ")[0].endswith("Job") for title in objects) else "object"
        number = count(len(objects), thing) if len(objects) > 1 else count(len(self.others) + 1, "time")
        return f"{self.first.topic.id}: {number}, also at {listed([str(finding.place) for finding in self.others])}."


def once_per_cause(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without duplicates: roles that share a text by a YAML anchor have each finding twice."""
    found: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        cause = (finding.topic.id, finding.place, finding.is_blocking, _general(finding, finding.message))
        found.setdefault(cause if finding.place.line else (*cause, finding.object, finding.path), finding)
    return [*found.values()]


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """Groups of equal findings, in the order of their first ones, blocking findings of an object before its others. If a topic
    has too many groups, its last one has the rest."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in _blocking_first(once_per_cause(findings)):
        key = (finding.topic.id, finding.is_blocking, _general(finding, finding.message), _general(finding, finding.advice))
        groups.setdefault(key, []).append(finding)
    kept: dict[tuple[str, bool], list[list[Finding]]] = {}
    for group in groups.values():
        of_topic = kept.setdefault((group[0].topic.id, group[0].is_blocking), [])
        if len(of_topic) < _MOST_OF_A_TOPIC:
            of_topic.append(group)
        else:
            of_topic[-1].extend(group)
    order = {id(finding): number for number, finding in enumerate(group[0] for group in groups.values())}
    ordered = sorted((group for of_topic in kept.values() for group in of_topic), key=lambda group: order[id(group[0])])
    return [Group(first, tuple(others)) for first, *others in ordered]


class Blocks(NamedTuple):
    """Jobs that are blocked by the same topics."""

    jobs: tuple[str, ...]
    topics: tuple[str, ...]
    acceptable: tuple[str, ...]
    """The topics that --accept can suppress."""

    @property
    def lines(self) -> list[str]:
        """`Blocked: PyTorchJob training/bert (FIELD001, RESTART001).` and what to do about it."""
        left = [id for id in self.topics if id not in self.acceptable]
        advice = [f"{' and '.join(left)} cannot be suppressed: correct the source."] if left else []
        if self.acceptable:
            rest = "suppress the rest" if left else "convert all the same"
            advice.append(f"To {rest}, add --accept {','.join(self.acceptable)}.")
        return [f"Blocked: {listed(self.jobs)} ({', '.join(self.topics)}).", *(f"    {line}" for line in advice)]


def blocks(findings_of_jobs: Iterable[tuple[str, Sequence[Finding]]]) -> list[Blocks]:
    """The blocked jobs, by title, with the topics that block them; jobs with the same topics together."""
    found: dict[tuple[str, ...], tuple[list[str], set[str]]] = {}
    for title, findings in findings_of_jobs:
        blocking = [finding for finding in findings if finding.is_blocking]
        ids = tuple(sorted({finding.topic.id for finding in blocking}))
        if ids:
            jobs, acceptable = found.setdefault(ids, ([], set()))
            jobs.append(title)
            acceptable.update(finding.topic.id for finding in blocking if finding.topic.acceptable)
    return [Blocks(tuple(jobs), ids, tuple(sorted(acceptable))) for ids, (jobs, acceptable) in found.items()]


def _blocking_first(findings: list[Finding]) -> list[Finding]:
    """In the order of the objects, the blocking findings of each first."""
    order: dict[str, int] = {}
    for finding in findings:
        order.setdefault(finding.object, len(order))
    return sorted(findings, key=lambda finding: (order[finding.object], not finding.is_blocking))


def _general(finding: Finding, text: str) -> str:
    """A message without the object's name, the role, and places, to compare it with others."""
    text = _PLACE.sub("*", text)
    name = finding.object.rpartition(" ")[2]
    words = {finding.object, name, name.rpartition("/")[2]} - {""}
    if len(finding.path) > 2 and str(finding.path[1]).endswith(_ROLES):
        words.add(str(finding.path[2]))
    if not any(word in text for word in words):
        return text
    return re.sub(rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})(?![\w-])", "*", text)
