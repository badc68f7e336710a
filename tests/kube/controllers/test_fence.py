"""The fence: whoever no longer leads sends nothing, also not what has been waiting since it led."""

import asyncio
from collections.abc import Awaitable, Callable

from fault_transport import Delay, FaultTransport, RecordingTransport, Refuse
from shunter.api.resources import PODS
from shunter.kube.client import Client
from shunter.kube.controllers.executor import Executor, concerns_user
from shunter.kube.controllers.fence import MAX_FENCED, FencedTransport
from shunter.kube.controllers.plan import Create, Plan, Ref, StatusWrite

Eventually = Callable[[Callable[[], object]], Awaitable[object]]


class Lead:
    def __init__(self) -> None:
        self.is_held = True

    def __call__(self) -> bool:
        return self.is_held


def create(name: str, namespace: str = "n") -> Create:
    return Create(resource=PODS, body={"metadata": {"name": name, "namespace": namespace}})


async def test_who_does_not_lead_writes_nothing(client: Client, recorded: RecordingTransport) -> None:
    lead = Lead()
    lead.is_held = False
    executor = Executor(client.through(FencedTransport(recorded, lead)))
    status = StatusWrite(ref=Ref(PODS, "n", "a"), observed={}, desired={"phase": "x"})
    for plan in (Plan(writes=(create("a"),)), Plan(status=status)):
        outcome = await executor.execute(plan)
        assert outcome.failure is not None
        assert outcome.failure.reason == "NotLeading"
        assert not concerns_user(outcome.failure)
    assert recorded.requests == []


async def test_a_request_that_a_busy_server_put_off_is_not_sent_again(
    client: Client, recorded: RecordingTransport, faults: FaultTransport, eventually: Eventually
) -> None:
    lead = Lead()
    faults.inject(Refuse(429, "TooManyRequests"), times=100)
    executing = asyncio.create_task(
        Executor(client.through(FencedTransport(recorded, lead))).execute(Plan(writes=(create("a"),)))
    )
    await eventually(lambda: recorded.writes)
    lead.is_held = False
    outcome = await executing
    assert outcome.failure is not None
    assert outcome.failure.reason == "NotLeading"
    assert len(recorded.writes) < 4


async def test_requests_that_wait_for_their_turn_are_not_sent(
    client: Client, recorded: RecordingTransport, faults: FaultTransport, eventually: Eventually
) -> None:
    lead = Lead()
    faults.inject(Delay(0.1), times=1000)
    fenced = client.through(FencedTransport(recorded, lead))
    creating = [asyncio.create_task(fenced.create(PODS, create(f"p{number}").body)) for number in range(2 * MAX_FENCED)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    lead.is_held = False
    results = await asyncio.gather(*creating, return_exceptions=True)
    assert sum(isinstance(result, Exception) for result in results) == MAX_FENCED
    assert len(recorded.writes) == MAX_FENCED


async def test_the_pods_of_a_large_job_do_not_hold_up_another_namespace(client: Client, recorded: RecordingTransport) -> None:
    fenced = client.through(FencedTransport(recorded, Lead()))
    large = [asyncio.create_task(fenced.create(PODS, create(f"p{number}", "flood").body)) for number in range(10 * MAX_FENCED)]
    await asyncio.sleep(0)
    await fenced.create(PODS, create("p", "other").body)
    assert sum(task.done() for task in large) < 3 * MAX_FENCED
    await asyncio.gather(*large)
    assert len(recorded.writes) == 10 * MAX_FENCED + 1
