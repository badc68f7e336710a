"""Templates converted as such: what Helm makes of them is the conversion of what it made of the originals."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import helm_python
import pytest

from shunter.migrate.conversion.gitops.helm import skeleton_of
from shunter.migrate.conversion.gitops.helm_values import Refusal
from shunter.migrate.conversion.gitops.overlay_check import build_of, converted_build, differences
from shunter.migrate.conversion.source.documents import parsed
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.options import Options
from shunter.migrate.use_cases.convert import convert

HELPERS = """\
{{- define "chart.fullname" -}}{{ .Release.Name }}-bert{{- end }}
{{- define "chart.labels" -}}
app: bert
release: {{ .Release.Name }}
{{- end }}
"""
POD = """\
template:
  spec:
    containers:
    - name: pytorch
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
      command: [torchrun, train.py, --lr, {{ .Values.lr | quote }}]
      env:
      - name: STAGE
        value: {{ .Values.stage }}
      resources:
        limits:
          nvidia.com/gpu: {{ .Values.gpus }}
    nodeSelector:
      {{- toYaml .Values.nodeSelector | nindent 12 }}
"""
TEMPLATE = f"""\
{{{{- if .Values.enabled }}}}
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: {{{{ include "chart.fullname" . }}}}
  labels:
    {{{{- include "chart.labels" . | nindent 4 }}}}
