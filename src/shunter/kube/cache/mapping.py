"""From an object that changed to the keys that its change concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from shunter.api.resources import Resource
from shunter.kube.cache.store import Object, key_of
from shunter.kube.controllers.plan import Key

T = TypeVar("T", bound=Object)

Mapping = Callable[[T], Iterable[Key]]


def own_key(obj: Object) -> Iterable[Key]:
    """The object itself."""
    return (key_of(obj),)


def to_controller(primary: Resource) -> Mapping[Object]:
    """The owner that manages the object, when it is of the kind `primary` in any version."""

    def keys(obj: Object) -> Iterable[Key]:
        owner = obj.metadata.controller
        if owner is None or owner.kind != primary.kind or owner.api_version.rpartition("/")[0] != primary.group:
            return ()
        return (Key(obj.metadata.namespace if primary.namespaced else "", owner.name),)

    return keys


def enqueuing(mapping: Mapping[T], add: Callable[[Key], None]) -> Callable[[T | None, T | None], None]:
    """An informer's handler that adds what the object concerned before and what it concerns now."""

    def handler(old: T | None, new: T | None) -> None:
        for obj in (old, new):
            if obj is not None:
                for key in mapping(obj):
                    add(key)

    return handler
