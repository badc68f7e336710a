"""What an API server, its watches and the network between do wrong. Lives come to the same end as without.

Each fault goes on through the whole life; the operator is never told that it is over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import count

import pytest

from fault_transport import (
    CutStream,
    Delay,
    Disconnect,
    EndStream,
    Expire,
    Fault,
    LoseAnswer,
    Mangle,
    Refuse,
    Silence,
    Truncate,
)
from faults import invariants
from faults.conftest import NewStage, Reference
from faults.disturbance import Disturb, disturbed
from faults.history import History
from faults.lifecycles import COMPLETED, RESTARTED, RESUMED, TO_THE_END
from faults.operators import Operator, running, until
from faults.scenarios import Stage, pytorch_job
from shunter.api.resources import PODS, SERVICES
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.cache.reflector import Timing
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(300)

ALWAYS = 10**6
LIVES = (TO_THE_END, RESTARTED, COMPLETED, RESUMED)
IMPATIENT = Timing(silence=2.5, longest_wait=1.0)
"""As the real times, but a dead connection is found in seconds, and a server that is away is asked every second."""
KINDS = ("/pytorchjobs", "/trainjobs", "/pods", "/services", "/configmaps", "/jobsets")
EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}'
)


def on(fault: Fault, *, method: str = "", path: str = "", every: int = 1) -> Disturb:
    return lambda operator: operator.faults.inject(fault, method=method, path=path, times=ALWAYS, every=every)


def on_each_kind(fault: Callable[[int], Fault], *, every: int = 1) -> Disturb:
    """The fault for the n-th kind happens to reads of that kind only."""

    def disturb(operator: Operator) -> None:
        for number, path in enumerate(KINDS):
            operator.faults.inject(fault(number), method="GET", path=path, times=ALWAYS, every=every)

    return disturb


def expires() -> Fault:
    """Every third chunk says that the version is too old."""
    counter = count(1)
    return Mangle(lambda lines: [*lines, EXPIRED] if next(counter) % 3 == 0 else lines)


def only_bookmarks(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if b'"BOOKMARK"' in line]


FAULTS: dict[str, Disturb] = {
    "every third update is a conflict": on(Refuse(409, "Conflict"), method="PATCH", every=3),
    "every second creation says that it is there already": on(Refuse(409, "AlreadyExists"), method="POST", path="/pods", every=2),
    "every third write fails inside the server": on(Refuse(500, "InternalError"), method="P", every=3),
    "every third request is refused by a server that starts": on(Refuse(503, "ServiceUnavailable"), every=3),
    "every third read takes the server too long": on(Refuse(504, "Timeout"), method="GET", every=3),
    "every second request finds the server busy": on(Refuse(429, "TooManyRequests", retry_after=0), every=2),
    "every second answer to a creation is lost": on(LoseAnswer(), method="POST", every=2),
    "every second answer to an update is lost": on(LoseAnswer(), method="PATCH", every=2),
    "every second answer to a deletion is lost": on(LoseAnswer(), method="DELETE", every=2),
    "every third connection is refused": on(Disconnect(), every=3),
    "every list and watch has expired once": on(Refuse(410, "Expired"), method="GET", every=2),
    "watches say again and again that they have expired": on_each_kind(lambda number: expires()),
    "watches break after three chunks": on_each_kind(lambda number: CutStream(3)),
    "watches break in the middle of an object": on_each_kind(lambda number: Truncate(2)),
    "watches end after two chunks": on_each_kind(lambda number: EndStream(2)),
    "watches fall silent after three chunks": on_each_kind(lambda number: Silence(3)),
    "watches say everything twice": on_each_kind(lambda number: Mangle(lambda lines: lines * 2)),
    "what is read is late, each kind by another time": on_each_kind(lambda number: Delay((1.2, 0.1, 0.8, 0.4)[number % 4])),
    "jobs are seen late, their pods at once": on(Delay(1.2), method="GET", path="jobs"),
    "pods are seen late, their job at once": on(Delay(1.2), method="GET", path="/pods"),
    "one request of fifty takes five seconds": on(Delay(5.0), every=50),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_lives_come_to_the_same_end_although(
    fault: str, server: Connection, history: History, new_stage: NewStage, reference: Reference
) -> None:
    async with asyncio.TaskGroup() as group:
        for scenario in LIVES:
            wanted = await reference(scenario)
            stage = await new_stage()
            life = disturbed(server, history, stage, scenario, wanted, [FAULTS[fault]], about=scenario.name, timing=IMPATIENT)
            group.create_task(life)


async def test_a_busy_server_is_left_in_peace_for_as_long_as_it_asks(server: Connection, history: History, stage: Stage) -> None:
    """Retry-After."""
    operator = Operator(server, namespaces=[stage.namespace])
    operator.faults.inject(Refuse(429, "TooManyRequests", retry_after=1), method="POST", path="/pods", times=2)
    async with running(operator):
        started = time.monotonic()
        await stage.create(PYTORCH_JOBS, pytorch_job(workers=0))
        await history.until(lambda: stage.count(PODS) == 1)
        assert time.monotonic() - started >= 2.0
    posts = [request for request in operator.sent.writes if request.path.endswith("/pods")]
    assert [request.status for request in posts] == [429, 429, 201]


async def test_what_a_lost_event_hid_is_seen_when_the_version_has_expired(
    server: Connection, history: History, stage: Stage
) -> None:
    """Events that never come, until a list shows what is there."""
    operator = Operator(server, namespaces=[stage.namespace], timing=IMPATIENT)
    operator.faults.inject(Mangle(only_bookmarks), method="GET", path="/pods", times=ALWAYS)
    operator.faults.inject(Mangle(only_bookmarks), method="GET", path="/services", times=ALWAYS)
    async with running(operator):
        await stage.create(PYTORCH_JOBS, pytorch_job())
        await history.until(lambda: stage.count(PODS) == stage.count(SERVICES) == 3)
        await stage.pods("*", "Running")
        await history.quiet(stage.namespace, seconds=0.5)
        assert "Running" not in stage.conditions(PYTORCH_JOBS, "j")
        operator.faults.heal()
        for path in ("/pods", "/services"):
            operator.faults.inject(Expire(), path=path, times=ALWAYS)
        await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, "j"))
    invariants.check(history, stage.namespace)
    assert set(invariants.incarnations(history, stage.namespace).values()) == {1}


async def test_a_server_that_refuses_everything_is_not_stormed(server: Connection, history: History, stage: Stage) -> None:
    operator = Operator(server, namespaces=[stage.namespace])
    async with running(operator):
        await until(lambda: operator.is_synced)
        operator.faults.inject(Refuse(500, "InternalError"), method="P", times=ALWAYS)
        for number in range(10):
            await stage.create(PYTORCH_JOBS, pytorch_job(f"j{number}"))
        await asyncio.sleep(3)
        tries = [request for request in operator.sent.writes if request.status == 500 and "/events" not in request.path]
        refused = [request for request in tries if request.method == "POST"]
        pods = 3
        assert 10 <= len(refused) <= 10 * 10 * pods, "each job again after 5, 10, 20, ... ms; its three pods go in one batch"
        assert len(tries) <= len(refused) + len(refused) // pods + 10, "with each try of a job a status, no more"
        operator.faults.heal()
        await history.until(lambda: stage.count(PODS) == 30)
    invariants.check(history, stage.namespace)
