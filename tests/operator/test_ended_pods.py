"""The order in which pods were seen to end."""

from __future__ import annotations

import msgspec

from shunter.api.core import Pod
from shunter.operator.ended_pods import Endings


def pod(uid: str, phase: str) -> Pod:
    return msgspec.convert({"metadata": {"name": "a", "uid": uid}, "status": {"phase": phase}}, Pod)


def test_pods_are_numbered_as_they_are_seen_to_end() -> None:
    endings = Endings()
    for uid, end in (("second", "Failed"), ("first", "Succeeded")):
        endings.changed(pod(uid, "Running"), pod(uid, end))
        endings.changed(pod(uid, end), pod(uid, end))
    assert sorted(endings.order, key=endings.order.__getitem__) == ["second", "first"]


def test_nothing_is_known_of_a_pod_that_is_first_seen_when_it_has_ended() -> None:
    endings = Endings()
    endings.changed(None, pod("a", "Failed"))
    endings.changed(pod("a", "Failed"), pod("a", "Failed"))
    assert not endings.order


def test_pods_that_are_gone_are_forgotten() -> None:
    endings = Endings()
    for uid in ("deleted", "replaced"):
        endings.changed(pod(uid, "Running"), pod(uid, "Failed"))
    endings.changed(pod("deleted", "Failed"), None)
    endings.changed(pod("replaced", "Failed"), pod("another", "Failed"))
    assert not endings.order
