"""What becomes of selectors beside jobs that are converted. Examples are in tests/scenarios/migrate/neighbours."""

from __future__ import annotations

import itertools

import pytest
import yaml

from shunter.api.meta import Json
from shunter.api.selectors import selects
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.options import Options
from shunter.migrate.pods.differences import paired
from shunter.migrate.pods.sides import v1_side, v2_side
from shunter.migrate.survey.neighbours.checks import Neighbours, neighbours

FIELDS = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "MPIJob": "mpiReplicaSpecs"}
CONTAINERS = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "MPIJob": "mpi"}


def job(kind: str, name: str, **roles: int) -> Json:
    def template(role: str) -> Json:
        command = {"Launcher": ["mpirun", "-n", "2", "t"], "Worker": [] if kind == "MPIJob" else ["torchrun", "t.py"]}
        container = {"name": CONTAINERS[kind], "image": "train:1", "command": command.get(role, ["torchrun", "t.py"])}
        return {"metadata": {"labels": {"team": "nlp"}}, "spec": {"containers": [container]}}

    specs = {role: {"replicas": number, "restartPolicy": "Never", "template": template(role)} for role, number in roles.items()}
    metadata = {"name": name, "namespace": "training"}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": {FIELDS[kind]: specs}}


JOBS = (
    job("PyTorchJob", "bert", Master=1, Worker=2),
    job("TFJob", "board", PS=1, Worker=2),
    job("MPIJob", "reduce", Launcher=1, Worker=2),
)
OTHER_PODS: tuple[Json, ...] = ({"app": "web"}, {"team": "nlp"}, {"batch.kubernetes.io/job-completion-index": "0", "team": "nlp"})
"""Pods of the namespace that no job of the input makes."""
EQUALITIES: tuple[Json, ...] = (
    {"training.kubeflow.org/job-name": "bert"},
    {"training.kubeflow.org/job-name": "board"},
    {"training.kubeflow.org/replica-type": "worker"},
    {"training.kubeflow.org/replica-type": "ps"},
    {"training.kubeflow.org/replica-index": "0"},
    {"training.kubeflow.org/job-role": "master"},
    {"training.kubeflow.org/operator-name": "pytorchjob-controller"},
    {"team": "nlp"},
)
EXPRESSIONS: tuple[Json, ...] = (
    {"key": "training.kubeflow.org/operator-name", "operator": "Exists"},
    {"key": "training.kubeflow.org/job-name", "operator": "In", "values": ["bert", "reduce"]},
    {"key": "training.kubeflow.org/job-name", "operator": "NotIn", "values": ["bert"]},
    {"key": "training.kubeflow.org/job-name", "operator": "Exists"},
    {"key": "training.kubeflow.org/job-name", "operator": "DoesNotExist"},
    {"key": "training.kubeflow.org/replica-type", "operator": "NotIn", "values": ["master", "chief"]},
    {"key": "training.kubeflow.org/replica-index", "operator": "In", "values": ["0", "1"]},
)


ACCEPTED = Options(accepted=("MPI001",))


def converted_input(*objects: Json, options: Options = ACCEPTED) -> tuple[Input, batch.Batch]:
    given = Input((text_file(yaml.safe_dump_all(objects, sort_keys=False), "all.yaml"),))
    return given, batch.converted(given.convertible, options, [source.value for source in given.others])


def seen(*objects: Json, update: bool = False, options: Options = ACCEPTED) -> Neighbours:
    return neighbours(*converted_input(*objects, options=options), update_selectors=update)


def budget(selector: Json) -> Json:
    metadata = {"name": "selecting", "namespace": "training"}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": {"selector": selector}}


def selectors() -> list[Json]:
    found: list[Json] = []
    for size in (1, 2):
        for parts in itertools.combinations((*EQUALITIES, *EXPRESSIONS), size):
            labels = {key: value for part in parts if "key" not in part for key, value in part.items()}
            rules = [part for part in parts if "key" in part]
            parsed = {"matchLabels": labels, "matchExpressions": rules}
            found.append({field: value for field, value in parsed.items() if value})
    return found


