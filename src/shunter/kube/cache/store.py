"""The local picture of one kind: immutable views, found by key, namespace or index.

Only an informer writes to it. Objects are shared by everybody and never copied, since they cannot be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from shunter.api.meta import ObjectMeta
from shunter.kube.controllers.plan import Key


class Object(Protocol):
    """What a view of any kind has."""

    @property
    def metadata(self) -> ObjectMeta:
        """What a store reads of it: namespace, name, uid, resourceVersion and controller."""


T = TypeVar("T", bound=Object)

Index = Callable[[T], Iterable[str]]
"""The values under which an object is found, e.g. the uid of its controller."""


class Difference(NamedTuple, Generic[T]):
    """What one object was and is; None before it came and after it went."""

    old: T | None
    new: T | None


def key_of(obj: Object) -> Key:
    """Its namespace and name: an object that is made again under its name has the same key."""
    return Key(obj.metadata.namespace, obj.metadata.name)


def by_controller_uid(obj: Object) -> Iterable[str]:
    """The index of objects by the uid of the one owner that manages them."""
    owner = obj.metadata.controller
    return (owner.uid,) if owner else ()


def revision(resource_version: str) -> int:
    """A resourceVersion as a number, comparable within one resource (KEP-5504); 0 for a server whose versions are no numbers."""
    return int(resource_version) if resource_version.isdecimal() else 0


class Store(Generic[T]):
    """Objects by key and by index; `scopes` are the namespaces it is fed for, one feed each ('' is all of them)."""

    def __init__(self, indexes: Mapping[str, Index[T]] = {}, *, scopes: Collection[str] = ("",)) -> None:
        self._objects: dict[Key, T] = {}
        self._namespaces: dict[str, dict[Key, T]] = {}
        self._indexes = dict(indexes)
        self._found: dict[str, dict[str, dict[Key, T]]] = {name: {} for name in indexes}
        self._observed = dict.fromkeys(scopes, 0)

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: Key) -> T | None:
        """The object as it was last seen; None where there is none, or it has not arrived here yet."""
        return self._objects.get(key)

    def list(self, namespace: str = "") -> tuple[T, ...]:
        """All objects, or those of one namespace, in no particular order."""
        found = self._namespaces.get(namespace, {}) if namespace else self._objects
        return (*found.values(),)

    def by_index(self, name: str, value: str) -> tuple[T, ...]:
        """The objects for which the index `name` yields `value`."""
        return (*self._found[name].get(value, {}).values(),)

    def has_observed(self, namespace: str, resource_version: int) -> bool:
        """Whether everything that happened in the namespace up to this version has arrived here."""
        observed = self._observed.get("", -1) if "" in self._observed else self._observed.get(namespace)
        return observed is None or observed >= resource_version

    def add_index(self, name: str, index: Index[T]) -> None:
        """One more way to find objects; those that are there already are found, too."""
        self._indexes[name] = index
        found = self._found[name] = {}
        for key, obj in self._objects.items():
            for value in index(obj):
                found.setdefault(value, {})[key] = obj

    # What follows is for the informer.

    def put(self, obj: T) -> Difference[T]:
        """Adds the object, or replaces the one with its key."""
        key = key_of(obj)
        old = self._objects.get(key)
        if old is not None:
            self._unindex(key, old)
        self._objects[key] = obj
        self._namespaces.setdefault(key.namespace, {})[key] = obj
        for name, index in self._indexes.items():
            for value in index(obj):
                self._found[name].setdefault(value, {})[key] = obj
        return Difference(old, obj)

    def remove(self, key: Key) -> Difference[T]:
        """Takes the object out, also of all indexes; both sides of the difference are None where there was none."""
        old = self._objects.pop(key, None)
        if old is not None:
            self._unindex(key, old)
            _discard(self._namespaces, key.namespace, key)
        return Difference(old, None)

    def replace(self, scope: str, objects: Iterable[T], *, keep: Collection[Key] = ()) -> Sequence[Difference[T]]:
        """Makes the scope hold exactly these objects, and those of `keep` as they are; unchanged ones are no difference."""
        arrived = {key_of(obj): obj for obj in objects}
        before = self._namespaces.get(scope, {}) if scope else self._objects
        gone = [key for key in before if key not in arrived and key not in keep]
        differences = [self.remove(key) for key in gone]
        for key, obj in arrived.items():
            old = self._objects.get(key)
            if old is None or _version(old) != _version(obj):
                differences.append(self.put(obj))
        return differences

    def observed(self, scope: str, resource_version: str) -> None:
        """Records that everything up to this version has arrived."""
        self._observed[scope] = max(self._observed[scope], revision(resource_version))

    def _unindex(self, key: Key, old: T) -> None:
        for name, index in self._indexes.items():
            for value in index(old):
                _discard(self._found[name], value, key)


def _version(obj: Object) -> tuple[str, str]:
    return obj.metadata.uid, obj.metadata.resource_version


def _discard(groups: dict[str, dict[Key, T]], group: str, key: Key) -> None:
    """Removes a key from its group, and the group with its last key: labels come and go without end."""
    members = groups.get(group)
    if members is not None:
        members.pop(key, None)
        if not members:
            del groups[group]
