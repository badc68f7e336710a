"""What a node has left for more pods; amounts are exact, in each resource's own unit (cores, bytes, devices)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from shunter.api.core import Node
from shunter.api.formats.quantity import parse
from shunter.api.scheduling.pod_requests import Amounts, requested
from shunter.cluster.controllers.scheduler.pod import SchedulablePod


def available(node: Node, pods: Iterable[SchedulablePod]) -> Amounts:
    """What the node has for more pods; `pods` counts pods."""
    rest = {name: parse(quantity) for name, quantity in node.status.allocatable.items()}
    for pod in pods:
        take(rest, requested(pod.spec))
    return rest


def take(rest: Amounts, amounts: Amounts) -> None:
    """One more pod with these amounts, in place."""
    for name, amount in {**amounts, "pods": Fraction(1)}.items():
        rest[name] = rest.get(name, Fraction(0)) - amount
