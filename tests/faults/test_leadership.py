"""Two operators, one leader: whatever happens to the leader, one at a time writes, and what it began is neither lost nor
done twice."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from fault_transport import Delay, Disconnect, Refuse
from faults import invariants
from faults.history import History
from faults.operator_process import LEASE, OperatorProcess, configuration
from faults.operators import Operator, running, until
from faults.planes import Plane
from faults.scenarios import Stage, pytorch_job, train_job, training_runtime
from shunter.api.resources import CORE_EVENTS, LEASES, PODS, SERVICES, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.controllers.leader import LeaderOptions
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(600)

DURATION, DEADLINE, PERIOD = 4.0, 3.0, 0.25
"""Of leases, in seconds: a fourth of the real ones."""
LONG = {"duration": 60.0, "deadline": 40.0}
"""For tests in which no lease runs out."""

NEXT = {"Pending": "Running", "Running": "Succeeded", "Succeeded": ""}
IN_FLIGHT = {"embedded": 60, "real": 500}
"""Jobs during the rolling restart."""


def options(stage: Stage, *, duration: float = DURATION, deadline: float = DEADLINE) -> LeaderOptions:
    return LeaderOptions(
        name=LEASE, namespace=stage.namespace, lease_duration=duration, renew_deadline=deadline, retry_period=PERIOD
    )


def work(operator: Operator) -> int:
    """Writes of the operator that are neither events nor about the lease."""
    return sum(1 for request in operator.sent.writes if "/events" not in request.path and "/leases" not in request.path)


async def holder(stage: Stage) -> str:
    lease = await stage.client.get(LEASES, LEASE, stage.namespace)
    return str(lease["spec"].get("holderIdentity") or "")


NewProcess = Callable[[str], OperatorProcess]


@pytest.fixture
def new_process(plane: Plane, stage: Stage, tmp_path: Path) -> Iterator[NewProcess]:
    """Starts operators as processes, elected by the lease of the stage's namespace."""
    started: list[OperatorProcess] = []
    text = configuration(LEASE, stage.namespace, duration=DURATION, deadline=DEADLINE, period=PERIOD)

    def new(name: str) -> OperatorProcess:
        started.append(OperatorProcess(plane.kubeconfig, tmp_path, name, text, stage.namespace))
        return started[-1]

    yield new
    for process in started:
        process.end()


async def test_only_the_leader_writes_and_its_end_hands_over_at_once(server: Connection, history: History, stage: Stage) -> None:
    first = Operator(server, namespaces=[stage.namespace], leader=options(stage, **LONG))
    second = Operator(server, namespaces=[stage.namespace], leader=options(stage, **LONG))
    async with running(first):
        await stage.create(PYTORCH_JOBS, pytorch_job("a"))
        await history.until(lambda: stage.count(PODS) == 3)
        async with running(second):
            await stage.create(PYTORCH_JOBS, pytorch_job("b"))
            await history.until(lambda: stage.count(PODS) == 6)
            assert work(second) == 0
            await first.stop()
            done = work(first)
            await stage.create(PYTORCH_JOBS, pytorch_job("c"))
            await history.until(lambda: stage.count(PODS) == 9)
            assert work(first) == done
    assert await holder(stage) == ""
    invariants.check(history, stage.namespace)


async def test_a_killed_leader_is_followed_when_its_lease_has_run_out(
    server: Connection, history: History, stage: Stage, new_process: NewProcess
) -> None:
    leader = new_process("leader")
    await stage.create(PYTORCH_JOBS, pytorch_job("a"))
    await history.until(lambda: stage.count(PODS) == 3)
    held_by = await holder(stage)
    leader.send(signal.SIGKILL)
    leader.wait()
    follower = Operator(server, namespaces=[stage.namespace], leader=options(stage))
    async with running(follower):
        await stage.create(PYTORCH_JOBS, pytorch_job("b"))
        await until(lambda: any("/leases" in request.path for request in follower.sent.requests))
        assert await holder(stage) == held_by, "the lease is the dead leader's for its time"
        await history.until(lambda: stage.count(PODS) == 6)
    invariants.check(history, stage.namespace)


