"""The inventory: which class a job is of and why, what it used, what all of them come to, and its forms."""

from __future__ import annotations

import copy
import csv
import io
import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import Input, read
from shunter.migrate.conversion.suppression import applied, parsed
from shunter.migrate.options import Options
from shunter.migrate.survey.inventory import gpu_hours
from shunter.migrate.survey.inventory.classes import CLASSES, RULES
from shunter.migrate.survey.inventory.entry import Entry, entry
from shunter.migrate.survey.inventory.fleet import Fleet, fleet
from shunter.migrate.survey.inventory.forms import FORMS
from shunter.migrate.survey.inventory.forms.json import schema
from shunter.migrate.survey.inventory.taking import insides, of_batch

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def job(name: str = "bert", *, namespace: str = "team-a", gpus: int = 0, state: str = "", **changes: Any) -> dict[str, Any]:
    """A PyTorchJob of a master and three workers, which torchrun starts; `state` is the condition that is True."""
    resources = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
    container = {"name": "pytorch", "image": "trainer:1", "command": ["torchrun", "train.py"], "resources": resources}
    role = {"restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    value: dict[str, Any] = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace, **changes.pop("metadata", {})},
        "spec": {
            "nprocPerNode": "1",
            "pytorchReplicaSpecs": {"Master": {"replicas": 1, **role}, "Worker": {"replicas": 3, **role}},
            **changes,
        },
    }
    if state:
        condition = {"type": state, "status": "True", "lastTransitionTime": "2026-11-21T11:00:00Z"}
        value["status"] = {"startTime": "2026-11-21T10:00:00Z", "conditions": [condition]}
    return value


def row(value: dict[str, Any], *, inside: str = "", **options: Any) -> Entry:
    return entry(converted([SourceObject(value, "cluster")], Options(**options)).outcomes[0], NOW, inside=inside)


def with_role(value: dict[str, Any], role: str, **fields: Any) -> dict[str, Any]:
    specs = value["spec"]["pytorchReplicaSpecs"]
    return {**value, "spec": {**value["spec"], "pytorchReplicaSpecs": {**specs, role: {**specs[role], **fields}}}}


