"""Programs among the values of a chart."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.migrate.options import Options
from shunter.migrate.use_cases.convert import convert

TEMPLATE = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: x:1
            command: [bash, -c, {{ .Values.script | quote }}]
"""


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("train: {script: 'python t.py --rank ${HOSTNAME##*-}'}", [("HOST009", 1)]),
        ("a: 1\nscript: |\n  import socket\n  print(socket.gethostname())\n", [("HOST010", 2)]),
        ("name: hostname\nscript: 'python t.py --rank $RANK'\nargs: [1, null]", []),
    ],
)
def test_a_program_among_the_values_is_read_as_one_in_a_job(values: str, expected: list[tuple[str, int]], tmp_path: Path) -> None:
    chart(tmp_path, TEMPLATE, values)
    told = [finding for finding in convert([str(tmp_path)], Options()).findings if finding.topic.id.startswith("HOST")]
    assert [(finding.topic.id, finding.place.line) for finding in told] == expected
    assert all(finding.place.source.endswith("values.yaml") for finding in told)


def chart(folder: Path, template: str, values: str) -> None:
    (folder / "templates").mkdir()
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 0.1.0\n")
    (folder / "values.yaml").write_text(values)
    (folder / "templates" / "job.yaml").write_text(template)


@pytest.mark.parametrize("path", [".", "templates/job.yaml", "../chart"])
def test_a_chart_is_found_by_whatever_path_it_is_named(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chart").mkdir()
    monkeypatch.chdir(tmp_path / "chart")
    chart(Path(), TEMPLATE, "script: torchrun --node_rank=${HOSTNAME##*-} train.py\n")
    paths = [path] if path != "templates/job.yaml" else [path, "values.yaml"]
    told = [finding.topic.id for finding in convert(paths, Options()).findings]
    assert [id for id in told if id.startswith("HOST")] == ["HOST009"]
