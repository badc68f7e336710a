"""Which logs the doctor reads of a job of more ranks than it reads logs of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, cast

import msgspec
import pytest

from job_evidence import NOW
from jobs.test_evidence import Lists, answer
from page.views.test_job import TRAIN_JOB, train_pod
from shunter.api.meta import Json
from shunter.api.yaml import load_yaml
from shunter.doctor import live_diagnosis
from shunter.doctor.case import Case
from shunter.doctor.collecting import api_evidence
from shunter.doctor.evidence import Evidence, Process, Sample
from shunter.doctor.sampling import TWICE, Sampler
from shunter.jobs.logs.reading import CONCURRENT_LOGS
from shunter.kube import client as kube_client
from shunter.kube.client import Client
from shunter.kube.transport import Response


class Logs(Lists):
    """A server on which every pod has a log, and which does not say what one may do."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        if path.endswith("/selfsubjectrulesreviews"):
            return answer(201, {"status": {"incomplete": True}})
        return await super().request(method, path, params=params, headers=headers, body=body)

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        yield f"a line of {path.split('/')[-2]}\n".encode()


async def test_of_more_ranks_than_logs_are_read_those_that_failed_are_read_and_the_report_says_how_many() -> None:
    job = load_yaml(TRAIN_JOB)
    job["spec"]["trainer"]["numNodes"] = 30
    pods = [train_pod(rank) for rank in range(30)]
    killed = {"exitCode": 137, "reason": "OOMKilled"}
    again = [{"name": "node", "restartCount": 1, "state": {"running": {}}, "lastState": {"terminated": killed}}]
    ended = [{"name": "node", "restartCount": 0, "state": {"terminated": killed}}]
    pods[17] = train_pod(17, phase="Running", containerStatuses=again)
    pods[29] = train_pod(29, phase="Failed", containerStatuses=ended)
    found = await api_evidence(Client(Logs(pods=pods)), job, most_logs=4)
    assert {log.pod for log in found.logs} == {f"bert-node-0-{rank}" for rank in (0, 1, 17, 29)}
    assert [(log.pod, log.is_previous) for log in found.logs if log.pod == "bert-node-0-17"] == [
        ("bert-node-0-17", False),
        ("bert-node-0-17", True),
    ]
    assert [one.why for one in found.missing if one.what == "logs"] == ["the logs of 4 of 30 pods were read"]


class Skewed(Logs):
    """The same, with a clock that is three minutes behind ours."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        found = await super().request(method, path, params=params, headers=headers, body=body)
        return found._replace(headers={"date": format_datetime(datetime.now(UTC) - timedelta(minutes=3), usegmt=True)})


async def test_the_log_of_a_frozen_node_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that stopped left the connection open, and `shunter doctor` waited for it without end."""
    monkeypatch.setattr(kube_client, "LOG_SECONDS", 0.05)

    class Frozen(Logs):
        async def stream(
            self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
        ) -> AsyncGenerator[bytes]:
            yield f"a line of {path.split('/')[-2]}\n".encode()
            if "bert-node-0-1" in path:
                await asyncio.Event().wait()

    pods = [train_pod(0), train_pod(1)]
    pods[1]["spec"]["nodeName"] = "gpu-7"
    async with asyncio.timeout(10):
        found = await api_evidence(Client(Frozen(pods=pods)), load_yaml(TRAIN_JOB))
    assert [log.pod for log in found.logs] == ["bert-node-0-0"]
    missing = [one for one in found.missing if one.what == "logs"]
    assert [(one.why, one.is_refused) for one in missing] == [("node gpu-7 does not respond", False)]


async def test_the_logs_of_a_node_that_does_not_respond_are_not_waited_for_one_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kube_client, "LOG_SECONDS", 0.05)
    begun = list[str]()

    class Frozen(Logs):
        async def stream(
            self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
        ) -> AsyncGenerator[bytes]:
            begun.append(path)
            await asyncio.Event().wait()
            yield b""

    pods = [train_pod(rank) for rank in range(40)]
    for pod in pods:
        pod["spec"]["nodeName"] = "gpu-7"
    found = await api_evidence(Client(Frozen(pods=pods)), load_yaml(TRAIN_JOB))
    assert len(begun) == CONCURRENT_LOGS
    assert [one.why for one in found.missing if one.what == "logs"] == ["node gpu-7 does not respond"]