spec:
  runPolicy:
    backoffLimit: {{{{ .Values.retries }}}}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
{textwrap.indent(POD, "      ")}
    Worker:
      replicas: {{{{ .Values.workers }}}}
      restartPolicy: OnFailure
{textwrap.indent(POD, "      ")}
{{{{- end }}}}
"""
VALUES: dict[str, Any] = {
    "enabled": True,
    "image": {"repository": "example.org/train", "tag": "1.2"},
    "lr": "1e-3",
    "stage": "dev",
    "gpus": 2,
    "workers": 3,
    "retries": 4,
    "nodeSelector": {"gpu": "a100"},
}


def rendered(folder: Path, template: str, values: dict[str, Any]) -> str:
    """What `helm template` prints."""
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: bert\nversion: 1.0.0\n")
    (folder / "templates" / "_helpers.tpl").write_text(HELPERS)
    (folder / "templates" / "job.yaml").write_text(template)
    files = helm_python.Chart.load(folder).render(values, name="nightly", namespace="nlp")
    return "---\n".join(text for path, text in files.items() if path.endswith(".yaml"))


@pytest.mark.parametrize(
    "values",
    [{}, {"workers": 7}, {"stage": "prod", "lr": "0.1", "retries": 0}, {"enabled": False}],
    ids=["as they are", "more workers", "other texts", "not enabled"],
)
def test_converting_and_rendering_commute(tmp_path: Path, values: dict[str, Any]) -> None:
    (document,) = parsed(TEMPLATE, "templates/job.yaml")
    skeleton = skeleton_of(document, Options())
    before = rendered(tmp_path / "v1", TEMPLATE, {**VALUES, **values})
    after = rendered(tmp_path / "v2", skeleton.text, {**VALUES, **values})
    assert differences(converted_build(before, Options()), build_of(after)) == []


LABELS = '    {{- include "chart.labels" . | nindent 4 }}'
INLINE = {
    "behind the key": (f"labels:\n{LABELS}", f"labels: {LABELS.strip()}"),
    "behind the key, with a blank": ("labels:\n    {{- include", "labels: {{ include"),
    "in a line, with a blank": ("    {{- include", "    {{ include"),
    "indented, without a line break": (LABELS, '{{ include "chart.labels" . | indent 4 }}'),
    "another field": ("nodeSelector:\n            {{-", "nodeSelector: {{"),
}


@pytest.mark.parametrize(("block", "inline"), INLINE.values(), ids=[*INLINE])
def test_fields_of_an_expression_are_converted_however_they_are_included(tmp_path: Path, block: str, inline: str) -> None:
    template = TEMPLATE.replace(block, inline)
    assert template != TEMPLATE
    (document,) = parsed(template, "templates/job.yaml")
    before, after = (
        rendered(tmp_path / side, text, VALUES)
        for side, text in (("v1", template), ("v2", skeleton_of(document, Options()).text))
    )
    assert "release: nightly" in after
    assert differences(converted_build(before, Options()), build_of(after)) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        (
            "    Worker:",
            "    {{- range .Values.roles }}\n    Worker:",
            30,
            "{{- range .Values.roles }} stands for more than one value",
        ),
        ("kind: PyTorchJob", "kind: {{ .Values.kind }}", 2, "kind and version are not written out"),
        ("restartPolicy: OnFailure", "restartPolicy: {{ .Values.restart }}", 14, "{{ .Values.restart }}"),
        ("backoffLimit: {{ .Values.retries }}", "suspend: {{ .Values.suspend }}", 10, "Expected `bool"),
        ("backoffLimit: {{ .Values.retries }}", "cleanPodPolicy: {{ .Values.p }}", 10, "{{ .Values.p }} depends on its value"),
    ],
    ids=["a range", "the kind", "a word from a list", "a flag", "a word that becomes a number"],
)
def test_what_only_rendering_can_tell_is_refused_with_its_line(old: str, new: str, line: int, reason: str) -> None:
    (document,) = parsed(TEMPLATE.replace(old, new, 1), "templates/job.yaml")
    with pytest.raises(Refusal, match=re.escape(reason)) as refusal:
        skeleton_of(document, Options())
    assert refusal.value.line + 1 == line


@pytest.mark.parametrize(
    ("expression", "result", "is_reported"),
    [
        (".Values.ttl", "{{ max 60 (.Values.ttl) }}", True),
        (".Values.ttl | default 3600", "{{ max 60 (.Values.ttl | default 3600) }}", True),
        ("max 60 .Values.ttl", "{{ max 60 .Values.ttl }}", False),
        ("max 120 (int .Values.ttl)", "{{ max 120 (int .Values.ttl) }}", False),
        (".Values.ttl | max 60", "{{ .Values.ttl | max 60 }}", False),
        ("max 10 .Values.ttl", "{{ max 60 (max 10 .Values.ttl) }}", True),
    ],
)
@pytest.mark.parametrize("ttl", [5, 60, 86400])
def test_a_time_to_live_is_raised_by_the_template(
    tmp_path: Path, expression: str, result: str, is_reported: bool, ttl: int
) -> None:
    template = TEMPLATE.replace("  runPolicy:\n", f"  runPolicy:\n    ttlSecondsAfterFinished: {{{{ {expression} }}}}\n")
    (document,) = parsed(template, "templates/job.yaml")
    skeleton = skeleton_of(document, Options())
    assert f"ttlSecondsAfterFinished: {result}\n" in skeleton.text
    assert any(finding.topic.id == "TTL002" for finding in skeleton.findings) == is_reported
    before = rendered(tmp_path / "v1", template, {**VALUES, "ttl": ttl})
    after = rendered(tmp_path / "v2", skeleton.text, {**VALUES, "ttl": ttl})
    assert differences(converted_build(before, Options()), build_of(after)) == []


@pytest.mark.parametrize(
    "fields", [("activeDeadlineSeconds", "ttlSecondsAfterFinished"), ("ttlSecondsAfterFinished", "backoffLimit")]
)
@pytest.mark.parametrize("seconds", [5, 86400])
def test_a_time_to_live_may_share_its_expression_with_another_field(
    tmp_path: Path, fields: tuple[str, str], seconds: int
) -> None:
    lines = "".join(f"    {field}: {{{{ .Values.seconds }}}}\n" for field in fields)
    template = TEMPLATE.replace("    backoffLimit: {{ .Values.retries }}\n", lines)
    (document,) = parsed(template, "templates/job.yaml")
    skeleton = skeleton_of(document, Options())
    assert "ttlSecondsAfterFinished: {{ max 60 (.Values.seconds) }}\n" in skeleton.text
    assert "{{ .Values.seconds }} below 60 becomes 60." in {finding.message for finding in skeleton.findings}
    before = rendered(tmp_path / "v1", template, {**VALUES, "seconds": seconds})
    after = rendered(tmp_path / "v2", skeleton.text, {**VALUES, "seconds": seconds})
    assert differences(converted_build(before, Options()), build_of(after)) == []


def test_findings_show_expressions_and_not_the_numbers_that_were_tried() -> None:
    template = TEMPLATE.replace("  runPolicy:\n", "  runPolicy:\n    ttlSecondsAfterFinished: {{ .Values.ttl }}\n")
    template = template.replace("  containers:\n", "  hostNetwork: true\n          containers:\n")
    (document,) = parsed(template, "templates/job.yaml")
    messages = {finding.topic.id: finding.message for finding in skeleton_of(document, Options()).findings}
    assert messages["TTL001"].startswith("{{ .Values.ttl }} seconds after its end")
    assert messages["HOST002"].startswith("The 1 + {{ .Values.workers }} pods of node use")


def test_a_time_to_live_does_not_count_where_pods_are_removed_at_the_end() -> None:
    policy = "  runPolicy:\n    cleanPodPolicy: All\n    ttlSecondsAfterFinished: {{ .Values.ttl }}\n"
    (document,) = parsed(TEMPLATE.replace("  runPolicy:\n", policy), "templates/job.yaml")
    skeleton = skeleton_of(document, Options())
    assert "ttlSecondsAfterFinished: 60\n" in skeleton.text
    assert not any(finding.topic.id == "TTL002" for finding in skeleton.findings)


def test_a_quoted_value_that_moves_into_an_option_loses_its_quotes() -> None:
    (document,) = parsed(TEMPLATE.replace("spec:\n", "spec:\n  nprocPerNode: {{ .Values.gpus | quote }}\n", 1), "job.yaml")
    text = skeleton_of(document, Options()).text
    assert "--nproc_per_node={{ .Values.gpus }}" in text
    assert "{{ .Values.lr | quote }}" in text


@pytest.mark.parametrize(
    ("peer", "is_name"),
    [
        ("{{ .Release.Name }}-bert-worker-0:22", True),
        ('{{ printf "%s-bert-master-0" .Release.Name }}', True),
        ("{{ .Release.Name }}-{{ .Values.stage }}-worker-1", True),
        ("{{ .Release.Name }}-bert-workers", False),
    ],
)
def test_a_name_of_a_pod_that_other_expressions_make_is_reported(peer: str, is_name: bool) -> None:
    (document,) = parsed(TEMPLATE.replace("value: {{ .Values.stage }}", f"value: {peer}"), "job.yaml")
    found = [one.message for one in skeleton_of(document, Options()).findings if one.topic.id == "HOST013"]
    assert found == ([f"{peer!r} may name a pod as v1 does."] if is_name else [])


def test_templates_without_v1_jobs_are_not_looked_at() -> None:
    text = 'kind: Service\nname: {{ .Release.Name }}\n---\n{{ define "x" }}kubeflow.org/v1{{ end }}\n'
    assert Input((text_file(text, "x"),)).templates == []


@pytest.mark.parametrize(
    ("name", "is_of_chart", "owner"),
    [
        ("{{ .Name }}", False, "{{ .Name }}"),
        ("{{ .Name }}", True, "{{ .Release.Name }}"),
        ("{{ .Values.name }}", False, "{{ .Release.Name }}"),
    ],
    ids=["another tool's", "a file of a chart", "Helm's own values"],
)
def test_a_release_is_named_only_where_there_is_one(name: str, is_of_chart: bool, owner: str) -> None:
    text = f"""\
