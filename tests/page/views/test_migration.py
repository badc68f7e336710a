"""The view of the migration: with a plan and without one, and the page of one move."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from page.views.test_job import NoServer
from shunter.api.meta import Json
from shunter.api.training.kinds import JOB_KINDS
from shunter.api.yaml import load_yaml
from shunter.cli.main import application
from shunter.kube.client import Client
from shunter.kube.transport import Response
from shunter.migrate.moving.plan import Item, Plan
from shunter.migrate.moving.plan import Wave as PlanWave
from shunter.migrate.options import Options
from shunter.page.conversions import Conversions, candidate
from shunter.page.move_detail import move
from shunter.page.views.migration import ReadPlan, kept_twin, kept_v1, open_migration
from shunter.page.views.view import Observed, Parameters, Rows, Viewer
from shunter.page.wire import MigrationSummary, Move, Wave

READY = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert, namespace: vision, uid: "1", creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, restartPolicy: OnFailure, template: {spec: {containers: [{name: pytorch, image: "train:1"}]}}}
status: {conditions: [{type: Running, status: "True"}]}
"""


def v1_job(name: str, **changes: Json) -> Json:
    job: Json = load_yaml(READY) | changes
    job["metadata"] = {**job["metadata"], "name": name, "uid": name}
    return job


def blocked(name: str) -> Json:
    """No result of it may be used: a PyTorchJob has exactly one Master."""
    job = v1_job(name)
    job["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] = "two"
    return job


def twin(name: str, of: str, state: str = "", **annotations: str) -> Json:
    conditions = [{"type": state, "status": "True"}] if state else []
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "name": name,
            "namespace": "vision",
            "annotations": {"migrate.shunter.dev/source": f"PyTorchJob vision/{of}", **annotations},
        },
        "spec": {"suspend": True},
        "status": {"conditions": conditions, "jobsStatus": [] if state else [{"name": "node", "active": 1, "ready": 1}]},
    }


async def shown(
    jobs: list[Json],
    twins: list[Json] = [],  # noqa: B006
    plan: Plan | None = None,
    problem: str = "",
    unchecked: Sequence[str] = (),
) -> Rows:
    """The rows, once all conversions but those of the names in `unchecked` were looked at."""
    has_plan = plan is not None or bool(problem)
    viewer = Viewer(Client(NoServer()), "ann", "prod", plan=Path("moves/plan.yaml") if has_plan else None)
    view = open_migration(viewer, Parameters())
    objects: dict[str, dict[str, Any]] = {kind.resource.plural: {} for kind in JOB_KINDS}
    objects["pytorchjobs"] = {job["metadata"]["uid"]: kept_v1(job) for job in jobs}
    objects["twins"] = {job["metadata"]["name"]: kept for job in twins if (kept := kept_twin(job)) is not None}
    conversions = await Conversions().of(
        [candidate(job, Options(suspend=True)) for job in jobs if job["metadata"]["name"] not in unchecked]
    )
    readings: dict[str, Any] = {"conversions": conversions}
    if has_plan:
        readings["plan"] = ReadPlan(plan, problem=problem)
    return view.rows(Observed(objects, readings), 0)


def summary(rows: Rows) -> MigrationSummary:
    (found,) = rows["migration"]
    assert isinstance(found, MigrationSummary)
    return found


def moves(rows: Rows) -> dict[str, Move]:
    return {row.name: row for row in rows["moves"] if isinstance(row, Move)}


def waves(rows: Rows) -> list[tuple[str, int, int]]:
    return [(row.title.partition(":")[0], row.done, row.total) for row in rows["waves"] if isinstance(row, Wave)]