@pytest.mark.slow
def test_every_selector_that_changes_is_told_and_a_rewritten_one_has_exactly_the_counterparts() -> None:
    """Over all pairs of requirements: told exactly when the pods differ, rewritten only to the same pods, of whatever owner."""
    _, converted = converted_input(*JOBS)
    pairs = []
    for outcome in converted.outcomes:
        assert outcome.conversion is not None, outcome.findings
        assert not outcome.is_blocked, outcome.findings
        sides = v1_side(outcome.source.value), v2_side(outcome.conversion.train_job, outcome.conversion.runtime)
        for pair in paired(*sides):
            pairs += [[replica.pod["metadata"]["labels"] if replica else None for replica in pair[1:]]]
    rewritten = 0
    for selector in selectors():
        before = [v1 is not None and selects(selector, v1) for v1, _ in pairs]
        after = [v2 is not None and selects(selector, v2) for _, v2 in pairs]
        found = seen(*JOBS, budget(selector), update=True)
        told = [finding for finding in found.findings if finding.topic.id.startswith("SELECT")]
        assert bool(told) is (before != after), selector
        if told and told[0].topic.id == "SELECT004":
            rewritten += 1
            (text,) = found.texts.values()
            new = yaml.safe_load(text.removeprefix("---\n"))["spec"]["selector"]
            assert [v2 is not None and selects(new, v2) for _, v2 in pairs] == before, (selector, new)
            assert [selects(new, labels) for labels in OTHER_PODS] == [selects(selector, labels) for labels in OTHER_PODS], new
        else:
            assert not found.texts
    assert rewritten > 10


def test_a_selector_that_is_not_known_to_be_meant_is_not_rewritten() -> None:
    unknown = budget({"matchLabels": {"training.kubeflow.org/job-name": "bert"}}) | {"kind": "Unheard", "apiVersion": "a.io/v1"}
    found = seen(*JOBS, unknown, update=True)
    assert [finding.topic.id for finding in found.findings] == ["SELECT001"]
    assert not found.texts


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param({"spec": {"selector": "bert"}}, [], id="a text in the place of a selector"),
        pytest.param({"spec": {"selector": {"training.kubeflow.org/job-name": 7}}}, ["SCAN031"], id="a number for a label"),
        pytest.param({"spec": None}, [], id="no spec"),
        pytest.param({"spec": {"selector": {}}}, [], id="a Service without labels selects nothing"),
    ],
)
def test_an_ill_typed_selector_selects_nothing(template: Json, expected: list[str]) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "training"}, **template}
    found = seen(*JOBS, service)
    assert [finding.topic.id for finding in found.findings] == expected


def test_a_name_that_the_server_makes_stands_in_no_selector() -> None:
    generated = job("PyTorchJob", "x", Master=1)
    generated["metadata"] = {"generateName": "nightly-", "namespace": "training"}
    found = seen(generated, budget({"matchLabels": {"training.kubeflow.org/operator-name": "pytorchjob-controller"}}))
    (finding,) = found.findings
    assert finding.topic.id == "SELECT001"
    assert "nightly" not in finding.advice


def test_the_remedy_names_the_new_selector() -> None:
    found = seen(
        *JOBS,
        budget({"matchLabels": {"training.kubeflow.org/job-name": "bert"}}),
        options=Options(suffix="-v2", accepted=("MPI001",)),
    )
    (finding,) = found.findings
    assert finding.object == "PodDisruptionBudget training/selecting"
    assert "PyTorchJob training/bert and none of TrainJob training/bert-v2" in finding.message
    assert finding.advice == "Select jobset.sigs.k8s.io/jobset-name=bert-v2; --update-selectors writes that."
