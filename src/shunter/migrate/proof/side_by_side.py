"""Both sides of a comparison as rows, for people and programs; equal pods of a role are grouped. More people read them than may
read the job, so credentials are masked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.api.secrets.masking import masked_values
from shunter.migrate.pods.differences import Difference, Matched
from shunter.migrate.pods.facts import Place
from shunter.migrate.proof.comparison import Comparison, secrets_of

Sameness = Literal["same", "expected", "reported", "unexplained"]


class Row(NamedTuple):
    """One fact on both sides, and the result of comparing them."""

    place: Place
    v1: Any
    v2: Any
    sameness: Sameness
    reason: str


class Block(NamedTuple):
    """Pods of one role with the same rows."""

    title: str
    """`Worker 0 to 2`."""
    hosts: tuple[str, str]
    """The host names of the first pod in v1 and v2, empty if it does not exist; `v1` and `v2` for all pods."""
    rows: tuple[Row, ...]


def blocks(comparison: Comparison, *, full: bool = False) -> list[Block]:
    """The blocks; without equal and expected rows, unless `full`."""
    if comparison.matched is None:
        return []
    found: list[tuple[str, str, tuple[str, str], tuple[Row, ...]]] = []
    by_pair = grouped_by(comparison.differences, lambda difference: difference.pair.mark)
    for pair, facts in zip(comparison.matched.pairs, comparison.matched.facts, strict=True):
        rows = tuple(_rows(facts, by_pair.get(pair.mark, []), full=full))
        hosts = (pair.v1.host if pair.v1 else "", pair.v2.host if pair.v2 else "")
        found.append((pair.role, pair.number, hosts, rows))
    secrets = secrets_of(comparison.source, comparison.matched)
    found = [(role, number, hosts, tuple(_masked(row, secrets) for row in rows)) for role, number, hosts, rows in found]
    shared = _shared([rows for _, _, _, rows in found])
    rest = [(role, number, hosts, tuple(row for row in rows if row not in shared)) for role, number, hosts, rows in found]
    whole = [Block("every pod", ("v1", "v2"), shared)] if shared else []
    return [*whole, *_folded([one for one in rest if one[3]])]


def expected_reasons(comparison: Comparison) -> list[tuple[str, int]]:
    """The reasons of expected differences, with their number, the most frequent first."""
    counts = Counter(one.reason for one in comparison.differences if one.verdict == "expected")
    return counts.most_common()


def differs(comparison: Comparison) -> bool:
    """Whether there are differences other than expected ones."""
    return comparison.matched is None or any(one.verdict != "expected" for one in comparison.differences)


def as_json(comparison: Comparison) -> Json:
    """For programs: every pair of pods with its differences, and the findings."""
    secrets = secrets_of(comparison.source, comparison.matched)
    differences = [
        one._replace(v1=masked_values(one.v1, secrets), v2=masked_values(one.v2, secrets)) for one in comparison.differences
    ]
    return {
        "object": comparison.source.title,
        "place": str(comparison.source.place()),
        "alike": comparison.is_alike,
        "pods": [*_pods(comparison.matched, differences)] if comparison.matched else [],
        "findings": [{"id": one.topic.id, "field": one.field, "message": one.message} for one in comparison.findings],
    }


def _masked(row: Row, secrets: Collection[str]) -> Row:
    return row._replace(v1=masked_values(row.v1, secrets), v2=masked_values(row.v2, secrets))


def _pods(both: Matched, differences: Iterable[Difference]) -> Iterator[Json]:
    by_pair: dict[str, list[Json]] = {}
    for one in differences:
        shown: Json = {"place": ".".join(one.place), "v1": one.v1, "v2": one.v2, "verdict": one.verdict, "reason": one.reason}
        by_pair.setdefault(one.pair.mark, []).append(shown)
    for pair in both.pairs:
        yield {
            "pod": pair.title,
            "v1": pair.v1.host if pair.v1 else None,
            "v2": pair.v2.host if pair.v2 else None,
            "differences": by_pair.get(pair.mark, []),
        }


def _rows(facts: tuple[dict[Place, Any], dict[Place, Any]], differences: list[Difference], *, full: bool) -> Iterator[Row]:
    by_place = {one.place: one for one in differences}
    if () in by_place:
        one = by_place[()]
        yield Row((), one.v1, one.v2, one.verdict, one.reason)
        return
    before, after = facts
    for place in sorted({*before, *after}) if full else sorted(by_place):
        difference = by_place.get(place)
        if difference is None:
            yield Row(place, before.get(place), after.get(place), "same", "")
        elif full or difference.verdict != "expected":
            yield Row(place, difference.v1, difference.v2, difference.verdict, difference.reason)


def _shared(all_rows: list[tuple[Row, ...]]) -> tuple[Row, ...]:
    """The rows that all pods have, if there are several."""
    if len(all_rows) < 2:
        return ()
    first, *others = all_rows
    return tuple(row for row in first if row.place and all(row in rows for rows in others))


def _folded(found: list[tuple[str, str, tuple[str, str], tuple[Row, ...]]]) -> Iterator[Block]:
    start = 0
    for place in range(1, len(found) + 1):
        role, number, hosts, rows = found[start]
        if place < len(found) and found[place][0] == role and found[place][3] == rows:
            continue
        last = found[place - 1][1]
        yield Block(f"{role} {number}" if last == number else f"{role} {number} to {last}", hosts, rows)
        start = place
