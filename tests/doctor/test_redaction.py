"""No credential that a job's pods hold or write appears in anything that doctor shows or records."""

from __future__ import annotations

import string
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.evidences import ended, failed, log, pod, traceback
from doctor.test_corpus import CASES, CORPUS
from job_evidence import NOW, event
from shunter.doctor import recording
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence, Process, Sample
from shunter.doctor.redaction import redacted
from shunter.doctor.text import report_lines

SECRETS = st.text(string.ascii_letters + string.digits + "/+_-.", max_size=30).map(lambda text: f"Pl4nted{text}0")
SHAPES = (
    "{name}={value}",
    "{name}: {value}",
    '"{name}": "{value}"',
    "--{name} {value}",
    "--{name}={value}",
    "{name} = '{value}'",
)
NAMES = ("password", "HF_TOKEN", "api-key", "client_secret", "AWS_SECRET_ACCESS_KEY", "db.passwd")
ADDRESS = "https://me:{value}@mlflow.example.org/x"


def leaking(name: str, value: str, shape: str, of_secret: str) -> Evidence:
    """A job that says its secrets wherever it can."""
    written = shape.format(name=name, value=value)
    env = [{"name": name, "value": value}, {"name": "SHH", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
    container = {"env": env, "args": ["--token", value, written], "command": ["python", "train.py"]}
    parts = ended(1, message=f"failed with {written}")
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"{name}": "{value}"}}'}
    one = pod(0, container=container, **parts)
    one["metadata"] |= {"annotations": annotations, "managedFields": [{"fieldsV1": {"f:value": value}}]}
    address = ADDRESS.format(value=value.replace("/", ""))
    lines = (written, f"login with {of_secret}", address, traceback(f"ValueError: cannot log in with {of_secret} ({written})"))
    process = Process(pod="j-master-0", container="pytorch", pid=1, command=f"python train.py {written} {of_secret}")
    return failed(
        one, logs=(log(0, *lines),), events=[event("u-j", "Odd", written)], samples=(Sample(at=NOW, processes=(process,)),)
    )


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(NAMES), value=SECRETS, shape=st.sampled_from(SHAPES), of_secret=SECRETS)
def test_no_planted_secret_is_ever_shown_or_recorded(name: str, value: str, shape: str, of_secret: str, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    evidence = redacted(leaking(name, value, shape, of_secret), {of_secret})
    report = diagnose(evidence, NOW)
    directory = tmp_path_factory.mktemp("recorded") / "case"
    recording.write(evidence, directory)
    written = "".join(path.read_text() for path in directory.rglob("*") if path.is_file())
    shown = "\n".join(report_lines(report)) + msgspec.json.encode(report).decode()
    for secret in (value, of_secret):
        assert secret not in written
        assert secret not in shown


def test_what_was_recorded_is_read_back_as_it_was(tmp_path: Path) -> None:
    for name in CASES:
        evidence = recording.read(CORPUS / name)
        recording.write(evidence, tmp_path / name)
        assert recording.read(tmp_path / name) == evidence


def test_the_corpus_holds_nothing_that_was_planted() -> None:
    texts = [path.read_text() for path in CORPUS.rglob("*") if path.is_file()]
    assert texts
    assert not any("planted" in text.lower() for text in texts)
