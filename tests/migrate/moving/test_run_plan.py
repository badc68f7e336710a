"""Plans applied and taken back on a control plane, with the operator at work."""

from __future__ import annotations

import msgspec
import pytest

from fault_transport import Disconnect, Fault, Refuse
from faults.operators import Operator
from migrate.moving.moves import Moves, shape
from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.retry import DEFAULT
from shunter.migrate.moving.annotations import COMPARED, SOURCE, mark
from shunter.migrate.moving.applying import Outcome
from shunter.migrate.moving.plan import Item, Plan, text
from shunter.migrate.moving.planning import PlanOptions
from shunter.migrate.moving.run_plan import Run
from shunter.operator.overview import overview

pytestmark = pytest.mark.integration


def of_jobs(run: Run) -> list[Outcome]:
    """What became of the steps of jobs; the freeze has steps of its own where a cluster can have one."""
    return [outcome for outcome in run.outcomes if outcome.step.job]


def with_action(plan: Plan, name: str, action: str) -> Plan:
    def item(found: Item) -> Item:
        return msgspec.structs.replace(found, action=action) if found.name == name else found

    waves = tuple(msgspec.structs.replace(wave, jobs=tuple(map(item, wave.jobs))) for wave in plan.waves)
    return msgspec.structs.replace(plan, waves=waves)


async def test_a_suspended_job_gets_a_suspended_train_job_and_stays_as_it_is(moves: Moves) -> None:
    before = await moves.submit("bert", suspend=True)
    plan = await moves.plan()
    run = await moves.apply(plan)
    assert run.is_complete, run
    assert (await moves.train_job("bert"))["spec"]["suspend"] is True
    assert (await moves.v1("bert"))["spec"] == before["spec"]
    again = await moves.apply(plan)
    assert {outcome.verdict for outcome in again.outcomes} == {"already done"}


async def test_a_running_job_is_moved_only_when_asked_for_and_never_trains_twice_at_once(moves: Moves) -> None:
    await moves.submit("bert")
    waiting = await moves.plan()
    assert [item.action for item in waiting.items] == ["wait"]
    assert of_jobs(await moves.apply(waiting)) == []
    plan = await moves.plan(PlanOptions(running="move"))
    run = await moves.apply(plan)
    assert run.is_complete, run
    assert [outcome.step.verb for outcome in of_jobs(run)] == ["create", "create", "patch", "patch"]
    assert overview(await moves.v1("bert")).state == "Suspended"
    assert (await moves.train_job("bert"))["spec"]["suspend"] is False


async def test_rollback_leaves_what_was_there_before(moves: Moves) -> None:
    await moves.submit("runs")
    await moves.submit("waits", suspend=True)
    before = await moves.state()
    plan = await moves.plan(PlanOptions(running="move"))
    assert (await moves.apply(plan)).is_complete
    assert await moves.state() != before
    previewed = await moves.preview(plan)
    assert {undo.verdict for undo in previewed} == {"delete", "patch"}
    undone = await moves.roll_back(plan)
    assert [undo.verdict for undo, _ in undone] == [undo.verdict for undo in previewed]
    assert [failure for _, failure in undone if failure] == []
    assert await moves.state() == before
    assert set(shape(await moves.read_journal(plan), plan, moves.namespace).values()) == {"undone"}


