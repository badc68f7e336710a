"""Since which write pods have ended."""

from __future__ import annotations

import msgspec

from shunter.api.core import Pod
from shunter.operator.ended_pods import EndedPods


def pod(uid: str, phase: str, revision: int) -> Pod:
    metadata = {"name": "a", "uid": uid, "resourceVersion": str(revision)}
    return msgspec.convert({"metadata": metadata, "status": {"phase": phase}}, Pod)


def test_the_first_revision_counts_at_which_a_pod_was_seen_to_have_ended() -> None:
    ended = EndedPods()
    ended.changed(None, pod("a", "Running", 1))
    assert not ended.revisions
    ended.changed(pod("a", "Running", 1), pod("a", "Failed", 2))
    ended.changed(pod("a", "Failed", 2), pod("a", "Failed", 9))
    ended.changed(None, pod("seen ended", "Succeeded", 5))
    assert ended.revisions == {"a": 2, "seen ended": 5}


def test_pods_that_are_gone_are_forgotten() -> None:
    ended = EndedPods()
    for uid in ("deleted", "replaced"):
        ended.changed(pod(uid, "Running", 1), pod(uid, "Failed", 2))
    ended.changed(pod("deleted", "Failed", 2), None)
    ended.changed(pod("replaced", "Failed", 2), pod("another", "Failed", 3))
    assert ended.revisions == {"another": 3}