TRIAL = {
    "ownerReferences": [{"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "name": "tune-1", "uid": "1", "controller": True}]
}
RELEASE = {"annotations": {"meta.helm.sh/release-name": "jobs", "meta.helm.sh/release-namespace": "team-a"}}


def alone(**container: Any) -> dict[str, Any]:
    """One Master."""
    value = job()
    master = copy.deepcopy(value["spec"]["pytorchReplicaSpecs"]["Master"])
    master["template"]["spec"]["containers"][0] |= container
    if "volumeMounts" in container:
        master["template"]["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    return {**value, "spec": {**value["spec"], "pytorchReplicaSpecs": {"Master": master}}}


ALWAYS = with_role(job(), "Worker", restartPolicy="Always")


@pytest.mark.parametrize(
    ("value", "options", "job_class", "rule", "why"),
    [
        (job(), {}, "standard", "own-runtime", "profile P2"),
        (job(), {"profile": "idiomatic"}, "standard", "shipped-runtime", "profile P1"),
        (alone(), {}, "simple", "one-pod", "one pod"),
        (alone(resources={"limits": {"nvidia.com/gpu": 1, "cpu": "4"}}), {}, "simple", "one-pod", "standard resources"),
        (alone(resources={"limits": {"rdma/hca": 1}}), {}, "standard", "own-runtime", "profile P2"),
        (alone(volumeMounts=[{"name": "data", "mountPath": "/data"}]), {}, "standard", "own-runtime", "profile P2"),
        (job(state="Running"), {}, "standard", "own-runtime", "profile P2"),
        (job(state="Succeeded"), {}, "finished", "finished", "Succeeded"),
        (job(state="Failed", runPolicy="none"), {}, "finished", "finished", "Failed"),
        (job(metadata=TRIAL), {}, "owned", "owned", "Trial team-a/tune-1"),
        (job(metadata=RELEASE), {}, "owned", "owned", "Helm release team-a/jobs"),
        (job(runPolicy="none"), {}, "blocked", "unreadable", "INPUT001"),
        (ALWAYS, {}, "blocked", "blocking-finding", "RESTART001"),
        (ALWAYS, {"accepted": ("RESTART001",)}, "complex", "taken-on", "RESTART001"),
        (job(runPolicy={"ttlSecondsAfterFinished": 60}), {}, "complex", "changed-meaning", "TTL001"),
    ],
    ids=[
        "its own runtime", "a shipped runtime", "a Master alone", "with a GPU", "with a device",
        "with a volume", "running", "succeeded", "failed, and unreadable", "of a Katib trial",
        "of a Helm release", "of a wrong type", "a blocking finding", "a blocking finding that was suppressed", "a warning",
    ],
)  # fmt: skip
def test_the_first_rule_that_holds_decides(value: Json, options: dict[str, Any], job_class: str, rule: str, why: str) -> None:
    found = row(value, **options)
    assert (found.job_class, found.reasons[0].rule) == (job_class, rule)
    assert why in found.reasons[0].why


def test_a_job_in_a_text_has_the_place_of_the_text() -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\ndata:\n  job: '{json.dumps(job())}'\n"
    given = Input((text_file(text, "x.yaml"),))
    (found,) = of_batch(converted([embedded.job for embedded in given.embedded], Options()), NOW, insides(given))
    assert (found.place, found.inside) == ("x.yaml:4:3", "ConfigMap *")


def test_a_job_inside_another_object_is_complex_and_has_no_state() -> None:
    found = row(job(state="Succeeded"), inside="CronJob team-a/nightly")
    assert (found.job_class, found.state, found.gpu_hours) == ("complex", "", 0)
    assert "CronJob team-a/nightly" in found.reasons[0].why


def test_every_rule_that_holds_is_told() -> None:
    assert [reason.rule for reason in row(job(state="Failed", metadata=TRIAL)).reasons][:2] == ["finished", "owned"]


def test_every_class_has_a_rule_and_every_rule_says_when_it_holds() -> None:
    assert [rule.job_class for rule in RULES if rule.explanation] == sorted(
        (rule.job_class for rule in RULES), key=list(CLASSES).index
    )
    assert {rule.job_class for rule in RULES} == set(CLASSES)


def test_a_topic_counts_once_and_finished_jobs_are_no_effort() -> None:
    twice = converted([SourceObject(with_role(ALWAYS, "Master", restartPolicy="Always"), "cluster")], Options()).outcomes[0]
    told = [finding.topic for finding in twice.findings]
    assert len(set(told)) < len(told)
    assert entry(twice, NOW).effort == sum(topic.effort for topic in set(told)) > 0
    assert row({**ALWAYS, "status": job(state="Failed")["status"]}).effort == 0


def test_what_migration_yaml_takes_on_is_no_effort() -> None:
    known = parsed("suppressions:\n- {id: RESTART001, reason: it loops}", "migration.yaml")
    batch = applied(converted([SourceObject(ALWAYS, "cluster")], Options()), known, NOW.date()).batch
    assert entry(batch.outcomes[0], NOW).effort < row(ALWAYS).effort


@pytest.mark.parametrize(
    ("value", "release"),
    [(job(), "2.0"), (job(runPolicy={"activeDeadlineSeconds": 60}), "2.2"), (job(runPolicy="none"), "")],
    ids=["a plain job", "a deadline", "no result"],
)
def test_the_oldest_trainer_that_runs_the_result(value: Json, release: str) -> None:
    assert row(value).release == release


@pytest.mark.parametrize(
    ("value", "hours"),
    [
        (job(gpus=2, state="Running"), 4 * 2 * 2.0),
        (job(gpus=2, state="Succeeded"), 4 * 2 * 1.0),
        (job(gpus=2, state="Suspended"), 0),
        (job(gpus=2), 0),
        (job(state="Running"), 0),
    ],
    ids=["until now", "until its end", "suspended", "never started", "no GPU"],
)
def test_gpu_hours_are_devices_times_hours_run(value: Json, hours: float) -> None:
    assert row(value).gpu_hours == hours


@pytest.mark.parametrize(
    ("resources", "devices"),
    [
        ({"limits": {"nvidia.com/gpu": "1"}}, 1),
        ({"requests": {"amd.com/gpu": 2}, "limits": {"amd.com/gpu": 3}}, 2),
        ({"limits": {"nvidia.com/mig-1g.5gb": 3, "cpu": "64"}}, 3),
        ({"limits": {"habana.ai/gaudi": 8}}, 8),
        ({"limits": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000, "nvidia.com/gpucores": 30}}, 1),
        ({"limits": {"gpu.intel.com/i915": 2, "gpu.intel.com/memory.max": "1Gi", "gpu.intel.com/millicores": 50}}, 2),
        ({"limits": {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 3000}}, 1),
        ({"limits": {"nvidia.com/gpu": "many"}}, 0),
        ({"limits": "all"}, 0),
    ],
    ids=[
        "limits stand for requests",
        "requests go first",
        "slices",
        "other accelerators",
        "memory and cores of a GPU",
        "what a GPU of Intel has",
        "shared GPUs",
        "no quantity",
        "no mapping",
    ],
)
def test_devices_of_a_pod_are_its_requests_or_else_its_limits_of_device_resources(resources: Any, devices: int) -> None:
    template = {"spec": {"containers": [{"name": "pytorch", "resources": resources}]}}
    assert gpu_hours.gpus({"spec": {"pytorchReplicaSpecs": {"Master": {"template": template}}}}) == Fraction(devices)


def test_a_role_whose_number_is_null_has_one_pod() -> None:
    assert gpu_hours.gpus(with_role(job(gpus=2), "Worker", replicas=None)) == 2 + 2
    template = {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "4"}}}]}}
    assert gpu_hours.gpus({"kind": "MPIJob", "spec": {"mpiReplicaSpecs": {"Worker": {"template": template}}}}) == 0


