"""A followed job: what its user may not see is told, and pods that went do not count as running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from io import StringIO

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.cli.options.log_options import LogOptions
from shunter.cli.output.display import SingleRankDisplay
from shunter.cli.output.log_printing import print_logs
from shunter.errors import InputError
from shunter.jobs.following.follower import JobFollower
from shunter.jobs.following.pipe_display import PipeDisplay
from shunter.kube.client import Client
from shunter.kube.errors import ConnectionProblem, from_answer
from shunter.kube.retry import RetryPolicy
from shunter.kube.transport import Response
from shunter.operator.overview import Overview

JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "bert", "namespace": "team", "uid": "1", "resourceVersion": "1"},
    "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}}},
}
SUCCEEDED = {**JOB, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}


POD = {
    "metadata": {
        "name": "bert-master-0",
        "namespace": "team",
        "uid": "2",
        "ownerReferences": [{"uid": "1"}],
        "labels": {"training.kubeflow.org/replica-type": "master", "training.kubeflow.org/replica-index": "0"},
    },
    "status": {"phase": "Running"},
}


class JobsOnly:
    """A server that shows the job, which ends once both refusals have been given, and nothing beside it."""

    def __init__(self) -> None:
        self._refused: set[str] = set()
        self._all_refused = asyncio.Event()

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        kind = path.rpartition("/")[2]
        if kind != "pytorchjobs":
            self._refused.add(kind)
            if self._refused >= {"pods", "events"}:
                self._all_refused.set()
            message = f'{kind} is forbidden: User "ann" cannot list resource "{kind}"'
            return answer(403, {"kind": "Status", "code": 403, "message": message, "details": {"kind": kind}})
        return answer(200, {"metadata": {"resourceVersion": "1"}, "items": [JOB]})

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if not path.endswith("/pytorchjobs"):
            raise from_answer(method, path, 403, {}, b"")
        await self._all_refused.wait()
        yield msgspec.json.encode({"type": "MODIFIED", "object": SUCCEEDED}) + b"\n"

    async def close(self) -> None:
        return


def answer(status: int, body: Json) -> Response:
    return Response(status, {}, msgspec.json.encode(body))


@pytest.mark.parametrize("of_one_rank", [False, True], ids=["run", "logs -f"])
async def test_what_may_not_be_listed_is_told_once_and_the_job_is_followed_to_its_end(
    of_one_rank: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = StringIO()
    monkeypatch.setattr("sys.stderr", told)
    display = SingleRankDisplay(PipeDisplay(), 0) if of_one_rank else PipeDisplay()
    end = await JobFollower(Client(JobsOnly()), PYTORCH_JOBS, JOB, display).run()
    assert end.job == SUCCEEDED
    for kind in ("pods", "events"):
        assert told.getvalue().count(f"not everything is shown: {kind} is forbidden") == 1


class Unstarted(JobsOnly):
    """A server whose job has a pod that waits, for an image say."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        there: dict[str, list[Json]] = {"pytorchjobs": [JOB], "pods": [{**POD, "status": {"phase": "Pending"}}]}
        return answer(200, {"metadata": {"resourceVersion": "1"}, "items": there.get(path.rpartition("/")[2], [])})


async def test_logs_of_a_job_of_which_nothing_has_started_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    told = StringIO()
    monkeypatch.setattr("sys.stderr", told)
    await print_logs(Client(Unstarted()), "bert", "team", None, follow=False, options=LogOptions())
    assert told.getvalue() == "no container of job 'bert' has started; see why: shunter describe bert\n"


class PodThatGoes:
    """A server whose job ends when its pod has run and been deleted."""

    def __init__(self) -> None:
        self.seen_gone = asyncio.Event()

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        items = [JOB] if path.endswith("/pytorchjobs") else []
        return answer(200, {"metadata": {"resourceVersion": "1"}, "items": items})

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if path.endswith("/pods"):
            for type in ("ADDED", "DELETED"):
                yield msgspec.json.encode({"type": type, "object": POD}) + b"\n"
        elif path.endswith("/pytorchjobs"):
            await self.seen_gone.wait()
            yield msgspec.json.encode({"type": "MODIFIED", "object": SUCCEEDED}) + b"\n"
        await asyncio.Event().wait()

    async def close(self) -> None:
        return


class Restarting(Unstarted):
    """A server that begins to work after these answers, and whose job has succeeded then; 0 is none."""

    def __init__(self, *codes: int) -> None:
        super().__init__()
        self.codes = [*codes]

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        if not path.endswith("/pytorchjobs"):
            return answer(200, {"metadata": {"resourceVersion": "1"}, "items": []})
        code = self.codes.pop(0) if self.codes else 200
        if code == 0:
            raise ConnectionProblem("connection refused.")
        if code != 200:
            return answer(code, {"kind": "Status", "code": code, "message": "shutting down."})
        return answer(200, {"metadata": {"resourceVersion": "1"}, "items": [SUCCEEDED if not self.codes else JOB]})

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if not path.endswith("/pytorchjobs"):
            await asyncio.Event().wait()
        yield b""


