"""What a pod asks of a node, and what a node has left; amounts are exact, in each resource's own unit (cores, bytes, devices)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from shunter.api.core import Node
from shunter.api.quantity import parse
from shunter.cluster.controllers.scheduler.pod import Container, SchedulablePod

Amounts = dict[str, Fraction]


def requested(pod: SchedulablePod) -> Amounts:
    """The most the pod needs at one time: its containers with their sidecars, or an init container with the sidecars before it.

    Source: Kubernetes `resourcehelper.PodRequests`.
    """
    sidecars: Amounts = {}
    most: Amounts = {}
    for container in pod.spec.init_containers:
        amounts = _of(container)
        if container.restart_policy == "Always":
            sidecars = _sum(sidecars, amounts)
            amounts = {}
        most = _max(most, _sum(sidecars, amounts))
    running = sidecars
    for container in pod.spec.containers:
        running = _sum(running, _of(container))
    return _sum(_max(most, running), _amounts(pod.spec.overhead))


def left(node: Node, pods: Iterable[SchedulablePod]) -> Amounts:
    """What the node has for more pods; `pods` counts pods."""
    rest = _amounts(node.status.allocatable)
    for pod in pods:
        take(rest, requested(pod))
    return rest


def take(rest: Amounts, amounts: Amounts) -> None:
    """One more pod with these amounts, in place."""
    for name, amount in {**amounts, "pods": Fraction(1)}.items():
        rest[name] = rest.get(name, Fraction(0)) - amount


def _of(container: Container) -> Amounts:
    return _amounts(container.resources.requests)


def _amounts(quantities: Mapping[str, Any]) -> Amounts:
    return {name: parse(quantity) for name, quantity in quantities.items()}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, Fraction(0)) + other.get(name, Fraction(0)) for name in one | other}


def _max(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, Fraction(0)), other.get(name, Fraction(0))) for name in one | other}