async def test_sigterm_in_the_middle_of_reconciles_leaves_nothing_half_done(
    server: Connection, history: History, stage: Stage, new_process: NewProcess
) -> None:
    for number in range(20):
        await stage.create(PYTORCH_JOBS, pytorch_job(f"j{number}", workers=5))
    leader = new_process("leader")
    await history.until(lambda: stage.count(PODS) >= 10)
    leader.send(signal.SIGTERM)
    assert leader.wait() == 0
    assert await holder(stage) == ""
    await history.quiet(stage.namespace, seconds=0.1)
    pods = Counter(pod["metadata"]["ownerReferences"][0]["name"] for pod in history.present(PODS, stage.namespace))
    assert len(pods) < 20, "it ended before it had made all pods"
    assert set(pods.values()) == {6}, "whatever was begun was brought to its end"
    made = [event for event in history.present(CORE_EVENTS, stage.namespace) if event["reason"] == "SuccessfulCreatePod"]
    assert len(made) == pods.total(), "the events of what was made are not lost; the next leader writes the statuses"
    async with running(Operator(server, namespaces=[stage.namespace])):
        await history.until(lambda: stage.count(PODS) == 120)
        jobs = partial(history.present, PYTORCH_JOBS, stage.namespace)
        await history.until(lambda: all(job.get("status", {}).get("startTime") for job in jobs()))
    invariants.check(history, stage.namespace)
    assert set(invariants.incarnations(history, stage.namespace).values()) == {1}


async def test_a_leader_that_cannot_renew_stops_writing_before_another_leads(
    server: Connection, history: History, stage: Stage
) -> None:
    first = Operator(server, namespaces=[stage.namespace], leader=options(stage))
    second = Operator(server, namespaces=[stage.namespace], leader=options(stage))
    async with running(first):
        await stage.create(PYTORCH_JOBS, pytorch_job("a"))
        await history.until(lambda: stage.count(PODS) == 3)
        first.faults.inject(Disconnect(), path="/leases", times=10**6)
        # It is busy all the time: one of its requests waits longer than it may lead.
        first.faults.inject(Refuse(429, "TooManyRequests", retry_after=4), method="POST", path="/pods", times=10**6)
        async with running(second):
            await stage.create(PYTORCH_JOBS, pytorch_job("b"))
            await first.ended()
            done = work(first)
            assert await holder(stage) != ""
            await history.until(lambda: stage.count(PODS) == 6)
            await history.quiet(stage.namespace, seconds=0.5)
            assert work(first) == done
    invariants.check(history, stage.namespace)


async def test_a_leader_that_was_paused_writes_nothing_when_it_goes_on(
    server: Connection, history: History, stage: Stage, new_process: NewProcess
) -> None:
    paused = new_process("paused")
    for number in range(30):
        await stage.create(PYTORCH_JOBS, pytorch_job(f"j{number}"))
    await history.until(lambda: stage.count(PODS) >= 10)
    paused.send(signal.SIGSTOP)
    follower = Operator(server, namespaces=[stage.namespace], leader=options(stage))
    async with running(follower):
        await history.until(lambda: stage.count(PODS) == 90)
        await stage.pods("*", "Running")
        await stage.pods("*-master-*", "Succeeded")
        await history.until(lambda: all("Succeeded" in stage.conditions(PYTORCH_JOBS, f"j{number}") for number in range(30)))
        await history.quiet(stage.namespace, seconds=0.3)
        before = len(history.changes)
        paused.send(signal.SIGCONT)
        assert paused.wait() != 0, "it ends, to be started again as a follower"
        await history.quiet(stage.namespace, seconds=0.3)
        changed = [seen.object["kind"] for seen in history.changes[before:]]
        assert {*changed} <= {"Event"}, "it only tells what it had done before"
    assert "The leader lease was lost" in paused.log.read_text()
    invariants.check(history, stage.namespace)
    assert set(invariants.incarnations(history, stage.namespace).values()) == {1}


async def test_a_follower_whose_watches_lag_does_not_run_again_what_is_over(
    server: Connection, history: History, stage: Stage
) -> None:
    """Its caches show a running job whose pods are gone; it must not act before they show the end."""
    first = Operator(server, namespaces=[stage.namespace], leader=options(stage, **LONG))
    second = Operator(server, namespaces=[stage.namespace], leader=options(stage, **LONG))
    second.faults.inject(Delay(4), method="GET", path="/pytorchjobs")
    second.faults.inject(Delay(4), method="GET", path="/trainjobs")
    async with running(first):
        await stage.create(TRAINING_RUNTIMES, training_runtime())
        await stage.create(PYTORCH_JOBS, pytorch_job("over", cleanPodPolicy="All"))
        await stage.create(TRAIN_JOBS, train_job("late", activeDeadlineSeconds=3600))
        await history.until(lambda: stage.count(PODS) == 5)
        await stage.pods("*", "Running")
        async with running(second):
            await until(lambda: second.is_synced)
            await stage.pods("over-master-0", "Succeeded")
            await history.until(lambda: "Succeeded" in stage.conditions(PYTORCH_JOBS, "over") and stage.count(SERVICES) == 1)
            await first.stop()
            await stage.create(PYTORCH_JOBS, pytorch_job("next", workers=1))
            await history.until(lambda: "Created" in stage.conditions(PYTORCH_JOBS, "next"))
            await history.quiet(stage.namespace, seconds=1.0)
    invariants.check(history, stage.namespace)
    assert set(invariants.incarnations(history, stage.namespace).values()) == {1}


