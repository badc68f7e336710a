"""Where the pods of both sides differ: every pair of pods, fact by fact, each difference with what explains it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from shunter.migrate.pods.facts import Facts, Place, Side
from shunter.migrate.pods.hosts import Hosts
from shunter.migrate.pods.sides import V1, V2, Replica

Verdict = Literal["expected", "reported", "unexplained"]
"""`expected`: follows from how v2 works, and means the same. `reported`: a finding of the conversion says it."""


class Pair(NamedTuple):
    """One pod of v1 and the one that takes its place; None where a side has none."""

    mark: str
    """What stands for the pod's names in facts: `<Worker 1>`."""
    v1: Replica | None
    v2: Replica | None

    @property
    def title(self) -> str:
        """`Worker 1`."""
        return self.mark.strip("<>")

    @property
    def role(self) -> str:
        """`Worker`."""
        return self.title.rpartition(" ")[0]

    @property
    def number(self) -> str:
        """`1`, as text."""
        return self.title.rpartition(" ")[2]


class Difference(NamedTuple):
    """One fact that the two pods of a pair say differently, or a pod without a counterpart."""

    pair: Pair
    place: Place
    """Empty for a pod that has no counterpart."""
    v1: Any
    """None where the side says nothing."""
    v2: Any
    verdict: Verdict = "unexplained"
    reason: str = ""
    """The rule that explains it, or the id of the finding that reports it."""


@dataclass(frozen=True)
class Matched:
    """Both sides with their pods paired, and what each pair says."""

    v1: V1
    v2: V2
    pairs: tuple[Pair, ...]
    facts: tuple[tuple[Facts, Facts], ...]
    """The facts of each pair; empty for a missing pod."""
    hosts: tuple[Hosts, Hosts]

    def differences(self) -> Iterator[Difference]:
        """All of them, not judged yet: pods in rank order, facts in the order of v1."""
        for pair, (before, after) in zip(self.pairs, self.facts, strict=True):
            if pair.v1 is None or pair.v2 is None:
                yield Difference(pair, (), pair.v1 and pair.v1.host, pair.v2 and pair.v2.host)
                continue
            for place, value in before.items():
                other = after.get(place)
                if value != other:
                    yield Difference(pair, place, value, other)
            for place, value in after.items():
                if place not in before and value is not None:
                    yield Difference(pair, place, None, value)


class UnofferedError(ValueError):
    """A variable of a pod refers to what Kubernetes does not offer."""

    def __init__(self, text: str, *, in_v1: bool) -> None:
        super().__init__(text)
        self.in_v1 = in_v1


def matched(v1: V1, v2: V2) -> Matched:
    """Pairs the pods. Raises UnofferedError."""
    pairs = tuple(paired(v1, v2))
    hosts = (
        Hosts({pair.v1.host: pair.mark for pair in pairs if pair.v1}, v1.job.namespace),
        Hosts({pair.v2.host: pair.mark for pair in pairs if pair.v2}, v2.jobset["metadata"]["namespace"]),
    )
    before = Side(hosts[0], {pair.mark: pair.v1.pod["metadata"].get("labels") or {} for pair in pairs if pair.v1})
    after = Side(hosts[1], {pair.mark: pair.v2.pod["metadata"].get("labels") or {} for pair in pairs if pair.v2})
    facts = tuple((_facts(before, pair.v1, in_v1=True), _facts(after, pair.v2, in_v1=False)) for pair in pairs)
    return Matched(v1, v2, pairs, facts, hosts)


def _facts(side: Side, replica: Replica | None, *, in_v1: bool) -> Facts:
    try:
        return side.facts(replica) if replica else {}
    except ValueError as error:
        raise UnofferedError(str(error), in_v1=in_v1) from error


def paired(v1: V1, v2: V2) -> Iterator[Pair]:
    """A replicated job of a role's name that has as many pods has the pods of that role. All other pods are paired in rank order:
    completion index 0 of `node` is rank 0."""
    sizes = [Counter(replica.role.lower() for replica in side.replicas) for side in (v1, v2)]
    named = [role for role, size in sizes[0].items() if sizes[1].get(role) == size]
    for role in named:
        yield from _side_by_side(
            [replica for replica in v1.replicas if replica.role.lower() == role],
            [replica for replica in v2.replicas if replica.role == role],
        )
    yield from _side_by_side(
        [replica for replica in v1.replicas if replica.role.lower() not in named],
        [replica for replica in v2.replicas if replica.role not in named],
    )


def _side_by_side(first: list[Replica], second: list[Replica]) -> Iterator[Pair]:
    for before, after in zip_longest(first, second):
        named = before or after
        yield Pair(f"<{named.role} {named.index}>", before, after)
