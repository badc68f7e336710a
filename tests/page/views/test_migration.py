"""The view of the migration: with a plan and without one, and the page of one migrated job."""

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
from shunter.migrate.moving import saved_runs
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.plan import Item, Plan, text
from shunter.migrate.moving.plan import Wave as PlanWave
from shunter.migrate.moving.runs.record import Run, encoded
from shunter.migrate.options import Options
from shunter.page.conversions import Conversions, candidate
from shunter.page.migration_job import job_migration
from shunter.page.migration_status import ReadPlan
from shunter.page.views.migration import kept_train_job, kept_v1, open_migration
from shunter.page.views.view import Observed, PageOptions, Parameters, Rows, Viewer
from shunter.page.wire import JobMigration, MigrationSummary, Wave

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


def train_job(name: str, of: str, state: str = "", **annotations: str) -> Json:
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
    train_jobs: list[Json] = [],  # noqa: B006
    plan: Plan | None = None,
    problem: str = "",
    unchecked: Sequence[str] = (),
) -> Rows:
    """The rows, once all conversions but those of the names in `unchecked` were looked at."""
    has_plan = plan is not None or bool(problem)
    viewer = Viewer(Client(NoServer()), "ann", PageOptions("prod", plan=Path("moves/plan.yaml") if has_plan else None))
    view = open_migration(viewer, Parameters())
    objects: dict[str, dict[str, Any]] = {kind.resource.plural: {} for kind in JOB_KINDS}
    objects["pytorchjobs"] = {job["metadata"]["uid"]: kept_v1(job) for job in jobs}
    objects["trainjobs"] = {job["metadata"]["name"]: kept for job in train_jobs if (kept := kept_train_job(job)) is not None}
    conversions = await Conversions().of(
        Client(NoServer()), [candidate(job, Options(suspend=True)) for job in jobs if job["metadata"]["name"] not in unchecked]
    )
    readings: dict[str, Any] = {"conversions": conversions}
    if has_plan:
        readings["plan"] = ReadPlan(plan, problem=problem)
    return view.rows(Observed(objects, readings), 0)


def summary(rows: Rows) -> MigrationSummary:
    (found,) = rows["migration"]
    assert isinstance(found, MigrationSummary)
    return found


def moves(rows: Rows) -> dict[str, JobMigration]:
    return {row.name: row for row in rows["moves"] if isinstance(row, JobMigration)}


def waves(rows: Rows) -> list[tuple[str, int, int]]:
    return [(row.title.partition(":")[0], row.done, row.total) for row in rows["waves"] if isinstance(row, Wave)]


async def test_without_a_plan_jobs_stand_by_class_with_their_first_blocking_finding() -> None:
    ended = v1_job("old", status={"conditions": [{"type": "Succeeded", "status": "True"}]})
    rows = await shown([v1_job("bert"), blocked("broken"), ended])
    found = moves(rows)
    assert {name: move.state for name, move in found.items()} == {"bert": "ready", "broken": "blocked", "old": "not moved"}
    assert found["bert"].proof.startswith("pods: ")
    assert found["bert"].command == "shunter migrate validate --cluster pytorchjob/bert -n vision"
    assert "replicas" in found["broken"].first
    assert found["broken"].command.startswith("shunter migrate explain ")
    assert waves(rows) == [("complex", 0, 1), ("finished", 1, 1), ("blocked", 0, 1)]
    head = summary(rows)
    assert (head.plan, head.v1_left, head.v1_total) == ("", 3, 3)
    assert head.counts == (("ready", 1), ("blocked", 1), ("not moved", 1))
    assert ("Write a plan", "shunter migrate plan > plan.yaml") in head.commands
    assert summary(await shown([])).commands == (), "there is nothing to plan"


