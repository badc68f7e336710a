"""Texts taken apart into documents, right and wrong ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.migrate.conversion.source.documents import parsed

JOB = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\n"
PIECES = st.sampled_from(
    (
        "---\n",
        "--- # c\n",
        "...\n",
        "a: 1\n",
        "# c\n",
        "\n",
        "a: [\n",
        "---\r\n",
        "b: |\n  ---\n",
        "%YAML 1.1\n",
        "---x\n",
        "{{ .x }}\n",
        "- 1",
    )
)


@pytest.mark.slow
@given(st.lists(PIECES, max_size=12).map("".join))
def test_documents_joined_are_the_text(text: str) -> None:
    assert "".join(document.text for document in parsed(text, "x")) == text


@given(st.lists(PIECES, max_size=12).map("".join))
def test_documents_know_how_many_lines_stand_before_them(text: str) -> None:
    before = ""
    for document in parsed(text, "x"):
        assert document.first_line == before.count("\n")
        before += document.text


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("---\n---\n# only words\n---\na: 1\n", [None, None, {"a": 1}]),
        ("%YAML 1.1\n---\na: 1\n", [{"a": 1}]),
        ("a: |\n  text\n---\nb: 1\n", [{"a": "text\n"}, {"b": 1}]),
        ("a: 1\n...\n---\nb: 1\n...\n", [{"a": 1}, None, {"b": 1}, None]),
        ('--- {"a": 1}\n', [{"a": 1}]),
        ('{"a": "\\ud83d\\ude00"}', [{"a": "\U0001f600"}]),
        ("a: 2026-01-01\nb: 010\n", [{"a": "2026-01-01", "b": 8}]),
        ("", []),
        ("a: &x {k: 1}\nb:\n  <<: *x\n  k: 2\n", [{"a": {"k": 1}, "b": {"k": 2}}]),
    ],
    ids=["two", "empty", "directive", "block before separator", "ends", "inline", "escapes of JSON", "times", "nothing", "merge"],
)
def test_values_are_read(text: str, values: list[object]) -> None:
    assert [document.value for document in parsed(text, "x")] == values


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{JOB}---\n{JOB}metadata: [\n", ["x.yaml:9:1 INPUT011"]),
        (f"{JOB}metadata: {{}}\n", ["x.yaml:4:1 INPUT011"]),
        ("ok: 1\n---\n# kubeflow.org\na: &a [*a]\n", ["x.yaml:4:4 INPUT011"]),
        ("\tno: yaml\n", ["x.yaml:1:1 INPUT012"]),
        ("ok: 1\n---\nkubeflow.org: !!int 0x_\n", ["x.yaml:3:15 INPUT011"]),
        (JOB.replace("/v1", "/v1beta2"), ["x.yaml:1:1 INPUT013"]),
        (JOB.replace("PyTorchJob", "PytorchJob"), ["x.yaml:2:1 INPUT017"]),
        (JOB.replace("/v1", "/v9"), ["x.yaml:1:1 INPUT019"]),
        (JOB.replace("/v1", "/v2beta1"), ["x.yaml:1:1 INPUT019"]),
        (JOB.replace("PyTorchJob", "Notebook"), []),
        (JOB.replace("apiVersion: kubeflow.org/v1\n", ""), ["x.yaml:1:1 INPUT023"]),
        (JOB.replace("kubeflow.org/v1", "null"), ["x.yaml:1:1 INPUT023"]),
        (JOB.replace("PyTorchJob", "5"), ["x.yaml:2:1 INPUT023"]),
        ("apiVersion: v1\nkind: List\nitems:\n- kind: TFJob\n  spec: {}\n", ["x.yaml:4:3 INPUT023"]),
        ("kind: PyTorchJob\nimage: train:1\n", []),
    ],
    ids=[
        "unfinished",
        "key twice",
        "alias in itself",
        "no manifest",
        "no number",
        "old version",
        "misspelt",
        "unknown",
        "of MPIJobs only",
        "no job",
        "no version",
        "version of null",
        "kind of a number",
        "no version in a list",
        "values of a chart",
    ],
)
def test_faults_are_told_with_their_place(text: str, told: list[str]) -> None:
    findings = [finding for document in parsed(text, "x.yaml") for finding in document.findings]
    assert [f"{finding.place} {finding.topic.id}" for finding in findings] == told


@pytest.mark.parametrize(("kind", "meant"), [("PytorchJob", "PyTorchJob"), ("TFJobs", "TFJob"), ("MXJob", "")])
def test_a_misspelt_kind_is_told_with_the_one_that_may_be_meant(kind: str, meant: str) -> None:
    (document,) = parsed(JOB.replace("PyTorchJob", kind), "x.yaml")
    (finding,) = document.findings
    assert finding.advice.startswith(f"Did you mean {meant}?" if meant else "Use one of the kinds")


def test_aliases_of_aliases_that_would_fill_the_memory_are_refused() -> None:
    lines = ["kubeflow.org: 1", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (document,) = parsed("\n".join(lines), "x")
    assert document.findings[0].message == "Not valid YAML: aliases expand to too much."


def test_aliases_that_are_nested_too_deep_are_refused() -> None:
    lines = ["kubeflow.org: 1", "a0: &a0 x", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 1000))]
    (document,) = parsed("\n".join(lines), "x")
    assert document.findings[0].message == "Not valid YAML: aliases expand to too much."


def test_places_are_those_of_the_file_in_every_document_and_item() -> None:
    item = "- apiVersion: kubeflow.org/v1\n  kind: TFJob\n  metadata:\n    name: b\n"
    text = f"# c\n{JOB}---\napiVersion: v1\nkind: List\nitems:\n{item}"
    first, second = (found for document in parsed(text, "x.yaml") for found in document.objects)
    assert str(first.place(("metadata", "name"))) == "x.yaml:4:12"
    assert str(second.place(("metadata", "name"))) == "x.yaml:12:5"


def test_an_object_of_json_that_is_no_yaml_stands_in_its_file() -> None:
    text = '---\n{"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "\\ud83d\\ude00"}}'
    ((job,),) = (document.objects for document in parsed(text, "x.json"))
    assert (job.node, str(job.place(("metadata",)))) == (None, "x.json:1:1")


def test_data_without_objects_are_not_taken_apart() -> None:
    data = f"[{', '.join(['1'] * 600_000)}]\n"
    (document, last) = parsed(f"{data}---\n{JOB}", "x")
    assert (document.value, document.findings, document.text) == (None, (), data)
    assert len(last.objects) == 1


@pytest.mark.parametrize(
    ("text", "is_template"),
    [
        ("name: {{ .Values.name }}", True),
        ("{{- range $k, $v := .Values.x }}", True),
        ('{{ include "a.b" . }}', True),
        ("{{/* words */}}", True),
        ('name: "{{workflow.name}}"', False),
        ("args: ['{{inputs.parameters.x}}', '{{item}}']", False),
        ("sum: {a: {b: 1}}", False),
        ("args: [\"docker ps --format '{{.ID}}'\"]", False),
        ("run: |\n  docker ps --format '{{.ID}}'", False),
        ("# set by {{ .Values.image }}\nimage: x", False),
        ('image: "{{ .Values.image }}"', True),
        ('{"args": [{{ .Values.args }}]}', True),
        ('{"args": [{"value": "{{ .ID }}"}]}', False),
    ],
)
def test_helm_is_told_apart_from_other_braces(text: str, is_template: bool) -> None:
    assert [document.is_template for document in parsed(text, "x")] == [is_template]


def test_in_a_chart_helm_fills_in_texts_as_well() -> None:
    text = "run: docker ps --format '{{.ID}}'"
    assert [document.is_template for document in parsed(text, "x", is_of_chart=True)] == [True]


@pytest.mark.parametrize(
    "deep",
    [
        "[" * 100_000 + "]" * 100_000,
        "\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 1000)),
        "\n" + "- " * 1000 + "x",
        "\n" + "-  " * 100_000 + "x",
        "\n" + "? - " * 100_000 + "x",
    ],
    ids=["brackets", "blanks", "dashes", "dashes with more blanks", "keys within keys"],
)
def test_what_is_nested_too_deep_is_refused(deep: str) -> None:
    (document,) = parsed(f"kubeflow.org/v1: {deep}\n", "x")
    assert document.findings[0].message == "Not valid YAML: more than 200 levels."


def test_many_brackets_side_by_side_are_read() -> None:
    assert parsed(f"a: [{'[], ' * 1000}]\n", "x")[0].findings == ()


def test_many_comments_with_line_ends_of_windows_take_no_longer_than_others() -> None:
    text = "# words\r\n" * 5000 + "a: 1\r\n"
    assert [document.value for document in parsed(text, "x")] == [{"a": 1}]


def test_a_file_of_five_thousand_lines_is_read_whole() -> None:
    text = "---\n".join(JOB + "spec:\n" + "".join(f"  f{n}: {n}\n" for n in range(96)) for _ in range(50))
    objects = [found for document in parsed(text, "x") for found in document.objects]
    assert len(objects) == 50
    assert objects[-1].place(("spec", "f95")).line == text.count("\n")
