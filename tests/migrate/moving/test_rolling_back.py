"""A rollback whose v1 jobs cannot be recreated, because their kind is defined, but not served."""

from __future__ import annotations

import pytest

from fault_transport import FaultTransport, RecordingTransport, Refuse
from migrate.moving import undo_lifecycles
from migrate.moving.moves import Moves
from shunter.kube.client import Client
from shunter.kube.transport import HttpTransport
from shunter.migrate.moving import rolling_back

pytestmark = [pytest.mark.timeout(120), pytest.mark.integration]


async def test_a_kind_that_is_not_served_is_waited_for_once_a_job(moves: Moves, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling_back, "SERVED_SECONDS", 0.3)
    way = undo_lifecycles.Way(cleans_up=True)
    plan = await undo_lifecycles.begun(moves, way)
    before = await moves.state()
    await undo_lifecycles.go_forward(moves, plan, way)
    faults = FaultTransport(HttpTransport(moves.connection, user_agent="shunter-migrate"))
    faults.inject(Refuse(404, "NotFound", "the server could not find the requested resource"), path="/pytorchjobs", times=10_000)
    recorded = RecordingTransport(faults)
    try:
        outcomes = await moves.roll_back(plan, client=Client(recorded, field_manager="shunter-migrate"))
    finally:
        await recorded.close()
    failed = [failure for undo, failure in outcomes if undo.verdict == "create"]
    assert failed == ["the server could not find the requested resource"] * len(undo_lifecycles.JOBS)
    created = [request for request in recorded.writes if request.method == "POST" and request.path.endswith("/pytorchjobs")]
    assert len(created) == 2 * len(undo_lifecycles.JOBS), "one before and one after the wait"
    await undo_lifecycles.require_nothing_lost(moves, "while the kind is not served")
    await undo_lifecycles.restored(moves, plan)
    assert await moves.state() == before
