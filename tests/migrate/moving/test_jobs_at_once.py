"""Several jobs are worked on at once, and what holds for one write after the other holds all the same."""

from __future__ import annotations

import msgspec
import pytest

from fault_transport import Delay, RecordingTransport, Request
from migrate.moving.moves import QUICK, Moves, Screen
from shunter.api.resources import CONFIG_MAPS, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.client import Client
from shunter.kube.transport import HttpTransport
from shunter.migrate.moving import applying, gathering, run_plan
from shunter.migrate.moving.applying import Outcome
from shunter.migrate.moving.plan import Plan, Wave
from shunter.migrate.moving.planning import PlanOptions

pytestmark = pytest.mark.integration

NAMES = [f"job-{index}" for index in range(6)]
OF_JOBS = tuple(resource.plural for resource in (PYTORCH_JOBS, TRAIN_JOBS, TRAINING_RUNTIMES))


class Order(Screen):
    """Remembers in which order steps were through."""

    def __init__(self) -> None:
        self.jobs: list[str] = []

    def done(self, outcome: Outcome) -> None:
        self.jobs.append(outcome.step.job.rpartition("/")[2])


async def suspended_jobs(moves: Moves) -> Plan:
    for name in NAMES:
        await moves.submit(name, suspend=True)
    return await moves.plan(PlanOptions(freeze="none"))


async def applied(moves: Moves, plan: Plan, client: Client, screen: Screen, *, jobs_at_once: int) -> None:
    with moves.journal(plan, client) as journal:
        await journal.load()
        todo = run_plan.prepared(plan, await gathering.read(client, plan.namespaces), journal)
        outcomes = await applying.apply(client, todo.steps, journal, screen, QUICK, jobs_at_once=jobs_at_once)
    assert [outcome.step for outcome in outcomes] == todo.steps
    assert all(outcome.is_complete for outcome in outcomes)


async def test_a_job_that_takes_long_holds_up_no_other(moves: Moves) -> None:
    plan = await suspended_jobs(moves)
    slow = f"{TRAIN_JOBS.plural}/{NAMES[0]}"
    ends = []
    for jobs_at_once in (1, len(NAMES)):
        order = Order()
        async with moves.failing(Delay(1.0), path=slow, times=1) as client:
            await applied(moves, plan, client, order, jobs_at_once=jobs_at_once)
        ends.append(order.jobs[-1])
        await moves.roll_back(plan)
    assert ends == [NAMES[-1], NAMES[0]]


async def test_jobs_that_differ_in_what_a_train_job_says_share_a_runtime(moves: Moves) -> None:
    """The plan names it, a second run of one wave takes it as well, and it goes with the last of them."""
    for name in ("first", "second"):
        await moves.submit(name, suspend=True, args=["--name", name])
    plan = await moves.plan(PlanOptions(freeze="none"))
    await moves.apply(plan)
    await moves.submit("third", suspend=True, args=["--name", "third"])
    later = await moves.plan(PlanOptions(freeze="none"))
    await moves.apply(later)
    [runtime] = (await moves.client.list(TRAINING_RUNTIMES, moves.namespace)).items
    train_jobs = [await moves.train_job(name) for name in ("first", "second", "third")]
    assert [train_job["spec"]["runtimeRef"]["name"] for train_job in train_jobs] == [runtime["metadata"]["name"]] * 3
    assert [train_job["spec"]["trainer"]["command"][-1] for train_job in train_jobs] == ["first", "second", "third"]
    for some in (plan, later):
        decided = [decision for item in some.items if item.action == "create" for decision in item.decisions]
        assert f"runtime TrainingRuntime {runtime['metadata']['name']}" in decided
    await moves.roll_back(plan)
    assert [one["metadata"]["name"] for one in (await moves.client.list(TRAINING_RUNTIMES, moves.namespace)).items] == [
        runtime["metadata"]["name"]
    ], "a TrainJob of the other plan uses it"
    assert await moves.train_job("third")


async def test_each_write_is_announced_in_the_cluster_before_it_is_made(moves: Moves) -> None:
    plan = await suspended_jobs(moves)
    recorded = RecordingTransport(HttpTransport(moves.connection, user_agent="shunter-migrate"))
    await applied(moves, plan, Client(recorded, field_manager="shunter-migrate"), Screen(), jobs_at_once=len(NAMES))
    await recorded.close()
    announced: set[str] = set()
    made = []
    for request in recorded.writes:
        if CONFIG_MAPS.plural in request.path:
            announced |= steps_in(request)
        elif request.path.endswith(OF_JOBS):
            obj = msgspec.json.decode(request.body)
            made.append(f"create {obj['kind']} {moves.namespace}/{obj['metadata']['name']}")
            assert made[-1] in announced
    assert len(made) == len(NAMES) + 1, "jobs that are alike share a runtime, which is made once"
    assert len({*made}) == len(made)


def steps_in(request: Request) -> set[str]:
    """The steps that a write to the journal's ConfigMaps announces."""
    records = [msgspec.json.decode(text) for text in msgspec.json.decode(request.body)["data"].values()]
    return {record["step"] for record in records if record["phase"] == "intended"}


async def test_announcements_of_several_jobs_share_a_write(moves: Moves) -> None:
    plan = await suspended_jobs(moves)
    counts = []
    for jobs_at_once in (1, len(NAMES)):
        async with moves.counting() as (client, count):
            await applied(moves, plan, client, Screen(), jobs_at_once=jobs_at_once)
            counts.append(count())
        await moves.roll_back(plan)
    one_by_one, at_once = counts
    assert at_once < one_by_one


async def test_a_wave_begins_when_the_one_before_it_is_through(moves: Moves) -> None:
    plan = await suspended_jobs(moves)
    first, second = plan.items[:3], plan.items[3:]
    waves = (Wave(name="first", why="", jobs=tuple(first)), Wave(name="second", why="", jobs=tuple(second)))
    plan = msgspec.structs.replace(plan, waves=waves)
    async with moves.failing(Delay(1.0), path=f"{TRAIN_JOBS.plural}/{first[0].name}", times=1) as client:
        assert (await moves.apply(plan, client=client)).is_complete
    numbers = {record.job: record.number for record in (await moves.read_journal(plan)).records if record.phase == "done"}
    assert max(numbers[item.title] for item in first) < min(numbers[item.title] for item in second)