async def test_without_a_plan_jobs_stand_by_class_with_their_first_blocking_finding() -> None:
    ended = v1_job("old", status={"conditions": [{"type": "Succeeded", "status": "True"}]})
    rows = await shown([v1_job("bert"), blocked("broken"), ended])
    found = moves(rows)
    assert {name: move.state for name, move in found.items()} == {"bert": "ready", "broken": "blocked", "old": "not moved"}
    assert found["bert"].proof.startswith("pods: ")
    assert found["bert"].next == "shunter migrate validate --cluster pytorchjob/bert -n vision"
    assert "replicas" in found["broken"].first
    assert found["broken"].next.startswith("shunter migrate explain ")
    assert waves(rows) == [("complex", 0, 1), ("finished", 1, 1), ("blocked", 0, 1)]
    head = summary(rows)
    assert (head.plan, head.v1_left, head.v1_total) == ("", 3, 3)
    assert head.counts == (("ready", 1), ("blocked", 1), ("not moved", 1))
    assert ("Write a plan", "shunter migrate plan > plan.yaml") in head.commands


async def test_without_a_plan_train_jobs_tell_by_their_marks_what_was_made() -> None:
    names = ["made", "running", "finished", "compared"]
    twins = [
        twin("a", "made", "Suspended"),
        twin("b", "running"),
        twin("c", "finished", "Complete"),
        twin("d", "compared", "Complete", **{"migrate.shunter.dev/compared": "equal"}),
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "own", "namespace": "vision"}},
    ]
    rows = await shown([v1_job(name) for name in names], twins)
    assert {name: (move.state, move.twin) for name, move in moves(rows).items()} == {
        "made": ("made", "a Suspended"),
        "running": ("running", "b Running"),
        "finished": ("finished", "c Succeeded"),
        "compared": ("compared", "d Succeeded"),
    }


async def test_a_job_whose_conversion_was_not_looked_at_is_not_said_to_be_ready() -> None:
    for plan in (None, plan_of(("first", ["bert", "new"]))):
        rows = await shown([v1_job("bert"), v1_job("new")], plan=plan, unchecked=("new",))
        assert {name: move.state for name, move in moves(rows).items()} == {"bert": "ready", "new": "not checked"}
        assert summary(rows).counts == (("not checked", 1), ("ready", 1))


def plan_of(*waves: tuple[str, list[str]]) -> Plan:
    def item(name: str) -> Item:
        return Item("PyTorchJob", "vision", name, "0", "Running", "simple", "create", "it is simple")

    return Plan(
        format=1,
        id="p1",
        strategy="side-by-side",
        server="s",
        options=Options(suspend=True),
        waves=tuple(PlanWave(name, f"why {name}", tuple(map(item, names))) for name, names in waves),
    )


async def test_with_a_plan_its_waves_are_shown_and_how_far_each_job_is() -> None:
    plan = plan_of(("first", ["bert", "gone"]), ("second", ["broken", "done"]))
    marks = {"migrate.shunter.dev/plan": "p1", "migrate.shunter.dev/compared": "equal"}
    rows = await shown(
        [v1_job("bert"), blocked("broken"), v1_job("done"), v1_job("new")], [twin("done", "done", "Complete", **marks)], plan
    )
    found = moves(rows)
    assert {name: (move.wave, move.state) for name, move in found.items()} == {
        "bert": (1, "ready"),
        "gone": (1, "gone"),
        "broken": (2, "blocked"),
        "done": (2, "compared"),
    }
    assert waves(rows) == [("first", 1, 2), ("second", 1, 2)]
    head = summary(rows)
    assert (head.plan, head.v1_left) == ("plan.yaml", 4)
    assert ("Execute the plan", "shunter migrate apply --plan moves/plan.yaml") in head.commands


async def test_a_job_that_is_waited_for_is_not_done() -> None:
    plan = plan_of(("first", ["bert"]))
    wave = msgspec.structs.replace(plan.waves[0], jobs=(msgspec.structs.replace(plan.items[0], action="wait"),))
    rows = await shown([v1_job("bert")], plan=msgspec.structs.replace(plan, waves=(wave,)))
    assert (moves(rows)["bert"].state, waves(rows)) == ("not moved", [("first", 0, 1)])


async def test_a_plan_that_cannot_be_read_is_said_and_the_inventory_shown() -> None:
    rows = await shown([v1_job("bert")], problem="format is 9; this version reads 1.")
    assert summary(rows).plan == "plan.yaml: format is 9; this version reads 1."
    assert list(moves(rows)) == ["bert"]


