"""Each v1 job has an end that loses nothing, without --i-know: compared, archived, or taken over while it waits."""

from __future__ import annotations

import pytest

from faults.operators import Operator
from migrate.moving.moves import NOW, Moves
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.migrate.moving import saved_runs
from shunter.migrate.moving.annotations import COMPARED, NOT_SEEN, mark
from shunter.migrate.moving.backup import restoring, saving
from shunter.migrate.moving.backup.index import read_index
from shunter.migrate.moving.plan import Plan
from shunter.migrate.moving.planning import PlanOptions

pytestmark = pytest.mark.integration

SIDE_BY_SIDE = PlanOptions(freeze="none")


async def ends(moves: Moves, plan: Plan) -> dict[str, tuple[bool, str]]:
    """Of each v1 job whether it goes, and why."""
    found = await moves.cleanup_candidates(plan, await moves.read_journal(plan))
    return {tidying.job.rpartition("/")[2]: (tidying.step is not None, tidying.why) for tidying in found}


async def test_a_job_that_never_ran_goes_when_its_train_job_waits_in_its_place_and_comes_back(moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    await moves.until_state("bert", "Suspended")
    before = await moves.state()
    plan = await moves.plan(SIDE_BY_SIDE)
    await moves.apply(plan)
    assert await ends(moves, plan) == {"bert": (True, "it never ran, and TrainJob bert, proved pod by pod, waits in its place")}
    await moves.clean_up(plan)
    assert await moves.v1("bert") == {}
    await moves.roll_back(plan)
    assert await moves.state() == before


async def test_a_job_that_never_ran_stays_when_its_train_job_is_not_what_was_proved(moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    await moves.until_state("bert", "Suspended")
    plan = await moves.plan(SIDE_BY_SIDE)
    await moves.apply(plan)
    runtime = (await moves.train_job("bert"))["spec"]["runtimeRef"]["name"]
    [found] = (await moves.client.list(TRAINING_RUNTIMES, moves.namespace)).items
    jobs = found["spec"]["template"]["spec"]["replicatedJobs"]
    [job] = jobs
    job_spec = {**job["template"]["spec"], "backoffLimit": 7}
    other = [{**job, "template": {**job["template"], "spec": job_spec}}]
    await moves.client.patch(
        TRAINING_RUNTIMES, runtime, moves.namespace, {"spec": {"template": {"spec": {"replicatedJobs": other}}}}
    )
    changed = f"TrainJob bert was changed, or TrainingRuntime {runtime} was deleted or changed: let it train, and compare"
    assert await ends(moves, plan) == {"bert": (False, changed)}
    await moves.client.patch(
        TRAINING_RUNTIMES, runtime, moves.namespace, {"spec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    )
    assert (await ends(moves, plan))["bert"][0]


async def test_a_job_that_waits_in_a_queue_stays_until_its_train_job_waits_there(moves: Moves) -> None:
    await moves.submit("bert", suspend=True, labels={QUEUE_LABEL: "gpus"})
    await moves.until_state("bert", "Suspended")
    plan = await moves.plan(SIDE_BY_SIDE)
    await moves.apply(plan)
    assert await ends(moves, plan) == {"bert": (False, "it waits in queue gpus, and TrainJob bert does not")}
    await moves.client.patch(TRAIN_JOBS, "bert", moves.namespace, {"metadata": {"labels": {QUEUE_LABEL: "gpus"}}})
    assert (await ends(moves, plan))["bert"][0]
    await moves.clean_up(plan)
    await moves.roll_back(plan)
    labels = (await moves.v1("bert"))["metadata"].get("labels") or {}
    assert QUEUE_LABEL not in labels, "Kueue would start both"


async def test_a_job_that_was_suspended_while_it_ran_does_not_go_as_one_that_never_ran(moves: Moves, operator: Operator) -> None:
    await moves.submit("bert", suspend=True)
    await moves.until_state("bert", "Suspended")
    await operator.stop()
    running = {
        "type": "Running",
        "status": "False",
        "reason": "Test",
        "message": "",
        "lastTransitionTime": "2026-11-21T00:00:00Z",
    }
    conditions = [running, {**running, "type": "Suspended", "status": "True"}]
    await moves.client.patch_status(PYTORCH_JOBS, "bert", moves.namespace, {"status": {"conditions": conditions}})
    plan = await moves.plan(SIDE_BY_SIDE)
    await moves.apply(plan)
    await moves.finish(TRAIN_JOBS, "bert", "Suspended")
    assert await ends(moves, plan) == {"bert": (False, "TrainJob bert is Suspended, not Complete")}


async def test_the_run_of_a_moved_job_is_kept_before_it_is_suspended(moves: Moves) -> None:
    await moves.submit("bert", workers=2)
    plan = await moves.plan(PlanOptions(running="move", freeze="none"))
    uid = (await moves.v1("bert"))["metadata"]["uid"]
    assert (await moves.apply(plan)).is_complete
    run = saved_runs.saved(moves.runs, f"PyTorchJob {moves.namespace}/bert")
    assert run is not None
    assert (run.uid, run.moved, run.is_finished, len(run.planned)) == (uid, True, False, 3)
    await moves.apply(plan)
    assert saved_runs.saved(moves.runs, f"PyTorchJob {moves.namespace}/bert") == run
    await moves.clean_up(plan, i_know=True)
    assert await moves.v1("bert") == {}
    assert saved_runs.saved(moves.runs, f"PyTorchJob {moves.namespace}/bert") == run, "its pods are gone since"


async def test_nothing_is_suspended_whose_run_cannot_be_kept(moves: Moves) -> None:
    await moves.submit("bert")
    plan = await moves.plan(PlanOptions(running="move", freeze="none"))
    moves.runs.write_text("in the way of the folder")
    with pytest.raises(Exception, match="cannot be written"):
        await moves.apply(plan)
    assert (await moves.v1("bert"))["spec"]["runPolicy"]["suspend"] is False


async def test_what_a_comparison_could_not_see_is_said_before_the_job_goes(moves: Moves, operator: Operator) -> None:
    await moves.submit("bert", suspend=True)
    await moves.until_state("bert", "Suspended")
    plan = await moves.plan(SIDE_BY_SIDE)
    await moves.apply(plan)
    await operator.stop()
    await moves.finish(TRAIN_JOBS, "bert", "Complete")
    await moves.note("equal", original="bert", train_job="bert", unseen=("final metrics", "throughput"))
    seen = "its TrainJob is Complete, and compares (not seen: final metrics, throughput)"
    assert await ends(moves, plan) == {"bert": (True, seen)}
    await moves.note("equal", original="bert", train_job="bert")
    train_job = await moves.train_job("bert")
    assert (mark(train_job, COMPARED), mark(train_job, NOT_SEEN)) == ("equal", "")


async def test_an_archive_grows_and_is_restored_as_a_backup_is(moves: Moves) -> None:
    archive = moves.directory / "archive"
    for name in ("bert", "gpt"):
        await moves.submit(name, suspend=True)
        await moves.finish(PYTORCH_JOBS, name, "Succeeded")
        saving.add(archive, [await moves.v1(name)], server="https://server", now=NOW)
        await moves.client.delete(PYTORCH_JOBS, name, moves.namespace, propagation="Background")
    index = read_index(archive)
    assert [(entry.name, entry.state) for entry in index.objects] == [("bert", "Succeeded"), ("gpt", "Succeeded")]
    left = await restoring.decisions(moves.client, archive, index, restoring.Choice())
    assert [decision.verdict for decision in left] == ["leave", "leave"]
    for decision in await restoring.decisions(moves.client, archive, index, restoring.Choice(finished=True)):
        assert await restoring.restore(moves.client, decision) == ""
    assert [(await moves.v1(name))["spec"]["runPolicy"]["suspend"] for name in ("bert", "gpt")] == [True, True]
