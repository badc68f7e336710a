"""v1 jobs within other things are found, with the way to them."""

from __future__ import annotations

import json

import pytest

from shunter.migrate.conversion.source.documents import parsed
from shunter.migrate.paths import path_text

JOB = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "bert"}, "spec": {}}
TEXT = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: bert}\n"
SCRIPT = "spec:\n  args:\n  - |\n    cat <<END > hosts\n    a b\n    END\n    python train.py\n"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"kind": "Experiment", "spec": {"trialSpec": JOB}}, ["spec.trialSpec"]),
        (
            {"kind": "Workflow", "spec": {"templates": [{"resource": {"manifest": TEXT}}]}},
            ["spec.templates[0].resource.manifest"],
        ),
        ({"kind": "ConfigMap", "data": {"job.yaml": f"{TEXT}---\n{TEXT}"}}, ["data['job.yaml']", "data['job.yaml']"]),
        ({"kind": "Pipeline", "args": [json.dumps({"steps": [json.dumps(JOB)]})]}, ["args[0]"]),
        ({"kind": "CronJob", "args": [f"kubectl create -f - <<'END'\n{TEXT}END\n"]}, ["args[0]"]),
        ({"kind": "ConfigMap", "data": {"job.yaml": f"{TEXT}{SCRIPT}"}}, ["data['job.yaml']"]),
        ({"kind": "ConfigMap", "data": {"loop": "kubeflow.org/v1: &loop [*loop]"}}, []),
        ({"kind": "ConfigMap", "data": {"README": "Move off kubeflow.org/v1 soon: see [the plan"}}, []),
        ({"kind": "ConfigMap", "data": {"rule": "kubeflow.org/v1"}}, []),
        ({"kind": "ConfigMap", "data": {"deep": "[" * 2_000 + "kubeflow.org/v1"}}, []),
        ({"kind": "Role", "rules": [{"apiGroups": ["kubeflow.org"]}]}, []),
    ],
    ids=[
        "object",
        "text",
        "several",
        "text in a text",
        "here-document",
        "here-document of the job",
        "alias in itself",
        "prose",
        "a string",
        "a text nested too deeply",
        "a group",
    ],
)
def test_jobs_within_are_found(value: dict[str, object], wanted: list[str]) -> None:
    documents = parsed(json.dumps({"apiVersion": "example.org/v1", **value}), "x.json")
    assert [path_text(found.path) for document in documents for found in document.embedded] == wanted


def test_a_job_in_values_of_a_chart_is_found_and_not_converted_there() -> None:
    (found,) = parsed("job:\n  apiVersion: kubeflow.org/v1\n  kind: TFJob\n  metadata: {name: a}\n", "values.yaml")[0].embedded
    assert found.is_text
    assert found.finding.message == "TFJob a is in job of a file of values."
    assert str(found.finding.place) == "values.yaml:1:1"


@pytest.mark.parametrize(
    ("before", "within", "after", "is_text"),
    [("", "&labels {a: b}", "", False), ("", "&labels {a: b}", "  labels: *labels\n", True), ("&l {a: b}", "*l", "", False)],
    ids=["an anchor", "which is used outside", "an alias"],
)
def test_a_job_that_something_else_points_into_is_left(before: str, within: str, after: str, is_text: bool) -> None:
    job = f"    apiVersion: kubeflow.org/v1\n    kind: TFJob\n    metadata:\n      labels: {within}\n"
    text = f"apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nspec:\n  own: {before}\n  trialSpec:\n{job}{after}"
    (found,) = parsed(text, "x.yaml")[0].embedded
    assert found.is_text is is_text


def test_a_job_in_a_text_stands_where_the_text_does() -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\ndata:\n  job.yaml: |\n    {TEXT.replace(chr(10), chr(10) + '    ')}"
    (found,) = parsed(text, "x.yaml")[0].embedded
    assert (str(found.job.place()), str(found.job.place(("spec",)))) == ("x.yaml:4:3", "x.yaml:4:3")


def test_a_job_by_itself_or_in_a_list_is_not_within_something() -> None:
    items = "".join(f"- {line}" if not number else f"  {line}" for number, line in enumerate(TEXT.splitlines(keepends=True)))
    assert parsed(TEXT, "x")[0].embedded == ()
    assert parsed(f"apiVersion: v1\nkind: List\nitems:\n{items}", "x")[0].embedded == ()