@pytest.mark.parametrize("spec", [[], None, "all", {"pytorchReplicaSpecs": []}, {"pytorchReplicaSpecs": {"Master": 1}}])
def test_a_manifest_of_any_shape_has_a_row(spec: Any) -> None:
    value = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": spec}
    found = entry(converted([SourceObject(value, "a.yaml")], Options()).outcomes[0], NOW)
    assert (found.job_class, found.gpus, found.state) == ("blocked", 0, "")


@pytest.mark.parametrize("metadata", ["a", {"labels": "x"}, {"annotations": ["x"]}, {"ownerReferences": "x"}])
def test_metadata_of_any_shape_has_a_row(metadata: Any) -> None:
    found = entry(converted([SourceObject({**job(), "metadata": metadata}, "a.yaml")], Options()).outcomes[0], NOW)
    assert (found.job_class, found.owner) == ("blocked", "")


@pytest.fixture(scope="module")
def found() -> Fleet:
    rows = [
        row(job("a", gpus=1, state="Running")),
        row(job("=b", namespace="team-b", gpus=1, state="Succeeded")),
        row(job("<c>|", metadata=TRIAL)),
        row(ALWAYS),
    ]
    return fleet(rows)


def test_figures_of_a_fleet(found: Fleet) -> None:
    assert found.jobs == 4
    assert found.classes == {"finished": 1, "owned": 1, "blocked": 1, "complex": 0, "standard": 1, "simple": 0}
    assert found.kinds == {"PyTorchJob": 4}
    assert (found.gpus, found.gpu_hours) == (4, 4 * 2 + 4 * 1)
    assert [(part.name, part.jobs) for part in found.namespaces] == [("team-a", 3), ("team-b", 1)]
    assert [part.name for part in found.owners] == ["Trial team-a/tune-1"]
    assert [(blocker.id, blocker.jobs) for blocker in found.blockers if blocker.id == "RESTART001"] == [("RESTART001", 1)]
    assert found.count("standard", "blocked") == 2


def test_rows_are_in_order_whatever_order_they_came_in(found: Fleet) -> None:
    assert fleet(reversed(found.entries)) == found


@pytest.mark.parametrize("form", FORMS)
def test_a_form_says_every_job_and_is_the_same_again(found: Fleet, form: str) -> None:
    text = FORMS[form](found)
    assert text == FORMS[form](found)
    assert text.count("PyTorchJob") >= found.jobs


def test_csv_has_a_line_for_each_job_and_runs_no_formula(found: Fleet) -> None:
    rows = list(csv.DictReader(io.StringIO(FORMS["csv"](found))))
    assert [line["name"] for line in rows] == ["<c>|", "a", "bert", "'=b"]
    assert rows[1] | {"why": "", "topics": "", "rules": ""} == {
        "class": "standard", "kind": "PyTorchJob", "namespace": "team-a", "name": "a", "state": "Running", "effort": "0",
        "profile": "P2", "grade": rows[1]["grade"], "release": "2.0", "gpus": "4", "gpu_hours": "8.00", "owner": "", "inside": "",
        "blockers": "", "topics": "", "rules": "", "why": "", "place": "cluster",
    }  # fmt: skip


def test_json_is_as_its_schema_says(found: Fleet) -> None:
    written = json.loads(FORMS["json"](found))
    jsonschema_rs.validator_for(schema()).validate(written)
    assert written["schema"] == "shunter.migrate.inventory/v1"
    assert [line["class"] for line in written["entries"]] == ["owned", "standard", "blocked", "finished"]


def test_html_and_markdown_hold_no_markup_of_names(found: Fleet) -> None:
    assert "PyTorchJob team-a/&lt;c&gt;|" in FORMS["html"](found)
    assert "PyTorchJob team-a/\\<c\\>\\|" in FORMS["md"](found)


def test_the_rules_are_documented_as_they_are() -> None:
    document = (Path(__file__).parents[4] / "docs" / "migration" / "reference.md").read_text()
    for rule in RULES:
        assert f"| {rule.job_class} | `{rule.id}` | {rule.explanation} |" in document


def test_the_simple_example_is_simple() -> None:
    example = Path(__file__).parents[4] / "examples" / "v1" / "pytorch-simple.yaml"
    (outcome,) = converted(read([str(example)]).jobs, Options()).outcomes
    assert entry(outcome, NOW).job_class == "simple"
