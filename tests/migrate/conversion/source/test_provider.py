"""What is read, and what of it is a job."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.migrate.conversion.source import files as source_files
from shunter.migrate.conversion.source.provider import read

JOB = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: NAME}\n"


def test_directories_are_read_with_all_below_but_what_is_hidden(tmp_path: Path) -> None:
    for name in ("b/x.yml", "a.yaml", "b/c/d.json", ".git/e.yaml", "f.txt", "b/.g.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(JOB.replace("NAME", path.stem))
    given = read([str(tmp_path)])
    assert [str(file.relative) for file in given.files] == ["a.yaml", "b/c/d.json", "b/x.yml"]
    assert [job.name for job in given.jobs] == ["a", "d", "x"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(JOB)
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a.yaml")
    assert len(read([str(tmp_path), str(tmp_path / "a.yaml")]).jobs) == 1


def test_bytes_are_kept_whatever_they_are(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + JOB.encode().replace(b"\n", b"\r\n") + b"---\r\n\r\n# end \t"
    (tmp_path / "a.yaml").write_bytes(content)
    given = read([str(tmp_path)])
    assert given.files[0].text.encode() == content
    assert given.jobs[0].place(("kind",)).line == 2


@pytest.mark.parametrize("field", ["patches: [{patch: PATCH}]", "patchesStrategicMerge: [PATCH]"])
def test_a_patch_that_a_kustomization_holds_is_no_job(tmp_path: Path, field: str) -> None:
    text = json.dumps(JOB.replace("NAME", "a"))
    (tmp_path / "job.yaml").write_text(JOB.replace("NAME", "a"))
    (tmp_path / "kustomization.yaml").write_text(f"resources: [job.yaml]\n{field.replace('PATCH', text)}\n")
    given = read([str(tmp_path)])
    assert ([job.name for job in given.jobs], given.embedded, given.findings) == (["a"], [], [])


def test_what_is_no_text_is_told_and_left(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: 1\nb: \xff\n")
    (finding,) = read([str(tmp_path)]).findings
    says = "Not UTF-8: byte 0xff in line 2; it seems to be ISO-8859-1 (Latin-1)."
    assert (finding.topic.id, finding.place.line, finding.message) == ("INPUT007", 2, says)
    with pytest.raises(InputError, match=r"a\.yaml: Not UTF-8: byte 0xff in line 2; .* iconv -f ISO-8859-1 -t UTF-8 .*a\.yaml"):
        read([str(tmp_path / "a.yaml")])


@pytest.mark.parametrize(
    ("encoding", "says", "known"),
    [
        ("utf-16", "Not UTF-8, but UTF-16.", "iconv -f UTF-16 "),
        ("utf-32", "Not UTF-8, but UTF-32.", "iconv -f UTF-32 "),
        ("utf-16-le", "Not UTF-8, but UTF-16LE.", "iconv -f UTF-16LE "),
        ("utf-16-be", "Not UTF-8, but UTF-16BE.", "iconv -f UTF-16BE "),
        ("latin-1", "Not UTF-8: byte 0xe9 in line 3; it seems to be ISO-8859-1 (Latin-1).", "iconv -f ISO-8859-1 "),
        ("cp1252", "Not UTF-8: byte 0xe9 in line 3; it seems to be WINDOWS-1252.", "iconv -f WINDOWS-1252 "),
    ],
)
def test_another_encoding_is_named_with_what_changes_it(tmp_path: Path, encoding: str, says: str, known: str) -> None:
    mark = "\u201d" if encoding == "cp1252" else ""
    (tmp_path / "a.yaml").write_bytes(f"kind: PyTorchJob\nmetadata:\n  name: caf\xe9{mark}\n".encode(encoding))
    (finding,) = read([str(tmp_path)]).findings
    assert (finding.topic.id, finding.message) == ("INPUT007", says)
    assert known in finding.advice


@pytest.mark.parametrize(
    "content", ["a: caf\xe9 \u20ac\n".encode() + b"b: \xff\n", b"a: \xff\n" + "b: caf\xe9".encode(), b"a: caf\xc3"]
)
def test_a_damaged_file_is_not_taken_for_one_of_another_encoding(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.yaml").write_bytes(content)
    (finding,) = read([str(tmp_path)]).findings
    assert finding.message.endswith("; the rest is UTF-8, so the file may be damaged there.")
    assert "iconv" not in finding.advice


def test_what_cannot_be_read_in_a_directory_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(JOB)
    (tmp_path / "b.yaml").symlink_to("nowhere")
    os.mkfifo(tmp_path / "c.yaml")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "d.yaml").symlink_to("d.yaml")
    (tmp_path / "e.yaml").mkdir()
    given = read([str(tmp_path)])
    assert len(given.jobs) == 1
    assert [(Path(finding.place.source).name, finding.topic.id) for finding in given.findings] == [
        ("b.yaml", "INPUT014"),
        ("c.yaml", "INPUT014"),
        ("d.yaml", "INPUT014"),
    ]
    assert "No such file" in given.findings[0].message
    assert [file.relative.name for file in given.files if not file.findings] == ["a.yaml"]


def test_standard_input_is_one_of_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JOB.encode())))
    assert [str(job.place()) for job in read(["-"]).jobs] == ["standard input:1:1"]


def test_a_file_whose_name_is_no_text_has_one_that_can_be_printed(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path / "caf") + b"\xe9.yaml"
    with open(path, "w") as file:
        file.write(JOB)
    for named in (tmp_path, Path(os.fsdecode(path))):
        (job,) = read([str(named)]).jobs
        assert str(job.place()) == f"{tmp_path}/caf\ufffd.yaml:1:1"


def test_what_has_an_impossible_name_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        read(["x" * 300])


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_path_without_manifests_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=name):
        read([str(tmp_path / name)])


def test_what_has_no_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "LARGEST", 1024 * 1024)
    with pytest.raises(InputError, match="/dev/zero: cannot be read: it has more than 1 MiB"):
        read(["/dev/zero"])


def test_a_template_in_quotes_is_one_within_a_chart_only(tmp_path: Path) -> None:
    for folder in ("chart/templates", "jobs"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "job.yaml").write_text(f"{JOB}spec: {{pytorchReplicaSpecs: '{{{{.ID}}}}'}}\n")
    (tmp_path / "chart" / "Chart.yaml").write_text("name: x\n")
    assert [document.source for document in read([str(tmp_path)]).templates] == [str(tmp_path / "chart/templates/job.yaml")]


def test_templates_with_jobs_are_told_to_those_who_list_jobs(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("name: x\n")
    (tmp_path / "job.yaml").write_text(f"# one\n---\n{JOB}spec: {{pytorchReplicaSpecs: {{{{ .Values.roles }}}}}}\n")
    (tmp_path / "role.yaml").write_text("kind: {{ .Values.kind }}\nrules: [{apiGroups: [kubeflow.org]}]\n")
    given = read([str(tmp_path)])
    assert given.findings == []
    assert [(str(finding.place), finding.topic.id) for finding in given.unrendered] == [(f"{tmp_path}/job.yaml:2:1", "INPUT016")]