# image set by {{{{ .Values.image }}}}
apiVersion: kubeflow.org/v1
kind: XGBoostJob
metadata:
  name: {name}
spec:
  xgbReplicaSpecs:
    Master:
      replicas: 1
      template: {{spec: {{containers: [{{name: xgboost, image: i, command: [python, t.py]}}]}}}}
"""
    (document,) = parsed(text, "job.yaml", is_of_chart=is_of_chart)
    result = skeleton_of(document, Options()).text
    assert re.findall(r"name: (.*)-xgboost-\w{8}", result) == [owner, owner]


JOB_OF_A_CHART = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: {{ .Release.Name }}-NAME
spec:
  pytorchReplicaSpecs:
    Master:
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: {{ .Values.image }}
            command: [python, NAME.py]
"""


@pytest.mark.parametrize(
    ("head", "tail", "runtimes"),
    [
        pytest.param("", "", ["pytorch-D"], id="made-once"),
        pytest.param(
            "{{- if .Values.on }}\n", "{{- end }}\n", ["pytorch-D", "pytorch-D-2"], id="made-by-each-where-values-decide"
        ),
    ],
)
def test_two_templates_of_a_release_make_no_object_twice(head: str, tail: str, runtimes: list[str], tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 0.1.0\n")
    (tmp_path / "templates").mkdir()
    for name in ("a", "b"):
        (tmp_path / "templates" / f"{name}.yaml").write_text(head + JOB_OF_A_CHART.replace("NAME", name) + tail)
    found = "".join(convert([tmp_path]).documents.values())
    made = re.findall(r"kind: TrainingRuntime\nmetadata: {name: {{ .Release.Name }}-([\w-]+)", found)
    assert [re.sub("[0-9a-f]{8}", "D", name) for name in made] == runtimes
    used = re.findall(r"runtimeRef: {kind: TrainingRuntime, name: {{ .Release.Name }}-([\w-]+)", found)
    assert {*used} == {*made}
    assert len(used) == 2


@pytest.mark.parametrize(
    ("template", "helpers", "expected"),
    [
        ('apiVersion: {{ include "api" . }}\nkind: TFJob\nspec: {tfReplicaSpecs: {}}\n', "", "HELM002"),
        ('apiVersion: kubeflow.org/v1\nkind: TFJob\nspec:\n  {{- include "spec" . | nindent 2 }}\n', "", "HELM002"),
        ('{{ include "job" . }}\n', '{{- define "job" -}}\napiVersion: kubeflow.org/v1\nkind: TFJob\n{{- end }}\n', "INPUT016"),
        ("apiVersion: kubeflow.org/v1\nkind: {{ .Values.kind }}\nspec: {}\n", "", "HELM002"),
        ('{{ include "job" . }}\n', 'apiVersion: kubeflow.org/{{ "v1" }}\nkind: {{ .kind }}\n', "INPUT016"),
        ("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: {{ .Values.kind }}\nspec: {}\n", "", ""),
        ('apiVersion: {{ include "api" . }}\nkind: Deployment\n', '{{- define "api" -}}apps/v1{{- end }}\n', ""),
    ],
)
def test_a_job_of_which_a_template_holds_only_a_part_is_told(template: str, helpers: str, expected: str, tmp_path: Path) -> None:
    chart(tmp_path, template, "a: 1")
    (tmp_path / "templates" / "_helpers.tpl").write_text(helpers)
    told = convert([str(tmp_path)], Options()).findings
    assert [finding.topic.id for finding in told if finding.is_blocking] == [*filter(None, [expected])]


def chart(folder: Path, template: str, values: str) -> None:
    (folder / "templates").mkdir()
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 0.1.0\n")
    (folder / "values.yaml").write_text(values)
    (folder / "templates" / "job.yaml").write_text(template)