async def test_a_job_is_converted_again_only_when_its_user_changed_it() -> None:
    conversions, job = Conversions(), v1_job("bert")
    first = await conversions.of([candidate(job, Options())])
    job["status"] = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    again = await conversions.of([candidate(job, Options())])
    assert again["PyTorchJob vision/bert"] is first["PyTorchJob vision/bert"]
    job["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] = "two"
    assert (await conversions.of([candidate(job, Options())]))["PyTorchJob vision/bert"].blocking
    assert not await conversions.of([])


class Refusing(NoServer):
    """A transport that knows a v1 job (one that has ended) and, unless it refuses them, its TrainJob; it refuses pods."""

    def __init__(self, *, refuses_twins: bool, job: Json | None = None) -> None:
        self._refuses_twins = refuses_twins
        self._job = job or v1_job("bert", status=ENDED)

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        if path.endswith("/pytorchjobs/bert"):
            return Response(200, {}, msgspec.json.encode(self._job))
        if path.endswith("/trainjobs") and not self._refuses_twins:
            items = [twin("bert", "bert", "Complete")]
            return Response(200, {}, msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items}))
        status = {"kind": "Status", "message": f"you may not list {path.rpartition('/')[2]}", "reason": "Forbidden", "code": 403}
        return Response(403, {}, msgspec.json.encode(status))


ENDED = {"conditions": [{"type": "Succeeded", "status": "True"}]}


def understood(line: str) -> dict[str, Any]:
    """What the command of a line takes from it, by the names of its parameters; it is not carried out."""
    command: Any = typer.main.get_command(application())
    context, words = None, shlex.split(line, comments=True)
    while words:
        context = command.make_context(words[0], words[1:], parent=context)
        if not hasattr(command, "resolve_command"):
            return dict(context.params)
        words = [*context._protected_args, *context.args]
        command = command.resolve_command(context, words)[1]
    raise AssertionError(line)


@pytest.mark.parametrize("state", ["Running", "Succeeded"])
async def test_commands_are_whole_and_reach_the_cluster_of_the_page(state: str) -> None:
    job = v1_job("bert", status={"conditions": [{"type": state, "status": "True"}]})
    job["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = "Always"
    viewer = Viewer(Client(Refusing(refuses_twins=True, job=job)), "ann", "prod", options=" --context 'the other'")
    lines = [line for _, line in (await move(viewer, Parameters(("vision",), "PyTorchJob", "bert"))).commands]
    others = ["backup"] if state == "Succeeded" else ["convert", "validate", "diff", "test", "compare"]
    found = [(line.split()[2], understood(line)) for line in lines]
    assert [(verb, given["context"]) for verb, given in found[: len(others)]] == [(verb, "the other") for verb in others]
    assert {verb for verb, _ in found[len(others) :]} == {"explain"}
    assert ("RESTART001",) in [given["asked"] for _, given in found[len(others) :]]


async def test_the_page_of_a_move_says_why_its_train_job_is_not_known() -> None:
    viewer = Viewer(Client(Refusing(refuses_twins=True)), "ann", "prod")
    detail = await move(viewer, Parameters(("vision",), "PyTorchJob", "bert"))
    assert (detail.move.state, detail.move.twin) == ("not checked", "")
    assert detail.comparison == (("TrainJob", "", "", "not known: you may not list trainjobs"),)


async def test_the_page_of_a_move_says_why_its_runs_are_not_compared() -> None:
    viewer = Viewer(Client(Refusing(refuses_twins=False)), "ann", "prod")
    detail = await move(viewer, Parameters(("vision",), "PyTorchJob", "bert"))
    assert (detail.move.state, detail.move.twin) == ("finished", "bert Succeeded")
    assert detail.comparison == (("runs", "", "", "not known: you may not list pods"),)


async def test_the_page_of_a_move_says_why_its_plan_is_not_known(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("format: 9\n")
    viewer = Viewer(Client(Refusing(refuses_twins=True)), "ann", "prod", plan=plan)
    detail = await move(viewer, Parameters(("vision",), "PyTorchJob", "bert"))
    what, _, _, verdict = detail.comparison[0]
    assert (what, verdict.startswith("not known: ")) == ("plan", True)
