"""Whatever one object of the input is, the others are converted."""

from __future__ import annotations

from typing import NoReturn

import pytest

from shunter.errors import InputError
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.input_context import InputContext
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.options import Options

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: odd}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: example.org/train:1
            command: [bash, /s/run.sh]
            volumeMounts: [{name: s, mountPath: /s}]
          volumes: [{name: s, configMap: {name: scripts}}]
"""
GOOD = JOB.replace("odd", "good").replace("/s/run.sh", "/other.sh")
CONTAINER = "spec.pytorchReplicaSpecs.Master.template.spec.containers[0]"
VOLUME = "spec.pytorchReplicaSpecs.Master.template.spec.volumes[0]"
UNREADABLE = {
    "bytes": ("image: example.org/train:1", "tty: !!binary aGk=", f"{CONTAINER}.tty: Expected JSON, got `bytes`."),
    "a set": ("image: example.org/train:1", "tty: !!set {a, b}", f"{CONTAINER}.tty: Expected JSON, got `set`."),
    "pairs": ("image: example.org/train:1", "tty: !!pairs [a: 1]", f"{CONTAINER}.tty[0]: Expected JSON, got `tuple`."),
    "no number": ("image: example.org/train:1", "tty: .nan", f"{CONTAINER}.tty: Expected JSON, got nan, which is no number."),
    "items that are no objects": (
        "{name: scripts}",
        "{name: scripts, items: [x]}",
        f"{VOLUME}.configMap.items[0]: Expected `object`, got `str`.",
    ),
    "a path of items that is no text": (
        "{name: scripts}",
        "{name: scripts, items: [{key: x, path: 5}]}",
        f"{VOLUME}.configMap.items[0].path: Expected `str`, got `int`.",
    ),
}
BESIDE = {
    "a ConfigMap with a number as key": "kind: ConfigMap\nmetadata: {name: scripts}\ndata: {1: x}\n",
    "a ConfigMap with a list": "kind: ConfigMap\nmetadata: {name: scripts}\ndata: [x]\n",
    "a ConfigMap with a text": "kind: ConfigMap\nmetadata: {name: scripts}\ndata: x\n",
    "a ConfigMap with a number": "kind: ConfigMap\nmetadata: {name: scripts}\ndata: {run.sh: 5}\n",
    "a ConfigMap with bytes": "kind: ConfigMap\nmetadata: {name: scripts}\ndata: {run.sh: !!binary aGk=}\n",
    "a ConfigMap without metadata": "kind: ConfigMap\nmetadata: [x]\n",
    "a ConfigMap with a list as its name": "kind: ConfigMap\nmetadata: {name: [scripts], namespace: {}}\n",
    "a Service whose owners are texts": "kind: Service\nmetadata: {name: other, ownerReferences: [x, null]}\n",
    "a Service whose owners are a text": "kind: Service\nmetadata: {name: other, ownerReferences: x}\n",
}


def converted(text: str) -> batch.Batch:
    given = Input((text_file(f"{text}---\n{GOOD}", "x.yaml"),))
    found = batch.converted(given.convertible, Options(), [source.value for source in given.others])
    assert "name: good" in files.stream(given, found)
    return found


@pytest.mark.parametrize(("old", "new", "told"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_job_that_kubernetes_could_not_have_is_told_and_the_others_are_converted(old: str, new: str, told: str) -> None:
    odd, good = converted(JOB.replace(old, new)).outcomes
    assert [(finding.topic.id, finding.message) for finding in odd.findings] == [("INPUT001", told)]
    assert not good.is_blocked


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_what_stands_beside_jobs_may_be_anything(beside: str) -> None:
    odd, good = converted(f"{JOB}---\napiVersion: v1\n{beside}").outcomes
    assert not any(finding.topic is batch.DEFECT for finding in (*odd.findings, *good.findings))
    assert not good.is_blocked


@pytest.mark.parametrize("owners", ["[x, null]", "x", "{}"])
def test_a_service_in_the_way_is_told_whatever_its_owners_are(owners: str) -> None:
    service = f"apiVersion: v1\nkind: Service\nmetadata: {{name: odd, ownerReferences: {owners}}}\n"
    odd, _ = converted(f"{JOB}---\n{service}").outcomes
    assert "HOST007" in [finding.topic.id for finding in odd.findings]


def test_a_defect_ends_the_job_that_it_struck_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(source: SourceObject, options: Options, context: InputContext) -> Conversion:
        known: dict[str, Conversion] = {}
        return known["bert-worker-7"] if source.name == "odd" else convert(source, options, context)

    monkeypatch.setattr(batch, "convert", failing)
    odd, good = converted(JOB).outcomes
    (finding,) = odd.findings
    assert finding.is_blocking
    assert finding.topic.id == "INPUT015"
    assert finding.message.startswith("A defect of this tool: KeyError: 'bert-worker-7' (test_batch.py, line ")
    assert "report" in finding.advice
    assert not good.is_blocked


def test_a_wrong_flag_still_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> NoReturn:
        raise InputError("--elastic-nodes is x.")

    monkeypatch.setattr(batch, "convert", refusing)
    with pytest.raises(InputError, match="elastic-nodes"):
        converted(JOB)


def test_what_only_yaml_can_say_is_written_again_beside_jobs() -> None:
    items = "\n".join(f"  {line}" for line in GOOD.splitlines())
    secret = "{apiVersion: v1, kind: Secret, metadata: &a {name: x}, same: *a, data: {a: !!binary aGk=, b: .nan, c: !!set {d}}}"
    text = f"apiVersion: v1\nkind: List\nitems:\n- {items.strip()}\n- {secret}\n"
    given = Input((text_file(text, "x.yaml"),))
    written = files.stream(given, batch.converted(given.convertible, Options()))
    (found,) = (source.value for source in text_file(written, "y").documents[-1].objects)
    assert found["data"] == {"a": b"hi", "b": pytest.approx(float("nan"), nan_ok=True), "c": {"d"}}