async def test_without_a_plan_train_jobs_tell_by_their_marks_what_was_made() -> None:
    names = ["made", "running", "finished", "compared"]
    train_jobs = [
        train_job("a", "made", "Suspended"),
        train_job("b", "running"),
        train_job("c", "finished", "Complete"),
        train_job("d", "compared", "Complete", **{"migrate.shunter.dev/compared": "equal"}),
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "own", "namespace": "vision"}},
    ]
    rows = await shown([v1_job(name) for name in names], train_jobs)
    assert {name: (move.state, move.train_job) for name, move in moves(rows).items()} == {
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
        [v1_job("bert"), blocked("broken"), v1_job("done"), v1_job("new")], [train_job("done", "done", "Complete", **marks)], plan
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


async def test_a_job_is_converted_again_only_when_its_user_changed_it_or_it_has_ended() -> None:
    conversions, job, client = Conversions(), v1_job("bert"), Client(NoServer())
    first = await conversions.of(client, [candidate(job, Options())])
    job["status"] = {"conditions": [{"type": "Restarting", "status": "True"}]}
    again = await conversions.of(client, [candidate(job, Options())])
    assert again["PyTorchJob vision/bert"] is first["PyTorchJob vision/bert"]
    job["status"] = ENDED
    ended = await conversions.of(client, [candidate(job, Options())])
    assert ended["PyTorchJob vision/bert"].job_class == "finished"
    job["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] = "two"
    assert (await conversions.of(client, [candidate(job, Options())]))["PyTorchJob vision/bert"].blocking
    assert not await conversions.of(client, [])


class Refusing(NoServer):
    """A transport that knows a v1 job (one that has ended) and, unless it refuses them, its TrainJob; it refuses pods."""

    def __init__(self, *, refuses_train_jobs: bool, job: Json | None = None) -> None:
        self._refuses_train_jobs = refuses_train_jobs
        self._job = job or v1_job("bert", status=ENDED)

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        if path.endswith("/pytorchjobs/bert"):
            return Response(200, {}, msgspec.json.encode(self._job))
        if path.endswith("/trainjobs") and not self._refuses_train_jobs:
            items = [train_job("bert", "bert", "Complete")]
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
    viewer = Viewer(
        Client(Refusing(refuses_train_jobs=True, job=job)), "ann", PageOptions("prod", options=" --context 'the other'")
    )
    lines = [line for _, line in (await job_migration(viewer, Parameters(("vision",), "PyTorchJob", "bert"))).commands]
    others = ["backup"] if state == "Succeeded" else ["convert", "validate", "diff", "test", "compare"]
    found = [(line.split()[2], understood(line)) for line in lines]
    assert [(verb, given["context"]) for verb, given in found[: len(others)]] == [(verb, "the other") for verb in others]
    assert {verb for verb, _ in found[len(others) :]} == {"explain"}
    assert ("RESTART001",) in [given["asked"] for _, given in found[len(others) :]]


async def test_the_page_of_a_migrated_job_says_why_its_train_job_is_not_known() -> None:
    viewer = Viewer(Client(Refusing(refuses_train_jobs=True)), "ann", PageOptions("prod"))
    detail = await job_migration(viewer, Parameters(("vision",), "PyTorchJob", "bert"))
    assert (detail.migration.state, detail.migration.train_job) == ("not checked", "")
    assert detail.comparison == (("TrainJob", "", "", "not known: you may not list trainjobs"),)


async def test_the_page_of_a_migrated_job_says_why_its_runs_are_not_compared() -> None:
    viewer = Viewer(Client(Refusing(refuses_train_jobs=False)), "ann", PageOptions("prod"))
    detail = await job_migration(viewer, Parameters(("vision",), "PyTorchJob", "bert"))
    assert (detail.migration.state, detail.migration.train_job) == ("finished", "bert Succeeded")
    assert detail.comparison == (("runs", "", "", "not known: you may not list pods"),)


async def test_the_page_of_a_migrated_job_shows_the_run_that_was_saved_before_and_the_recorded_verdict(
    tmp_path: Path,
) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(text(plan_of(("first", ["bert"]))))
    job = v1_job("bert", status={"conditions": [{"type": "Suspended", "status": "True"}]})
    marks = {"plan": "p1", "compared": "equal", "not-seen": "throughput"}
    ended = train_job("bert", "bert", "Complete", **{f"migrate.shunter.dev/{name}": value for name, value in marks.items()})
    viewer = Viewer(Client(Cluster([job], [ended])), "ann", PageOptions("prod", plan=file))
    recorded = ("recorded by migrate compare", "", "", "equal; not seen: throughput")
    assert (await job_migration(viewer, Parameters(("vision",), "PyTorchJob", "bert"))).comparison == (recorded,)
    kept = Run(kind="PyTorchJob", namespace="vision", name="bert", state="Running", moved=True)
    runs = saved_runs.file_of(tmp_path / "plan.yaml.runs", "PyTorchJob vision/bert")
    runs.parent.mkdir(parents=True)
    runs.write_bytes(encoded(kept))
    found = (await job_migration(viewer, Parameters(("vision",), "PyTorchJob", "bert"))).comparison
    assert found[0] == recorded
    assert "status" in {one[0] for one in found[1:]}
    assert not [one for one in found if one[3].startswith("not known")]


async def test_the_page_of_a_migrated_job_says_why_its_plan_is_not_known(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("format: 9\n")
    viewer = Viewer(Client(Refusing(refuses_train_jobs=True)), "ann", PageOptions("prod", plan=plan))
    detail = await job_migration(viewer, Parameters(("vision",), "PyTorchJob", "bert"))
    what, _, _, verdict = detail.comparison[0]
    assert (what, verdict.startswith("not known: ")) == ("plan", True)


class Cluster(NoServer):
    """A transport that serves these objects, the TrainJobs also as a list. Kinds whose plural is in `refused` may not be read."""

    def __init__(self, jobs: Sequence[Json], train_jobs: Sequence[Json] = (), *others: Json, refused: Sequence[str] = ()) -> None:
        self.objects = {f"{obj['kind'].lower()}s/{obj['metadata']['name']}": obj for obj in (*jobs, *train_jobs, *others)}
        self.train_jobs = train_jobs
        self.refused = refused

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        kind, plural = path.split("/")[-2:]
        if plural in self.refused or kind in self.refused:
            answer = 403, {"kind": "Status", "message": f"you may not read {kind}", "reason": "Forbidden", "code": 403}
        elif plural in ("trainjobs", "configmaps", "pods"):
            answer = 200, {"metadata": {"resourceVersion": "1"}, "items": self.train_jobs if plural == "trainjobs" else []}
        elif found := self.objects.get(f"{kind}/{plural}"):
            answer = 200, found
        else:
            answer = 404, {"kind": "Status", "message": f"{path} not found", "reason": "NotFound", "code": 404}
        return Response(answer[0], {}, msgspec.json.encode(answer[1]))


async def listed_and_on_its_page(cluster: Cluster, plan: Path | None = None) -> tuple[JobMigration, JobMigration]:
    """Of the job `bert`: its row in the list, and at the head of its page."""
    viewer = Viewer(Client(cluster), "ann", PageOptions("prod", plan=plan))
    view = open_migration(viewer, Parameters())
    objects: dict[str, dict[str, Any]] = {kind.resource.plural: {} for kind in JOB_KINDS}
    objects["pytorchjobs"] = {"1": kept_v1(cluster.objects["pytorchjobs/bert"])}
    is_refused = "trainjobs" in cluster.refused
    objects["trainjobs"] = {} if is_refused else {job["metadata"]["name"]: kept_train_job(job) for job in cluster.train_jobs}
    observed = Observed(objects, {}, listed={"trainjobs": () if is_refused else ("",)})
    for reading in view.readings:
        observed = observed._replace(
            readings={**observed.readings, reading.name: await reading.read(viewer.client, observed)},
        )
    page = await job_migration(viewer, Parameters(("vision",), "PyTorchJob", "bert"))
    return moves(view.rows(observed, 0))["bert"], page.migration


def mounting(name: str) -> Json:
    """A job with this ConfigMap."""
    job = v1_job("bert")
    pod = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    pod["volumes"] = [{"name": "scripts", "configMap": {"name": name}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "scripts", "mountPath": "/scripts"}]
    return job


def labelled(value: str) -> Json:
    job = v1_job("bert")
    job["metadata"]["labels"] = {"team": value}
    return job


def created(at: str, job: Json) -> Json:
    return {**job, "metadata": {**job["metadata"], "creationTimestamp": at}}


NAMING_V1 = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts"}, "data": {"run.sh": "ping bert-master-0"}}
TOKEN = "hf_s3cr3tabcdefgh"
CONVERTED = [
    created("2026-01-03T00:00:00Z", train_job("newest", "bert")),
    created("2026-01-02T00:00:00Z", train_job("older", "bert", "Complete")),
]
TRIAL = created("2026-01-04T00:00:00Z", train_job("trial", "bert"))
TRIAL["metadata"]["labels"] = {"migrate.shunter.dev/trial": "true"}
ALIKE: dict[str, tuple[Cluster, dict[str, Any]]] = {
    "ready": (Cluster([v1_job("bert")]), {"state": "ready"}),
    "with a finding of the proof": (Cluster([labelled("no label!")]), {"state": "blocked", "findings": 4, "blocking": 1}),
    "with a finding about its ConfigMap": (Cluster([mounting("scripts")], [], NAMING_V1), {"state": "ready", "findings": 4}),
    "naming a ConfigMap that is missing": (Cluster([mounting("scripts")]), {"state": "ready"}),
    "naming a ConfigMap that may not be read": (Cluster([mounting("scripts")], refused=["configmaps"]), {"state": "ready"}),
    "ended": (Cluster([v1_job("bert", status=ENDED)]), {"state": "not moved"}),
    "made twice": (Cluster([v1_job("bert")], CONVERTED), {"state": "running", "train_job": "newest Running"}),
    "tried": (Cluster([v1_job("bert")], [*CONVERTED, TRIAL]), {"state": "running", "train_job": "newest Running"}),
    "only tried": (Cluster([v1_job("bert")], [TRIAL]), {"state": "ready", "train_job": ""}),
    "with TrainJobs that are not known": (Cluster([v1_job("bert")], refused=["trainjobs"]), {"state": "not checked"}),
    "ended, with TrainJobs that are not known": (
        Cluster([v1_job("bert", status=ENDED)], refused=["trainjobs"]),
        {"state": "not checked"},
    ),
}


@pytest.mark.parametrize("case", ALIKE.values(), ids=list(ALIKE))
async def test_the_list_and_the_page_of_a_migrated_job_say_the_same(case: tuple[Cluster, dict[str, Any]]) -> None:
    cluster, expected = case
    row, head = await listed_and_on_its_page(cluster)
    assert {field: getattr(row, field) for field in expected} == expected
    assert msgspec.structs.replace(head, wave=row.wave) == row


async def test_the_list_hides_credentials_as_the_page_does() -> None:
    job = v1_job("bert")
    job["spec"]["runPolicy"] = {"managedBy": TOKEN}
    row, head = await listed_and_on_its_page(Cluster([job]))
    assert row.first == "managedBy is '***'."
    assert head.first == row.first


async def test_with_a_plan_the_list_and_the_page_say_the_same(tmp_path: Path) -> None:
    """What its options suppress blocks in neither, also the plan's own where the job is not in it."""
    job = v1_job("bert")
    job["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = "Always"
    plan = plan_of(("first", ["other"]), ("second", ["bert"]))
    item = msgspec.structs.replace(plan.items[1], options={"accepted": ["RESTART001", "PROOF005"]})
    file = tmp_path / "plan.yaml"
    for jobs, state in (((plan.items[1],), "blocked"), ((item,), "ready")):
        waves = (plan.waves[0], msgspec.structs.replace(plan.waves[1], jobs=jobs))
        file.write_text(text(msgspec.structs.replace(plan, waves=waves)))
        row, head = await listed_and_on_its_page(Cluster([job]), file)
        assert (row.state, row.wave, row.next) == (state, 2, "apply")
        assert head == row
    # Of the TrainJobs that of the plan counts, and what the journal knows of it.
    made = train_job("bert-v2", "bert", "Complete", **{"migrate.shunter.dev/plan": "p1"})
    row, head = await listed_and_on_its_page(Cluster([job], [*CONVERTED, made]), file)
    assert (row.state, row.train_job) == ("finished", "bert-v2 Succeeded")
    assert head == row
    journal = tmp_path / "plan.yaml.journal"
    journal.mkdir()
    record = Record(
        number=1, at="", step="create", phase="done", verb="create", api_version="", kind="TrainJob", plural="", name="",
        job="PyTorchJob vision/bert",
    )  # fmt: skip
    (journal / "p1.jsonl").write_bytes(msgspec.json.encode(record) + b"\n")
    row, head = await listed_and_on_its_page(Cluster([job]), file)
    assert row.state == "gone"
    assert row.next == "its TrainJob was deleted; to recreate it, roll back and apply"
    assert head == row


async def test_a_job_that_the_plan_lacks_has_the_options_of_the_plan(tmp_path: Path) -> None:
    job = v1_job("bert")
    job["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = "Always"
    file = tmp_path / "plan.yaml"
    plan = plan_of(("first", ["other"]))
    file.write_text(text(msgspec.structs.replace(plan, options=Options(accepted=("RESTART001", "PROOF005")))))
    viewer = Viewer(Client(Cluster([job])), "ann", PageOptions("prod", plan=file))
    head = (await job_migration(viewer, Parameters(("vision",), "PyTorchJob", "bert"))).migration
    assert (head.state, head.wave, head.blocking) == ("ready", 0, 0)


async def test_a_job_that_was_not_looked_for_is_not_said_to_be_gone() -> None:
    plan = plan_of(("first", ["bert"]))
    viewer = Viewer(Client(NoServer()), "ann", PageOptions("prod", plan=Path("plan.yaml")))
    objects: dict[str, dict[str, Any]] = {name: {} for name in ("trainjobs", *(kind.resource.plural for kind in JOB_KINDS))}
    observed = Observed(objects, {"plan": ReadPlan(plan)}, listed={"pytorchjobs": {"nlp"}})
    rows = open_migration(viewer, Parameters()).rows(observed, 0)
    assert (moves(rows)["bert"].state, waves(rows)) == ("not checked", [("first", 0, 1)])
    rows = open_migration(viewer, Parameters()).rows(observed._replace(listed={"pytorchjobs": {"nlp", "vision"}}), 0)
    assert (moves(rows)["bert"].state, waves(rows)) == ("gone", [("first", 1, 1)])
    rows = open_migration(viewer, Parameters(("nlp",))).rows(observed, 0)
    assert (rows["moves"], rows["waves"]) == ([], [])


async def test_the_command_that_comes_next_is_whole() -> None:
    ended, compared = v1_job("bert", status=ENDED), {"migrate.shunter.dev/compared": "equal"}
    managed = v1_job("bert")
    managed["spec"]["runPolicy"] = {"managedBy": "others.example.org/x"}
    clusters = [
        Cluster([v1_job("bert")]),
        Cluster([managed]),
        Cluster([ended]),
        Cluster([ended], [train_job("bert", "bert", "Complete", **compared)]),
    ]
    lines = [(await listed_and_on_its_page(cluster))[0].command for cluster in clusters]
    assert [line.split()[2] for line in lines] == ["validate", "explain", "backup", "compare"]
    assert all(understood(line) for line in lines)


async def test_with_a_plan_the_command_of_each_stage_is_whole_and_words_are_no_command(tmp_path: Path) -> None:
    file = tmp_path / "the plan.yaml"
    file.write_text(text(plan_of(("first", ["bert"]))))
    compared = {"migrate.shunter.dev/compared": "equal"}

    def made(state: str, **marks: str) -> list[Json]:
        return [train_job("bert-v2", "bert", state, **{"migrate.shunter.dev/plan": "p1"}, **marks)]

    cases: dict[str, tuple[list[Json], str]] = {
        "ready": ([], f"apply --plan '{file}'"),
        "made": (made("Suspended"), ""),
        "running": (made(""), ""),
        "finished": (made("Complete"), f"compare --plan '{file}' pytorchjob/bert"),
        "finished ": (
            made("Complete", **{"migrate.shunter.dev/compared": "different"}),
            f"compare --plan '{file}' pytorchjob/bert",
        ),
        "compared": (made("Complete", **compared), f"cleanup --plan '{file}'"),
    }
    for state, (train_jobs, line) in cases.items():
        row, head = await listed_and_on_its_page(Cluster([v1_job("bert")], train_jobs), file)
        assert (row.state, row.command) == (state.strip(), f"shunter migrate {line}" if line else "")
        assert row.next, "in words"
        assert head.command == row.command
        assert not line or str(file) in map(str, understood(row.command).values())
    managed = v1_job("bert")
    managed["spec"]["runPolicy"] = {"managedBy": "others.example.org/x"}
    row, _ = await listed_and_on_its_page(Cluster([managed]), file)
    assert (row.state, row.command.split()[:3]) == ("blocked", ["shunter", "migrate", "explain"])


async def test_a_config_map_that_changed_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, conversions = Cluster([mounting("scripts")]), Conversions()
    one, client = candidate(mounting("scripts"), Options(suspend=True)), Client(cluster)
    first = (await conversions.of(client, [one]))[one.title]
    cluster.objects["configmaps/scripts"] = NAMING_V1
    assert (await conversions.of(client, [one]))[one.title] is first
    monkeypatch.setattr("shunter.page.conversions.CONFIG_MAP_SECONDS", 0.0)
    second = (await conversions.of(client, [one]))[one.title]
    assert second.findings == first.findings + 1
    assert (await conversions.of(client, [one]))[one.title] is second