async def test_a_slow_server_does_not_cost_the_lead_of_a_large_job(server: Connection, history: History, stage: Stage) -> None:
    """A thousand creations wait for their turn; the renewal of the lease does not wait behind them."""
    leader = Operator(server, namespaces=[stage.namespace], leader=options(stage, duration=DURATION + 1, deadline=DURATION))
    leader.faults.inject(Delay(1.0), method="POST", path="/pods", times=10**6)
    async with running(leader):
        await stage.create(PYTORCH_JOBS, pytorch_job("large", workers=220))
        await history.until(lambda: stage.count(PODS) == 221, seconds=60)
        assert leader.is_running


async def test_conflicts_about_the_lease_do_not_cost_the_lead(server: Connection, history: History, stage: Stage) -> None:
    leader = Operator(server, namespaces=[stage.namespace], leader=options(stage))
    async with running(leader):
        await history.until(lambda: True)
        leader.faults.inject(Refuse(409, "Conflict"), method="PUT", path="/leases", times=10**6, every=2)
        for name in ("a", "b"):
            await stage.create(PYTORCH_JOBS, pytorch_job(name))
            await asyncio.sleep(DEADLINE)
            assert leader.is_running
        await history.until(lambda: stage.count(PODS) == 6)


async def test_a_rolling_restart_with_jobs_in_flight_makes_nothing_twice(
    plane: Plane, server: Connection, history: History, stage: Stage
) -> None:
    total = IN_FLIGHT[plane.kind]
    v1, v2 = [f"v1-{number}" for number in range(total * 3 // 5)], [f"v2-{number}" for number in range(total * 2 // 5)]
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    old = [Operator(server, namespaces=[stage.namespace], leader=options(stage, **LONG)) for _ in range(2)]
    for operator in old:
        operator.start()
    for name in v1:
        await stage.create(PYTORCH_JOBS, pytorch_job(name, workers=1, cleanPodPolicy="All"))
    for name in v2:
        await stage.create(TRAIN_JOBS, train_job(name))
    node = asyncio.create_task(_node(stage))
    new = []
    try:
        for operator in old:
            await asyncio.sleep(0.5)
            new.append(Operator(server, namespaces=[stage.namespace], leader=options(stage, **LONG)))
            new[-1].start()
            await operator.stop()

        def ended() -> int:
            done = [*(stage.conditions(PYTORCH_JOBS, name) for name in v1), *(stage.conditions(TRAIN_JOBS, name) for name in v2)]
            return sum(1 for conditions in done if {"Succeeded", "Complete"} & {*conditions})

        await until(lambda: ended() == total, seconds=400)
        await history.quiet(stage.namespace, seconds=0.5)
    finally:
        node.cancel()
        await asyncio.gather(node, return_exceptions=True)
        for operator in new:
            await operator.stop()
    invariants.check(history, stage.namespace)
    again = {name: count for name, count in invariants.incarnations(history, stage.namespace).items() if count != 1}
    assert not again
    pods = {seen.object["metadata"]["name"] for seen in history.of(PODS, stage.namespace)}
    assert len(pods) == 2 * total
    for requests in (operator.sent.writes for operator in [*old, *new]):
        invariants.writes_are_bounded((request for request in requests if "/leases" not in request.path), each=12)


async def _node(stage: Stage) -> None:
    """Runs every pod for a moment."""
    changes = stage.history.changes
    position = 0
    while True:
        await stage.history.beyond(position)
        fresh, position = changes[position:], len(changes)
        pods = {
            seen.object["metadata"]["name"]: NEXT[seen.object.get("status", {}).get("phase", "Pending")]
            for seen in fresh
            if seen.object["kind"] == "Pod" and seen.object["metadata"]["namespace"] == stage.namespace
        }
        async with asyncio.TaskGroup() as group:
            for name, phase in pods.items():
                if phase:
                    group.create_task(stage.pod(name, phase))
