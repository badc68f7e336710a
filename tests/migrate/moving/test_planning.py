"""What becomes of each job, and why: by its state, its owner, its findings, what is in the way and what the user asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from migrate.moving.moves import pytorch_job
from shunter.api.meta import Json
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.plan import Item, Plan, text
from shunter.migrate.moving.planning import Cluster, PlannedTrainJob, PlanOptions, planned
from shunter.migrate.options import Options

CLUSTER = Cluster("https://server", "uid-of-kube-system", has_policies=True)


def job(state: str = "", *, suspend: bool = False, **metadata: Any) -> Json:
    status = {"conditions": [{"type": state, "status": "True"}]} if state else {}
    return {**pytorch_job("bert", "team", suspend=suspend, uid="1", **metadata), "status": status}


def elastic() -> Json:
    body = job(suspend=True)
    body["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 3}
    return body


def plan(*jobs: Json, cluster: Cluster = CLUSTER, plan_options: PlanOptions = PlanOptions(), **options: Any) -> Plan:  # noqa: B008
    sources = [SourceObject(obj, "cluster") for obj in jobs]
    return planned(converted(sources, Options(suspend=True, **options)), cluster, plan_options)


def item(obj: Json, **arguments: Any) -> Item:
    [found] = plan(obj, **arguments).items
    return found


def train_job(plan: str, name: str, action: str, *, is_suspended: bool) -> PlannedTrainJob:
    return PlannedTrainJob(plan, TITLE, name, action, is_suspended)


def met(kind: str, made: PlannedTrainJob | None = None) -> Cluster:
    return CLUSTER._replace(taken={(kind, "team", made.name if made else "bert"): made})


ID = plan(job(suspend=True)).id
TITLE = "PyTorchJob team/bert"


QUEUED = {"kueue.x-k8s.io/queue-name": "gpus"}
MOVE = {"plan_options": PlanOptions(running="move")}
CASES: dict[str, tuple[Callable[[], Item], str, str]] = {
    "suspended": (lambda: item(job("Suspended", suspend=True)), "create", "it is suspended: no running work can be lost"),
    "running": (
        lambda: item(job("Running")), "wait",
        "it is Running: its pods cannot be moved; choose move if it resumes from checkpoints"),
    "running, to be moved": (
        lambda: item(job("Running"), **MOVE), "move",
        "it is Running; --running=move: it is suspended, and its TrainJob resumes from the last checkpoint"),
    "running, to be left": (
        lambda: item(job("Running"), plan_options=PlanOptions(running="leave")), "leave", "it is Running; --running=leave"),
    "not begun yet counts as running": (
        lambda: item(job()), "wait", "it is Created: its pods cannot be moved; choose move if it resumes from checkpoints"),
    "finished": (
        lambda: item(job("Succeeded"), **MOVE),
        "archive", "it has finished (Succeeded): a TrainJob created from it would train again"),
    "failed": (lambda: item(job("Failed")), "archive", "it has finished (Failed): a TrainJob created from it would train again"),
    "finished, and somebody's": (
        lambda: item(job("Succeeded", labels={"kustomize.toolkit.fluxcd.io/name": "jobs"})), "archive",
        "it has finished (Succeeded): a TrainJob created from it would train again"),
    "a Trial's": (
        lambda: item(job(suspend=True, ownerReferences=[{"kind": "Trial", "name": "t1", "controller": True}])), "source",
        "it belongs to Trial team/t1, which would undo or repeat what is changed here"),
    "Argo CD's": (
        lambda: item(
            job("Running", annotations={"argocd.argoproj.io/tracking-id": "jobs:kubeflow.org/PyTorchJob:team/bert"}), **MOVE),
        "source", "it belongs to Argo CD application jobs, which would undo or repeat what is changed here"),
    "waiting in a queue": (
        lambda: item(job(suspend=True, labels=QUEUED)), "create",
        "it waits in queue gpus; its TrainJob gets that queue's label when it is to train"),
    "admitted from a queue, to be moved": (
        lambda: item(job("Running", labels=QUEUED), **MOVE), "wait",
        "it is Running: Kueue (queue gpus) decides when it runs, and would start it again"),
    "blocked": (lambda: item(elastic()), "leave", "its conversion is blocked by ELASTIC001"),
    "a Service is in the way": (
        lambda: item(job(suspend=True), cluster=met("Service")), "leave",
        "Service bert exists; give the TrainJob another name: options: {suffix: -v2}"),
    "a PodGroup is in the way": (
        lambda: item(job(suspend=True), cluster=met("PodGroup")), "leave",
        "PodGroup bert exists; give the TrainJob another name: options: {suffix: -v2}"),
    "with a suffix nothing is": (
        lambda: item(job(suspend=True), cluster=met("Service"), suffix="-v2"), "create",
        "it is suspended: no running work can be lost"),
    "moved by an earlier plan": (
        lambda: item(job(suspend=True), cluster=met("TrainJob", train_job("p0", "bert", "move", is_suspended=False))),
        "leave", "TrainJob bert was already created from it"),
    "half moved by an earlier plan": (
        lambda: item(job(suspend=True), cluster=met("TrainJob", train_job("p0", "bert-v2", "move", is_suspended=True))),
        "leave", "plan p0 moves it to TrainJob bert-v2: continue that plan (apply), or roll it back"),
    "half moved by this plan": (
        lambda: item(job(suspend=True), cluster=met("TrainJob", train_job(ID, "bert", "move", is_suspended=True))), "move",
        "this plan has already created TrainJob bert from it, and continues: move"),
    "half moved by this plan, and running still": (
        lambda: item(job("Running"), cluster=met("TrainJob", train_job(ID, "bert", "move", is_suspended=True))), "move",
        "this plan has already created TrainJob bert from it, and continues: move"),
    "half moved by this plan, and finished on v1": (
        lambda: item(job("Succeeded"), cluster=met("TrainJob", train_job(ID, "bert", "move", is_suspended=True))),
        "archive", "it has finished (Succeeded): a TrainJob created from it would train again"),
    "made by this plan": (
        lambda: item(job(suspend=True), cluster=met("TrainJob", train_job(ID, "bert", "create", is_suspended=True))),
        "create", "this plan has already created TrainJob bert from it, and continues: create"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_action_and_its_reason(case: tuple[Callable[[], Item], str, str]) -> None:
    made, action, why = case
    found = made()
    assert (found.action, found.why) == (action, why)


def test_a_train_job_that_this_plan_made_under_another_name_keeps_it() -> None:
    found = item(job(suspend=True), cluster=met("TrainJob", train_job(ID, "bert-v2", "move", is_suspended=True)))
    assert (found.action, found.train_job, found.options) == ("move", "bert-v2", {"suffix": "-v2"})


def test_waves_go_from_what_changes_least_to_what_stays() -> None:
    finished = {**job("Succeeded"), "metadata": {**job()["metadata"], "name": "done"}}
    blocked = {**elastic(), "metadata": {**job()["metadata"], "name": "elastic"}}
    found = plan(finished, blocked, job(suspend=True))
    assert [wave.name for wave in found.waves] == ["standard", "finished", "blocked"]
    assert all(wave.why for wave in found.waves)


def test_the_order_of_the_input_makes_no_difference() -> None:
    jobs = [{**job(suspend=True), "metadata": {**job()["metadata"], "name": name}} for name in "cab"]
    assert text(plan(*jobs)) == text(plan(*reversed(jobs)))


@pytest.mark.parametrize(
    ("cluster", "plan_options", "freeze"),
    [
        (CLUSTER, PlanOptions(), "warn"),
        (CLUSTER, PlanOptions(strategy="replacement"), "deny"),
        (CLUSTER, PlanOptions(freeze="none"), "none"),
        (CLUSTER._replace(has_policies=False), PlanOptions(strategy="replacement"), "none"),
    ],
    ids=["side by side warns", "a replacement denies", "as the user says", "without policies there is none"],
)
def test_the_freeze_fits_strategy_and_cluster(cluster: Cluster, plan_options: PlanOptions, freeze: str) -> None:
    found = plan(job(), cluster=cluster, plan_options=plan_options)
    assert found.freeze == freeze
    assert found.freeze_why


def test_every_decision_and_finding_stands_in_the_plan() -> None:
    found = item(job(suspend=True))
    assert found.decisions[0].startswith("profile P2: ")
    assert found.decisions[1].startswith("runtime TrainingRuntime pytorch-")
    assert found.train_job == "bert"


def test_each_replacement_has_a_backup_of_its_own() -> None:
    replacement = PlanOptions(strategy="replacement")
    first, other = plan(job(), plan_options=replacement), plan(job(), elastic(), plan_options=replacement)
    assert first.backup == f"backup-{first.id}" != other.backup
    assert plan(job()).backup == ""