async def test_after_a_rollback_the_plan_can_be_applied_again(moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    plan = await moves.plan()
    await moves.apply(plan)
    await moves.roll_back(plan)
    assert await moves.train_job("bert") == {}
    assert (await moves.apply(plan)).is_complete
    assert await moves.train_job("bert") != {}


async def test_rollback_never_runs_a_training_again_whose_train_job_has_finished(moves: Moves, operator: Operator) -> None:
    await moves.submit("bert")
    plan = await moves.plan(PlanOptions(running="move"))
    assert (await moves.apply(plan)).is_complete
    await operator.stop()
    await moves.finish(TRAIN_JOBS, "bert", "Complete")
    undone = {undo.record.step: undo for undo, _ in await moves.roll_back(plan)}
    assert undone[f"suspend PyTorchJob {moves.namespace}/bert"].verdict == "keep"
    assert undone[f"create TrainJob {moves.namespace}/bert"].verdict == "keep"
    assert (await moves.v1("bert"))["spec"]["runPolicy"]["suspend"] is True
    assert overview(await moves.train_job("bert")).state == "Succeeded"


async def test_rollback_never_runs_a_training_again_whose_train_job_has_finished_and_was_deleted(
    moves: Moves, operator: Operator
) -> None:
    await moves.submit("bert")
    plan = await moves.plan(PlanOptions(running="move"))
    assert (await moves.apply(plan)).is_complete
    await operator.stop()
    await moves.finish(TRAIN_JOBS, "bert", "Complete")
    await moves.client.delete(TRAIN_JOBS, "bert", moves.namespace, propagation="Background")
    suspended = f"suspend PyTorchJob {moves.namespace}/bert"
    assert {undo.record.step: undo.verdict for undo in await moves.preview(plan)}[suspended] == "keep"
    for _ in range(2):
        undone = {undo.record.step: undo for undo, _ in await moves.roll_back(plan)}
        assert undone[suspended].verdict == "keep"
        assert "resume the v1 job by hand" in undone[suspended].why
        assert (await moves.v1("bert"))["spec"]["runPolicy"]["suspend"] is True
    again = await moves.apply(plan)
    assert (of_jobs(again), again.is_complete) == ([], False)
    assert "how it ended is unknown" in again.refused[f"PyTorchJob {moves.namespace}/bert"]
    assert await moves.train_job("bert") == {}


async def test_rollback_leaves_a_train_job_that_is_all_there_is_and_its_runtime(moves: Moves) -> None:
    await moves.submit("bert")
    plan = await moves.plan(PlanOptions(running="move"))
    assert (await moves.apply(plan)).is_complete
    await moves.client.delete(PYTORCH_JOBS, "bert", moves.namespace)
    for _ in range(2):
        previewed = {undo.record.step: (undo.verdict, undo.why) for undo in await moves.preview(plan)}
        undone = {undo.record.step: (undo.verdict, undo.why) for undo, _ in await moves.roll_back(plan)}
        assert undone == previewed
        left = ("keep", f"PyTorchJob {moves.namespace}/bert does not exist: this is all that is left of its training")
        assert undone[f"start TrainJob {moves.namespace}/bert"] == left
        assert undone[f"create TrainJob {moves.namespace}/bert"] == left
        assert [said for step, said in undone.items() if "TrainingRuntime" in step] == [("keep", "TrainJob bert uses it")]
        assert (await moves.train_job("bert"))["spec"]["suspend"] is False
    # Another training of that name does not stand for it.
    await moves.submit("bert", workers=3)
    undone = {undo.record.step: (undo.verdict, undo.why) for undo, _ in await moves.roll_back(plan)}
    assert undone[f"create TrainJob {moves.namespace}/bert"] == (
        "keep",
        f"PyTorchJob {moves.namespace}/bert is another job now: this is all that is left of its training",
    )


async def test_rollback_looks_again_at_what_was_gone_when_it_wrote(moves: Moves) -> None:
    await moves.submit("bert")
    before = await moves.state()
    plan = await moves.plan(PlanOptions(running="move"))
    await moves.apply(plan)
    async with moves.failing(Refuse(404, "NotFound"), method="PATCH", path="/pytorchjobs/bert", times=1) as client:
        undone = await moves.roll_back(plan, client=client)
    assert [failure for _, failure in undone if failure] == []
    assert await moves.state() == before


async def test_rollback_goes_on_beside_what_may_not_be_read(moves: Moves) -> None:
    for name in ("a", "b"):
        await moves.submit(name, suspend=True)
    plan = await moves.plan()
    await moves.apply(plan)
    async with moves.failing(Refuse(403, "Forbidden"), path="/trainjobs/b", times=9) as client:
        undone = {
            undo.record.name: undo for undo, _ in await moves.roll_back(plan, client=client) if undo.record.kind == "TrainJob"
        }
    assert {name: (undo.verdict, undo.why) for name, undo in undone.items()} == {
        "a": ("delete", "this plan created it"),
        "b": ("refuse", "injected"),
    }
    assert await moves.train_job("a") == {}
    assert [undo.record.name for undo, _ in await moves.roll_back(plan) if undo.verdict == "delete"][:1] == ["b"]


async def test_rollback_refuses_what_was_changed_since(moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    plan = await moves.plan()
    await moves.apply(plan)
    await moves.client.patch(TRAIN_JOBS, "bert", moves.namespace, {"metadata": {"labels": {"team": "a"}}})
    undone = {undo.record.kind: undo for undo, _ in await moves.roll_back(plan)}
    assert (undone["TrainJob"].verdict, undone["TrainJob"].why) == ("refuse", "it was changed after it was created")
    assert await moves.train_job("bert") != {}


async def test_a_job_that_was_changed_since_the_plan_is_left_alone(moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    plan = await moves.plan()
    await moves.client.patch(PYTORCH_JOBS, "bert", moves.namespace, {"metadata": {"labels": {"team": "a"}}})
    run = await moves.apply(plan)
    assert of_jobs(run) == []
    assert run.refused == {f"PyTorchJob {moves.namespace}/bert": "it was changed after the plan was created; plan again"}


async def test_a_finished_job_is_archived_and_never_trains_again(moves: Moves) -> None:
    await moves.submit("bert")
    await moves.until_state("bert", "Created")
    await moves.finish(PYTORCH_JOBS, "bert", "Succeeded")
    plan = await moves.plan(PlanOptions(running="move"))
    assert [(item.action, item.job_class) for item in plan.items] == [("archive", "finished")]
    moved = await moves.apply(with_action(plan, "bert", "move"))
    assert [outcome.verdict for outcome in of_jobs(moved)] == ["done", "done", "refused", "skipped"]
    assert (await moves.train_job("bert"))["spec"]["suspend"] is True


async def test_what_somebody_else_looks_after_gets_a_patch_for_its_source_and_is_not_touched(moves: Moves) -> None:
    await moves.submit(
        "bert", suspend=True, annotations={"meta.helm.sh/release-name": "jobs", "meta.helm.sh/release-namespace": "x"}
    )
    before = await moves.state()
    plan = await moves.plan()
    assert [(item.action, item.owner) for item in plan.items] == [("source", "Helm release x/jobs")]
    run = await moves.apply(plan)
    assert of_jobs(run) == []
    assert [patch.file for patch in run.patches] == [f"{moves.namespace}-pytorchjob-bert.yaml"]
    assert "kind: TrainJob" in run.patches[0].text
    assert "suspend: true" in run.patches[0].text
    forced = await moves.apply(msgspec.structs.replace(with_action(plan, "bert", "move"), id="forced"))
    assert list(forced.refused.values()) == ["it belongs to Helm release x/jobs, which would start it again; change it there"]
    assert await moves.state() == before


async def test_a_replacement_waits_until_no_v1_job_runs_and_begins_with_a_backup(moves: Moves) -> None:
    await moves.submit("runs")
    await moves.submit("waits", suspend=True)
    await moves.until_state("waits", "Suspended")
    plan = await moves.plan(PlanOptions(strategy="replacement", freeze="none"))
    run = await moves.apply(plan)
    assert list(run.active) == [f"PyTorchJob {moves.namespace}/runs (Created)"]
    assert of_jobs(run) == []
    assert not (moves.directory / "backup").exists()
    await moves.finish(PYTORCH_JOBS, "runs", "Succeeded")
    assert (await moves.apply(plan)).is_complete
    assert (moves.directory / "backup" / "index.yaml").exists()
    assert await moves.train_job("waits") != {}


async def test_a_job_that_is_in_the_way_stops_only_its_own_steps(moves: Moves) -> None:
    await moves.submit("a", suspend=True)
    await moves.submit("b", suspend=True)
    plan = await moves.plan()
    body = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "a", "namespace": moves.namespace},
    }
    await moves.client.create(TRAIN_JOBS, {**body, "spec": {"suspend": True, "runtimeRef": {"name": "other"}}})
    run = await moves.apply(plan)
    verdicts = {outcome.step.id.replace(moves.namespace, "NS"): outcome.verdict for outcome in run.outcomes}
    assert verdicts["create TrainJob NS/a"] == "refused"
    assert verdicts["create TrainJob NS/b"] == "done"


async def test_the_journal_survives_the_loss_of_its_file(moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    before = await moves.state()
    plan = await moves.plan()
    await moves.apply(plan)
    next(moves.directory.glob("*.jsonl")).unlink()
    await moves.roll_back(plan)
    assert await moves.state() == before


async def test_two_plans_of_the_same_cluster_are_the_same_text(moves: Moves) -> None:
    for name in ("b", "a", "c"):
        await moves.submit(name, suspend=True)
        await moves.until_state(name, "Suspended")
    first = text(await moves.plan())
    assert text(await moves.plan()) == first
    assert first.index("name: a") < first.index("name: b") < first.index("name: c")


async def test_a_deleted_v1_job_comes_back_suspended_and_one_that_had_finished_does_not(moves: Moves, operator: Operator) -> None:
    for name in ("waits", "done"):
        await moves.submit(name, suspend=True)
    plan = await moves.plan()
    assert (await moves.apply(plan)).is_complete
    await operator.stop()
    for name in ("waits", "done"):
        await moves.finish(TRAIN_JOBS, name, "Complete")
        assert await moves.note("equal", original=name, train_job=name) == ""
    await moves.finish(PYTORCH_JOBS, "done", "Succeeded")
    await moves.finish(PYTORCH_JOBS, "waits", "Suspended")
    assert {outcome.verdict for outcome in await moves.clean_up(plan)} == {"done"}
    assert [await moves.v1("waits"), await moves.v1("done")] == [{}, {}]
    undone = {undo.record.name: undo.verdict for undo, _ in await moves.roll_back(plan) if undo.record.verb == "delete"}
    assert undone == {"waits": "create", "done": "keep"}
    assert (await moves.v1("waits"))["spec"]["runPolicy"]["suspend"] is True
    assert await moves.v1("done") == {}


async def test_no_comparison_is_recorded_on_a_trial(moves: Moves) -> None:
    metadata = {"name": "bert-trial", "namespace": moves.namespace, "annotations": {SOURCE: f"PyTorchJob {moves.namespace}/bert"}}
    body = {"apiVersion": TRAIN_JOBS.api_version, "kind": TRAIN_JOBS.kind, "metadata": metadata}
    await moves.client.create(TRAIN_JOBS, {**body, "spec": {"suspend": True, "runtimeRef": {"name": "other"}}})
    assert await moves.note("equal", original="bert", train_job="bert-trial") == ""
    assert mark(await moves.train_job("bert-trial"), COMPARED) == ""


async def test_a_comparison_with_another_job_unlocks_no_deletion(moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    other = await moves.submit("other", suspend=True)
    assert (await moves.apply(await moves.plan())).is_complete
    title = f"PyTorchJob {moves.namespace}/"
    said = await moves.note("equal", original="other", train_job="bert", uid=other["metadata"]["uid"])
    assert said == f"TrainJob {moves.namespace}/bert was converted from {title}bert, not from {title}other"
    # As a baseline of an earlier job that had the same name.
    assert await moves.note("equal", original="bert", train_job="bert", uid="earlier") == (
        f"TrainJob {moves.namespace}/bert was converted from another {title}bert than the one that ran"
    )
    assert mark(await moves.train_job("bert"), COMPARED) == ""
    uid = (await moves.v1("bert"))["metadata"]["uid"]
    assert await moves.note("equal", original="bert", train_job="bert", uid=uid) == ""
    assert mark(await moves.train_job("bert"), COMPARED) == "equal"


async def test_who_may_not_do_all_of_it_writes_nothing(moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    plan = await moves.plan(PlanOptions(freeze="none"))
    async with moves.acting_as_reader() as reader:
        with pytest.raises(EnvironmentProblem, match=r"no permission to .*create trainjobs\.trainer\.kubeflow\.org in namespace"):
            await moves.apply(plan, client=reader)
    assert await moves.train_job("bert") == {}
    assert (await moves.read_journal(plan)).records == []


ALL_OF_JOBS = {"apiGroups": ["kubeflow.org", "trainer.kubeflow.org"], "resources": ["*"], "verbs": ["*"]}
CONFIG = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
READ_LOGS = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}
READ_JOBSETS = {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": ["get"]}


@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        ([READ_JOBSETS, READ_LOGS], "list pods in namespace"),
        ([READ_PODS, READ_LOGS], r"get jobsets\.jobset\.x-k8s\.io in namespace"),
        ([READ_PODS, READ_JOBSETS], "get pods/log in namespace"),
    ],
    ids=["who may not see pods", "who may not see JobSets", "who may not keep what its pods said"],
)
async def test_nothing_is_stopped_by_who_could_not_see_that_it_has_stopped(moves: Moves, rules: list[Json], missing: str) -> None:
    await moves.submit("bert")
    plan = await moves.plan(PlanOptions(running="move", freeze="none"))
    async with moves.acting_with(ALL_OF_JOBS, CONFIG, *rules) as user:
        with pytest.raises(EnvironmentProblem, match=missing):
            await moves.apply(plan, client=user)
    assert (await moves.v1("bert"))["spec"]["runPolicy"]["suspend"] is False
    assert await moves.train_job("bert") == {}


async def test_who_may_do_all_that_a_move_asks_for_can_move(moves: Moves) -> None:
    await moves.submit("bert")
    plan = await moves.plan(PlanOptions(running="move", freeze="none"))
    async with moves.acting_with(ALL_OF_JOBS, CONFIG, READ_PODS, READ_LOGS, READ_JOBSETS) as user:
        assert (await moves.apply(plan, client=user)).is_complete


@pytest.mark.parametrize("path", ["/jobsets/", "/pods"], ids=["of the JobSet", "of pods"])
@pytest.mark.parametrize(
    "fault", [Refuse(503, "ServiceUnavailable"), Refuse(429, "TooManyRequests"), Disconnect()], ids=["failing", "busy", "away"]
)
async def test_a_server_that_is_away_for_seconds_does_not_leave_a_move_half_done(moves: Moves, fault: Fault, path: str) -> None:
    await moves.submit("bert")
    plan = await moves.plan(PlanOptions(running="move", freeze="none"))
    # More often than a request is sent again by the client itself.
    async with moves.failing(fault, path=path, times=DEFAULT.attempts + 2) as client:
        run = await moves.apply(plan, client=client)
    assert run.is_complete, run


async def test_a_backup_of_another_time_is_no_backup(moves: Moves) -> None:
    await moves.submit("bert", suspend=True)
    await moves.until_state("bert", "Suspended")
    plan = await moves.plan(PlanOptions(strategy="replacement", freeze="none"))
    assert (await moves.apply(plan)).is_complete
    await moves.roll_back(plan)
    later = msgspec.structs.replace(plan, id="later")
    await moves.submit("new", suspend=True)
    await moves.until_state("new", "Suspended")
    with pytest.raises(InputError, match="backup: this backup is of another time"):
        await moves.apply(later)


async def test_kueue_cannot_start_a_train_job_before_its_user_does(moves: Moves) -> None:
    await moves.submit("bert", suspend=True, labels={"kueue.x-k8s.io/queue-name": "gpus", "team": "a"})
    plan = await moves.plan()
    assert (await moves.apply(plan)).is_complete
    metadata = (await moves.train_job("bert"))["metadata"]
    assert metadata["labels"] == {"team": "a"}
    assert metadata["annotations"]["migrate.shunter.dev/queue"] == "gpus"
    moved = await moves.apply(msgspec.structs.replace(with_action(plan, "bert", "move"), id="other"))
    assert list(moved.refused.values()) == ["Kueue (queue gpus) decides when it runs, and would start it again; wait, or create"]


async def test_a_patch_for_a_source_says_only_what_the_source_says_about_suspension(moves: Moves) -> None:
    await moves.submit("bert", ownerReferences=[{"apiVersion": "v1", "kind": "Trial", "name": "t", "uid": "1"}])
    [patch] = (await moves.apply(await moves.plan())).patches
    assert "kind: TrainJob" in patch.text
    assert "suspend:" not in patch.text
