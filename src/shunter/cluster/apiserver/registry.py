"""Which resources are served right now: the built-in kinds, and those of every CustomResourceDefinition, live.

A custom kind appears with the write that stores its CRD and goes with it; nothing else in the server knows the difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver import event_versions
from shunter.cluster.apiserver.apply.fields import compile_fields
from shunter.cluster.apiserver.custom_resources import crd
from shunter.cluster.apiserver.kinds import Kind
from shunter.cluster.apiserver.packaged_schemas import definitions
from shunter.cluster.apiserver.storage.store import Entry, encoded_tail

if TYPE_CHECKING:
    from shunter.cluster.apiserver.apply.fields import FieldTree


_CONVERTED = 1024
"""Objects of a kind that are kept in another form than they are stored in."""


class ServedKind:
    """One kind in one version, and how its objects get to and from storage."""

    def __init__(self, kind: Kind, *, crd_revision: str = "", is_terminating: bool = False) -> None:
        self.kind = kind
        self.custom = bool(crd_revision)
        self.is_terminating = is_terminating
        """Whether its CRD is being deleted, with all its objects."""
        self._crd_revision = crd_revision
        self._since = int(crd_revision or 0)
        self._as_defined_now = lru_cache(maxsize=_CONVERTED)(self._converted)
        resource = kind.resource
        self.resource: Resource = resource
        self.is_new_event = (resource.group, resource.plural) == event_versions.EVENTS_GROUP
        self.key = event_versions.STORED_AS if self.is_new_event else (resource.group, resource.plural)
        """The collection its objects live in; the versions of a kind share one."""
        self.prefix = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'.encode()

    @cached_property
    def tree(self) -> FieldTree:
        """The fields of the schema, compiled when managedFields are first needed."""
        return compile_fields(self.kind.schema().openapi, definitions())

    @property
    def hash_seed(self) -> str:
        """Changes whenever the kind is served differently."""
        return f"{self.resource}{self._crd_revision}"

    def tail(self, entry: Entry) -> bytes:
        """The stored bytes in this version, without kind and apiVersion."""
        if self.is_new_event:
            return encoded_tail(event_versions.from_core(entry.document()))
        return self._as_defined_now(entry) if self._may_not_fit(entry) else entry.tail

    def _may_not_fit(self, entry: Entry) -> bool:
        """Whether it was written under another CRD, or perhaps in another version."""
        return self.custom and (entry.revision < self._since or self.kind.has_siblings)

    def _converted(self, entry: Entry) -> bytes:
        return encoded_tail(self._pruned_and_defaulted(entry))

    def _pruned_and_defaulted(self, entry: Entry) -> Json:
        """What is stored as this version's schema has it: clients see neither fields it does not know nor gaps it fills."""
        document = entry.document()
        schema = self.kind.schema()
        schema.prune(document)
        schema.default(document)
        return document

    def body(self, entry: Entry) -> bytes:
        """The whole object as this version serves it."""
        return self.prefix + self.tail(entry)

    def item(self, entry: Entry) -> bytes:
        """The object inside a list: built-in kinds leave out kind and apiVersion there."""
        return self.body(entry) if self.custom else b"{" + self.tail(entry)

    def document(self, entry: Entry) -> Json:
        """A fresh copy of the object in this version, which the caller may change."""
        document = entry.document()
        if self.is_new_event:
            document = event_versions.from_core(document)
        elif self._may_not_fit(entry):
            document = self._pruned_and_defaulted(entry)
        return {"kind": self.resource.kind, "apiVersion": self.resource.api_version, **document}

    def stored(self, document: Json) -> Json:
        """The object as it is stored."""
        return event_versions.to_core(document) if self.is_new_event else document


class Registry:
    """Look-up by group, version and plural."""

    def __init__(self, builtin: Iterable[Kind]) -> None:
        self._served: dict[tuple[str, str, str], ServedKind] = {}
        self._custom: dict[str, list[tuple[str, str, str]]] = {}
        self.edition = 0
        """Grows with every change; what is derived from the whole registry is cached by it."""
        for kind in builtin:
            self._add(ServedKind(kind))

    def _add(self, served: ServedKind) -> tuple[str, str, str]:
        key = (served.resource.group, served.resource.version, served.resource.plural)
        self._served[key] = served
        return key

    def find(self, group: str, version: str, plural: str) -> ServedKind | None:
        """None where nothing of this plural is served in exactly this version."""
        return self._served.get((group, version, plural))

    def all(self) -> list[ServedKind]:
        """Every version of every kind; built-in kinds come first. The list is a copy."""
        return list(self._served.values())

    def register(self, document: Json) -> None:
        """Serves what a CustomResourceDefinition defines, in place of what an earlier version of it defined."""
        metadata = document["metadata"]
        name, revision, is_terminating = metadata["name"], metadata["resourceVersion"], "deletionTimestamp" in metadata
        self._forget(name)
        self._custom[name] = [
            self._add(ServedKind(kind, crd_revision=revision, is_terminating=is_terminating)) for kind in crd.kinds(document)
        ]
        self.edition += 1

    def unregister(self, name: str) -> None:
        """Ends the serving of all versions that the CRD of this name (`PLURAL.GROUP`) defined."""
        self._forget(name)
        self.edition += 1

    def _forget(self, name: str) -> None:
        for key in self._custom.pop(name, ()):
            self._served.pop(key, None)
