"""What a view keeps of the objects that its watches report. No I/O."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from shunter.api.meta import Json
from shunter.page.views.view import Watch
from shunter.page.wire import Hidden

log = logging.getLogger(__name__)


class WatchedObjects:
    """`by_watch` has what the watch keeps of each object, by the name of the watch and the object's uid. `malformed` describes
    the objects for which `Watch.keep` raised, by uid; `on_malformed` is called when it has changed."""

    def __init__(self, names: Iterable[str], *, on_malformed: Callable[[], None]) -> None:
        """`names` are those of the watches."""
        self.by_watch: dict[str, dict[str, Any]] = {name: {} for name in names}
        self.malformed: dict[str, Hidden] = {}
        self._namespaces: dict[str, dict[str, str]] = {name: {} for name in self.by_watch}
        """By watch and uid: the namespace of the list that the object came from; empty: all namespaces."""
        self._on_malformed = on_malformed

    def uids(self, name: str, namespace: str) -> list[str]:
        """The uids of the objects that this watch reported when it listed this namespace; empty: all namespaces."""
        return [uid for uid, of in self._namespaces[name].items() if of == namespace]

    def drop(self, name: str, namespace: str) -> None:
        """Forgets these objects."""
        for uid in self.uids(name, namespace):
            del self._namespaces[name][uid]
            self.by_watch[name].pop(uid, None)

    def take(self, watch: Watch, namespace: str, found: Json, *, gone: bool) -> bool:
        """Whether what is kept has changed by this object of the watch, or by its deletion (`gone`)."""
        uid = found["metadata"]["uid"]
        kept = None if gone else self._kept(watch, found)
        if gone and self.malformed.pop(uid, None) is not None:
            self._on_malformed()
        if kept is None:
            if self.by_watch[watch.name].pop(uid, None) is None:
                return False
            self._namespaces[watch.name].pop(uid, None)
            return True
        self._namespaces[watch.name][uid] = namespace
        if self.by_watch[watch.name].get(uid) == kept:
            return False  # For example a heartbeat of a node.
        self.by_watch[watch.name][uid] = kept
        return True

    def _kept(self, watch: Watch, found: Json) -> Any:
        """What the watch keeps of an object. If `keep` raises, only this object is missing on the page, which names it."""
        metadata = found["metadata"]
        try:
            kept = watch.keep(found)
        except Exception:
            name = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
            if metadata["uid"] not in self.malformed:
                log.exception("%s %s is left out of the page", watch.resource.kind, name)
                self.malformed[metadata["uid"]] = Hidden(
                    what=f"{watch.resource.kind} {name}",
                    consequence="It could not be shown: this version of Shunter does not support its format.",
                    role="",
                    is_subject=watch.is_subject,
                )
                self._on_malformed()
            return None
        if self.malformed.pop(metadata["uid"], None) is not None:
            self._on_malformed()
        return kept
