"""What a view keeps of the objects that its watches report."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.page.refresh.watched_objects import WatchedObjects
from shunter.page.views.view import Watch


def keep(pod: Json) -> Any:
    return pod["spec"]["nodeName"] or None


WATCH = Watch("pods", PODS, keep, ("ranks",), "No ranks are shown.")


class Noted(WatchedObjects):
    """With the number of changes of `malformed`."""

    def __init__(self) -> None:
        self.noted = 0
        super().__init__(["pods"], on_malformed=self._note)

    def _note(self) -> None:
        self.noted += 1

    def report(self, uid: str, spec: Json, *, namespace: str = "a", gone: bool = False) -> bool:
        found = {"metadata": {"uid": uid, "namespace": namespace, "name": uid}, "spec": spec}
        return self.take(WATCH, namespace, found, gone=gone)


def test_only_what_a_view_keeps_is_a_change() -> None:
    objects = Noted()
    assert objects.report("1", {"nodeName": "n"})
    assert not objects.report("1", {"nodeName": "n", "other": 1})
    assert objects.report("1", {"nodeName": "m"})
    assert objects.by_watch == {"pods": {"1": "m"}}
    assert not objects.report("2", {"nodeName": ""})
    assert objects.report("1", {}, gone=True)
    assert (objects.by_watch, objects.uids("pods", "a")) == ({"pods": {}}, [])
    assert not objects.report("1", {}, gone=True)


def test_an_object_that_is_kept_no_more_is_dropped() -> None:
    objects = Noted()
    objects.report("1", {"nodeName": "n"})
    assert objects.report("1", {"nodeName": ""})
    assert objects.by_watch == {"pods": {}}


def test_a_namespace_is_dropped_with_its_own_objects_only() -> None:
    objects = Noted()
    objects.report("1", {"nodeName": "n"})
    objects.report("2", {"nodeName": "n"}, namespace="b")
    objects.drop("pods", "a")
    assert (objects.by_watch, objects.uids("pods", "b")) == ({"pods": {"2": "n"}}, ["2"])


def test_an_object_of_another_format_is_named_until_it_is_readable_or_gone(caplog: pytest.LogCaptureFixture) -> None:
    objects = Noted()
    objects.report("1", {"nodeName": "n"})
    for _ in range(2):
        objects.report("1", {})
    assert [hidden.what for hidden in objects.malformed.values()] == ["Pod a/1"]
    assert (objects.by_watch, objects.noted) == ({"pods": {}}, 1)
    assert len(caplog.records) == 1, "logged once"
    objects.report("1", {"nodeName": "n"})
    assert (objects.malformed, objects.noted) == ({}, 2)
    objects.report("2", {})
    objects.report("2", {}, gone=True)
    assert (objects.malformed, objects.noted) == ({}, 4)