async def test_each_kind_of_silence_is_told_once_until_the_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    told = StringIO()
    monkeypatch.setattr("sys.stderr", told)
    monkeypatch.setattr("shunter.kube.watching.RETRY_SECONDS", 0.001)
    server = Restarting(503, 503, 0, 0, 503, 0, 200, 503, 503)
    client = Client(server, retry=RetryPolicy(attempts=1))
    await asyncio.wait_for(JobFollower(client, PYTORCH_JOBS, JOB, PipeDisplay()).run(), timeout=20)
    lines = [line for line in told.getvalue().splitlines() if "Trying again" in line]
    assert lines == [
        "-- shutting down. Trying again.",
        "-- connection refused. Trying again.",
        "-- shutting down. Trying again.",
    ]


class Phases(PipeDisplay):
    """Keeps what was shown of the pods, and lets the job end when it has been nothing after something."""

    def __init__(self, server: PodThatGoes) -> None:
        self.shown: list[dict[str, str]] = []
        self._server = server

    def progress(self, job: Overview, phases: dict[str, str], ranks: str) -> None:
        self.shown.append(phases)
        if phases == {} and {"master-0": "Running"} in self.shown:
            self._server.seen_gone.set()


TRAIN_JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "bert", "namespace": "team", "uid": "1", "resourceVersion": "1"},
    "spec": {"runtimeRef": {"name": "four-nodes"}},
}
JOBSET = {
    "metadata": {"name": "bert", "namespace": "team", "uid": "3", "ownerReferences": [{"uid": "1", "controller": True}]},
    "spec": {
        "replicatedJobs": [
            {"name": "dataset-initializer", "template": {"spec": {"parallelism": 1}}},
            {"name": "node", "template": {"spec": {"parallelism": 4}}},
        ]
    },
}
INITIALIZER = {
    "metadata": {
        "name": "bert-dataset-initializer-0-0-x",
        "namespace": "team",
        "uid": "2",
        "labels": {"jobset.sigs.k8s.io/jobset-name": "bert", "jobset.sigs.k8s.io/replicatedjob-name": "dataset-initializer"},
    },
    "status": {"phase": "Running"},
}


class OnFourNodes(JobsOnly):
    """A server with a TrainJob whose runtime has four nodes, and whose dataset is fetched. The job ends once this is shown."""

    def __init__(self) -> None:
        self.is_shown = asyncio.Event()

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        there: dict[str, list[Json]] = {"trainjobs": [TRAIN_JOB], "pods": [INITIALIZER], "jobsets": [JOBSET]}
        return answer(200, {"metadata": {"resourceVersion": "1"}, "items": there.get(path.rpartition("/")[2], [])})

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if path.endswith("/trainjobs"):
            await self.is_shown.wait()
            done = {**TRAIN_JOB, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
            yield msgspec.json.encode({"type": "MODIFIED", "object": done}) + b"\n"
        await asyncio.Event().wait()


class Shown(PipeDisplay):
    """Keeps how many ranks were shown as up while a pod is there."""

    def __init__(self, server: OnFourNodes) -> None:
        self.ranks: list[str] = []
        self._server = server

    def progress(self, job: Overview, phases: dict[str, str], ranks: str) -> None:
        self.ranks += [ranks] if phases else []
        if phases and ranks.endswith("/4"):
            self._server.is_shown.set()


async def test_ranks_are_counted_as_in_the_list_of_jobs() -> None:
    """The number of nodes is the runtime's, and the pod that fetches the dataset is no rank."""
    server = OnFourNodes()
    display = Shown(server)
    await asyncio.wait_for(JobFollower(Client(server), TRAIN_JOBS, TRAIN_JOB, display).run(), timeout=20)
    assert display.ranks[-1] == "0/4"


async def test_a_rank_that_only_the_runtime_of_a_job_asks_for_may_be_named() -> None:
    with pytest.raises(InputError, match="has no pod of rank 3 yet"):
        await print_logs(Client(OnFourNodes()), "bert", "team", 3, follow=False, options=LogOptions())
    with pytest.raises(InputError, match="has no rank 4: its ranks are 0 to 3"):
        await print_logs(Client(OnFourNodes()), "bert", "team", 4, follow=False, options=LogOptions())


async def test_a_pod_that_was_deleted_counts_as_running_no_more() -> None:
    server = PodThatGoes()
    display = Phases(server)
    end = await asyncio.wait_for(JobFollower(Client(server), PYTORCH_JOBS, JOB, display).run(), timeout=20)
    assert display.shown[-1] == {}
    assert [pod["metadata"]["name"] for pod in end.pods] == ["bert-master-0"]
