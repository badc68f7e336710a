"""When a daemon that fails is replaced."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from shunter.api.apps import DaemonSet
from shunter.api.meta import ObjectMeta
from shunter.cluster.controllers.daemonset.backoff import FailureMemory
from shunter.cluster.controllers.daemonset.pod import DaemonPod

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_a_daemon_that_fails_again_and_again_is_replaced_ever_later() -> None:
    memory, owner = FailureMemory(), DaemonSet(metadata=ObjectMeta(name="x", uid="owner"))
    now, waits = NOW, []
    for number in range(5):
        failed = msgspec.convert(
            {"metadata": {"name": "x", "uid": str(number)}, "spec": {"nodeName": "a"}, "status": {"phase": "Failed"}}, DaemonPod
        )
        until = memory.held(owner, [failed], now)[str(number)]
        assert memory.held(owner, [failed], now)[str(number)] == until, "the same failure counts once"
        waits.append((until - now).total_seconds())
        now = until
    assert waits == [0, 1, 2, 4, 8]
