"""Findings show the beginning of a user's text, however long it is."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, python, shell
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.reading import UnreadableJobError
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.excerpts import MESSAGE, excerpt
from shunter.migrate.options import Options
from shunter.migrate.v1_texts.rules import references

LONG = "x" * 5000


@pytest.mark.parametrize(
    "command",
    [
        pytest.param([f"/opt/{LONG}"], id="a program"),
        pytest.param(shell(f"torchrun {LONG}.py"), id="a script of torchrun"),
        pytest.param(shell(f"torchrun --nnodes={'1' * 5000} train.py"), id="a number of nodes"),
        pytest.param(shell(f"RANK=${{HOSTNAME##*-}} {LONG}"), id="a line of a shell"),
        pytest.param(python(f"import os; rank = int(os.environ['HOSTNAME'][-1]); {LONG}"), id="a line of Python"),
    ],
)
def test_a_finding_quotes_a_line_and_no_more(command: list[str]) -> None:
    assert [one.topic.id for one in converted(command).findings if len(one.message) > 600] == []


def test_a_message_of_a_thousand_names_ends_somewhere() -> None:
    names = " ".join(f"bert-worker-{number}" for number in range(1000))
    aliases = [{"ip": "10.0.0.1", "hostnames": names.split()}, {"ip": "10.0.0.1", "hostnames": names.split()}]
    findings = converted(shell(f"ping bert-worker-0\n{LONG}"), pod={"hostAliases": aliases}).findings
    assert max(len(one.message) for one in findings) <= MESSAGE + len(" ...")


def test_a_short_text_is_shown_as_it_is() -> None:
    assert excerpt("python train.py") == "python train.py"


@pytest.mark.parametrize("digits", ["9" * 10, "9" * 5000], ids=["ten digits", "five thousand"])
def test_more_processes_than_a_node_has_are_refused_by_their_field(digits: str) -> None:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "train:1", "command": ["torchrun", "t.py"]}]}}
    spec = {"nprocPerNode": digits, "pytorchReplicaSpecs": {"Master": {"template": template}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "b", "namespace": "t"}, "spec": spec}
    with pytest.raises(UnreadableJobError, match=r"spec\.nprocPerNode: .* \.\.\. processes|9999999999 processes"):
        convert(SourceObject(job, "job.yaml"), Options())


def test_mpirun_may_be_told_any_number_of_processes() -> None:
    findings = converted(["-np", "9" * 5000, "python", "t.py"], "MPIJob").findings
    assert [one.message for one in findings if len(one.message) > 600] == []


def test_what_is_no_number_for_v1_is_none() -> None:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "train:1", "command": ["torchrun", "t.py"]}]}}
    spec = {"nprocPerNode": "+-5", "pytorchReplicaSpecs": {"Master": {"template": template}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "b", "namespace": "t"}, "spec": spec}
    assert "INPUT002" in {one.topic.id for one in convert(SourceObject(job, "job.yaml"), Options()).findings}


def test_a_long_command_is_shown_with_its_script() -> None:
    [message] = [one.message for one in converted(["python", f"/opt/{'a' * 88}/train.py"]).findings if one.topic.id == "TORCH003"]
    assert "WORLD_SIZE for `python /opt/aaa" in message
    assert "a ... a" in message
    assert "a/train.py`, as v1 does." in message


def test_a_long_command_of_workers_is_cut_with_a_mark() -> None:
    worker = {"containers": [{"name": "mpi", "image": "train:1", "command": ["python", f"/opt/{'a' * 88}/serve.py"]}]}
    launcher = {"containers": [{"name": "mpi", "image": "train:1", "command": ["mpirun", "python", "train.py"]}]}
    specs = {"Launcher": {"template": {"spec": launcher}}, "Worker": {"replicas": 1, "template": {"spec": worker}}}
    metadata = {"name": "b", "namespace": "t"}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "metadata": metadata, "spec": {"mpiReplicaSpecs": specs}}
    [message] = [one.message for one in convert(SourceObject(job, "job.yaml"), Options()).findings if one.topic.id == "MPI003"]
    assert message.startswith("python /opt/aaa")
    assert "a ... a" in message
    assert message.endswith("a/serve.py is no longer started.")


def test_a_long_line_that_speaks_of_v1_is_cut_as_all_lines_are() -> None:
    command = f"kubectl get -n {'a' * 100} pytorchjobs"
    [found] = references(command, ())
    assert found.message.startswith(f"`{excerpt(command)}`")


def test_a_credential_is_not_shown_even_where_the_text_is_cut_within_it() -> None:
    secret = "s3cr3t" * 20
    assert excerpt(f"{'x' * 60} --password {secret}") == f"{'x' * 60} --password ***"
    [message] = [
        one.message
        for one in converted(shell(f"train --token {secret} --rank ${{HOSTNAME##*-}}")).findings
        if one.topic.id == "HOST009"
    ]
    assert "s3cr3t" not in message


@pytest.mark.parametrize("secret", ["pw19-$(PET_NNODES)-x", "pw19-23456", "pw19-29500"])
def test_the_value_of_a_variable_that_holds_a_secret_is_not_shown(secret: str) -> None:
    env = [{"name": "DB_PASSWORD", "value": secret}]
    messages = [one.message for one in converted(["python", "train.py"], env=env).findings]
    assert [message for message in messages if message.startswith("DB_PASSWORD")]
    assert not [message for message in messages if "pw19" in message]