async def test_a_node_that_reads_its_logs_one_after_another_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty logs, each of which takes a thirtieth of the limit: read all at once, every second one was given up."""
    monkeypatch.setattr(kube_client, "LOG_SECONDS", 0.9)
    reading = asyncio.Lock()

    class Busy(Logs):
        async def stream(
            self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
        ) -> AsyncGenerator[bytes]:
            async with reading:
                await asyncio.sleep(0.03)
            yield b"a line\n"

    found = await api_evidence(Client(Busy(pods=[train_pod(rank) for rank in range(60)])), load_yaml(TRAIN_JOB))
    assert len(found.logs) == 60
    assert not [one for one in found.missing if one.what == "logs"]


async def test_the_log_of_an_init_container_is_read_while_it_runs_and_of_a_sidecar_only_if_it_failed() -> None:
    running: Json = {"running": {}}
    failed = {"terminated": {"exitCode": 1, "reason": "Error"}}
    states = {"fetch": running, "istio-proxy": running, "fluent-bit": failed}
    statuses = [{"name": name, "restartCount": 0, "state": state} for name, state in states.items()]
    one = train_pod(0, phase="Pending", initContainerStatuses=statuses, containerStatuses=[])
    one["spec"]["initContainers"] = [{"name": name} | ({} if name == "fetch" else {"restartPolicy": "Always"}) for name in states]
    found = await api_evidence(Client(Logs(pods=[one])), load_yaml(TRAIN_JOB))
    assert {log.container for log in found.logs} == {"fetch", "fluent-bit"}


async def test_silence_is_measured_by_the_clock_of_the_cluster() -> None:
    """By the clock of a laptop three minutes ahead a job that logs each second has been silent for three minutes."""
    found = await api_evidence(Client(Skewed(pods=[train_pod(0)])), load_yaml(TRAIN_JOB))
    assert (datetime.now(UTC) - found.at).total_seconds() == pytest.approx(180, abs=2)


async def test_events_of_who_watches_them_are_not_listed_again() -> None:
    job, event = load_yaml(TRAIN_JOB), {"involvedObject": {"name": "bert", "uid": "job-1"}, "reason": "Started", "metadata": {}}
    server = Logs(pods=[train_pod(0)])
    found = await api_evidence(Client(server), job, events=[event])
    assert [one["reason"] for one in found.events] == ["Started"]
    assert "/api/v1/namespaces/vision/events" not in server.asked
    await api_evidence(Client(server), job)
    assert "/api/v1/namespaces/vision/events" in server.asked


async def test_of_a_job_with_a_launcher_the_list_of_its_nodes_is_read() -> None:
    job, launcher = load_yaml(TRAIN_JOB), train_pod(0)
    launcher["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] = "launcher"
    hosts = {
        "metadata": {"name": "bert-mpi-hostfile", "ownerReferences": [{"uid": "job-1", "controller": True}]},
        "data": {"hostfile": "bert-node-0-0.bert slots=1\nbert-launcher-0-0.bert slots=1\n"},
    }
    foreign = {**hosts, "metadata": {"name": "bert-mpi-hostfile"}}
    found = await api_evidence(Client(Logs(pods=[launcher], configmaps=[hosts])), job)
    assert Case(found, found.at).hosts == ("bert-node-0-0", "bert-launcher-0-0")
    found = await api_evidence(Client(Logs(pods=[launcher], configmaps=[foreign])), job)
    assert Case(found, found.at).hosts is None
    found = await api_evidence(Client(Logs(pods=[launcher], configmaps=None)), job)
    assert [one.what for one in found.missing if one.is_refused] == ["configmaps"]
    server = Logs(pods=[train_pod(0)])
    await api_evidence(Client(server), job)
    assert "/api/v1/namespaces/vision/configmaps" not in server.asked


class Faulty(Logs):
    """A server that does not say that one may list nodes, and fails when they are listed."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        if path.endswith("/selfsubjectrulesreviews"):
            may = {"verbs": ["list", "get"], "apiGroups": [""], "resources": ["pods", "events", "pods/log"]}
            return answer(201, {"status": {"resourceRules": [may]}})
        if path == "/api/v1/nodes":
            return answer(500, {"code": 500, "message": "etcdserver: request timed out"})
        return await super().request(method, path, params=params, headers=headers, body=body)


async def test_a_failure_of_the_server_is_not_told_as_a_lack_of_rights() -> None:
    found = await api_evidence(Client(Faulty(pods=[train_pod(0)])), load_yaml(TRAIN_JOB))
    assert [one.why for one in found.missing if one.what == "nodes"] == ["etcdserver: request timed out"]


async def test_what_processes_have_in_their_command_lines_of_a_variable_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes has put the value in for `$(HF_TOKEN)`, and the variable's own is masked before the processes are looked at."""
    pods = [train_pod(0, phase="Running")]
    pods[0]["spec"]["containers"][0] |= {"env": [{"name": "HF_TOKEN", "value": "pl4nted-v4lue"}], "args": ["--hub=$(HF_TOKEN)"]}

    async def sampled(sampler: Sampler) -> Evidence:
        process = Process(pod="bert-node-0-0", container="node", pid=1, command="python train.py --hub=pl4nted-v4lue")
        return msgspec.structs.replace(sampler._evidence, samples=(Sample(at=NOW, processes=(process,)),))

    monkeypatch.setattr(live_diagnosis, "may_hang", lambda evidence, report: True)
    monkeypatch.setattr(Sampler, "sampled", sampled)
    job = load_yaml(TRAIN_JOB)
    found = await live_diagnosis.diagnosis(Client(Logs(pods=pods)), cast("Any", object()), job, TWICE)
    (process,) = found.evidence.samples[0].processes
    assert process.command == "python train.py"
