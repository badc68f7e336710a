"""What programs of both sides would read of their own pod: host names and variables, pod by pod.

The pods are those that the proof compares; here they are only asked.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.cluster.node.runtime.protocol import host_name, uses_host_network
from shunter.errors import InputError
from shunter.migrate.options import Options
from shunter.migrate.pods.differences import Pair, paired
from shunter.migrate.pods.effective import effective_container
from shunter.migrate.pods.hosts import common_beginning
from shunter.migrate.pods.sides import Replica, v1_side, v2_side

_NUMBER = late_pattern(r"[0-9]+$")
_SHOWN = 8
"""Pods of which both values are shown; of larger jobs the first ones."""

_LONGEST, _BEFORE = 60, 20
"""Characters of a value that are shown, and how many of them before the first difference."""


class PodValue(NamedTuple):
    """What one pod reads on either side."""

    pod: str
    """`Worker 1`."""
    v1: str
    v2: str

    @property
    def numbers(self) -> tuple[str, str]:
        """The numbers at the ends of both values; empty where there is none."""
        return _number(self.v1), _number(self.v2)


class PodValues:
    """The values of one job's pods."""

    def __init__(self, pairs: tuple[Pair, ...]) -> None:
        self._pairs = pairs

    def host_names(self, roles: Collection[str]) -> list[PodValue]:
        """What `hostname` says in each pod of the v1 roles: nothing for pods that have the name of their node."""
        return [
            PodValue(pair.title, host_name(pair.v1.pod), host_name(pair.v2.pod))
            for pair in self._pairs
            if pair.v1 and pair.v2 and pair.v1.role in roles and not uses_host_network(pair.v1.pod)
        ]

    def variables(self, roles: Collection[str], field: str, container: str, variable: str) -> list[PodValue]:
        """A variable of a container of each pod of the v1 roles, in those pods that have it on both sides. `field` is
        `containers` or `initContainers`, `container` the name that it has in v1."""
        found = []
        for pair in self._pairs:
            if pair.v1 is None or pair.v2 is None or pair.v1.role not in roles:
                continue
            trains = field == "containers" and container == pair.v1.container
            before = _variable(pair.v1, field, container, variable)
            after = _variable(pair.v2, field, pair.v2.container if trains else container, variable)
            if before is not None and after is not None:
                found.append(PodValue(pair.title, before, after))
        return found


def pod_values(source: Json, train_job: Json, runtime: Json | None, options: Options) -> PodValues | None:
    """None when one side gets no pods."""
    try:
        return PodValues(tuple(paired(v1_side(source, options), v2_side(train_job, runtime))))
    except (InputError, ValueError):
        return None


def values_text(values: list[PodValue]) -> str:
    """`Master 0: bert-master-0 in v1, bert-node-0-0 in v2; ...`. Of long values the first pod's, from where they differ on."""
    if max(len(values[0].v1), len(values[0].v2)) > _LONGEST:
        start = max(len(common_beginning(*values[0][1:])) - _BEFORE, 0)
        before, after = (f"...{value[start : start + _LONGEST]}..." for value in values[0][1:])
        return f"{values[0].pod}: {before} in v1, {after} in v2"
    shown = "; ".join(f"{one.pod}: {one.v1} in v1, {one.v2} in v2" for one in values[:_SHOWN])
    return f"{shown}; and {len(values) - _SHOWN} more pods" if len(values) > _SHOWN else shown


def _variable(replica: Replica, field: str, name: str, variable: str) -> str | None:
    found = next((one for one in replica.pod["spec"].get(field) or () if one["name"] == name), None)
    try:
        return effective_container(replica.pod, found).environment.get(variable) if found else None
    except ValueError:
        return None


def _number(value: str) -> str:
    match = _NUMBER.search(value)
    return match[0] if match else ""
