"""Which lines of a job's logs go to the page: containers, requests, the whole as a file."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.yaml import load_yaml
from shunter.kube.client import Client
from shunter.kube.transport import Response
from shunter.page import logs
from shunter.page.calls import LogQuery
from shunter.page.logs import frames, whole_log

JOB: Json = load_yaml("""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: vision, uid: "1", creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {trainer: {numNodes: 3}}
status: {conditions: [{type: Failed, status: "True", reason: Failed, message: it failed}]}
""")


def pod(index: int, restarts: int = 0) -> Json:
    metadata = {
        "name": f"bert-node-0-{index}",
        "namespace": "vision",
        "uid": f"pod-{index}",
        "creationTimestamp": "2026-01-01T00:00:01Z",
        "labels": {
            "jobset.sigs.k8s.io/jobset-name": "bert",
            "jobset.sigs.k8s.io/replicatedjob-name": "node",
            "batch.kubernetes.io/job-completion-index": str(index),
        },
    }
    status: Json = {"name": "node", "restartCount": restarts, "state": {"terminated": {"exitCode": 1}}}
    if restarts:
        status["lastState"] = {"terminated": {"exitCode": 1}}
    return {
        "metadata": metadata,
        "spec": {"containers": [{"name": "node"}]},
        "status": {"phase": "Failed", "containerStatuses": [status]},
    }


class LogServer:
    """A transport that answers with these pods and logs, by pod, with `/previous` for the run before."""

    def __init__(self, pods: list[Json], logs: dict[str, list[bytes]]) -> None:
        self._pods = pods
        self._logs = logs
        self.asked: list[tuple[str, dict[str, str]]] = []

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        assert path == "/api/v1/namespaces/vision/pods", path
        return Response(200, {}, msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": self._pods}))

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        name = path.split("/")[-2] + ("/previous" if params.get("previous") else "")
        self.asked.append((name, dict(params)))
        for chunk in self._logs[name]:
            yield chunk

    async def close(self) -> None:
        return


async def shown(server: LogServer, request: LogQuery) -> list[tuple[int | None, str]]:
    found = frames(Client(server), TRAIN_JOBS, JOB, request)
    return [(rank, text) async for frame in found for rank, _, _, text in frame.lines]


async def whole(server: LogServer, *chosen: int) -> bytes:
    return b"".join([chunk async for chunk in whole_log(Client(server), JOB, frozenset(chosen))])


async def test_only_the_chosen_ranks_are_read() -> None:
    server = LogServer([pod(0), pod(1), pod(2)], {f"bert-node-0-{index}": [b"hello %d\n" % index] for index in range(3)})
    assert await shown(server, LogQuery(frozenset({0, 2}))) == [(0, "hello 0"), (2, "hello 2")]
    assert {name for name, _ in server.asked} == {"bert-node-0-0", "bert-node-0-2"}


async def test_what_a_container_wrote_before_it_was_restarted_is_found_too() -> None:
    written = {
        "bert-node-0-0": [b"2026-01-01T00:00:05Z step 1\n"],
        "bert-node-0-0/previous": [b"2026-01-01T00:00:03Z ValueError: no data\n"],
    }
    assert await shown(LogServer([pod(0, restarts=1)], written), LogQuery(find="valueerror")) == [(0, "ValueError: no data")]


async def test_of_a_progress_bar_of_any_length_the_last_text_is_shown() -> None:
    bar = b"2026-01-01T00:00:05Z " + b"".join(b"\r\x1b[32m%6d/100000\x1b[0m [00:01<00:02]" % step for step in range(10_000))
    server = LogServer([pod(0)], {"bert-node-0-0": [bar, b"\r100000/100000 [01:00<00:00]\nValueError\n"]})
    assert await shown(server, LogQuery()) == [(0, "100000/100000 [01:00<00:00]"), (0, "ValueError")]


async def test_a_container_of_the_operator_is_read_only_if_it_failed() -> None:
    waiting = pod(0)
    own = {"name": "init-pytorch", "restartCount": 0, "state": {"running": {}}}
    waiting["status"]["initContainerStatuses"] = [own]
    server = LogServer([waiting], {"bert-node-0-0": [b"x\n"]})
    await shown(server, LogQuery())
    own["state"] = {"terminated": {"exitCode": 1}}
    await shown(server, LogQuery())
    assert [params["container"] for _, params in server.asked] == ["node", "init-pytorch", "node"]


def test_a_rank_stays_when_the_pod_of_an_initializer_goes() -> None:
    """The job as it was when reading began names no initializer yet."""
    runs, first, node = logs._Runs(JOB, frozenset()), pod(0), pod(1)
    for one, role, at in ((first, "model-initializer", "0"), (node, "node", "1")):
        one["metadata"]["labels"] |= {
            "jobset.sigs.k8s.io/replicatedjob-name": role,
            "jobset.sigs.k8s.io/job-index": "0",
            "jobset.sigs.k8s.io/job-global-index": at,
            "batch.kubernetes.io/job-completion-index": "0",
        }
        runs.put(one)
    before = [one.source.rank for one in runs.of_one(node)]
    runs.remove("pod-0")
    assert before == [one.source.rank for one in runs.of_one(node)] == [0]


async def test_without_a_wish_the_last_lines_are_read_and_with_one_all() -> None:
    server = LogServer([pod(0)], {"bert-node-0-0": [b"x\n"]})
    for request in (LogQuery(), LogQuery(find="x"), LogQuery(since=60)):
        await shown(server, request)
    limits = [{key: params.get(key) for key in ("tailLines", "sinceSeconds")} for _, params in server.asked]
    assert limits == [
        {"tailLines": "5000", "sinceSeconds": None},
        {"tailLines": None, "sinceSeconds": None},
        {"tailLines": None, "sinceSeconds": "60"},
    ]


async def test_what_is_read_once_is_never_skipped_but_waited_for() -> None:
    lines = b"".join(b"line %d of many that are to be searched\n" % number for number in range(9_000))
    server = LogServer([pod(0)], {"bert-node-0-0": [lines]})
    found = [frame async for frame in frames(Client(server), TRAIN_JOBS, JOB, LogQuery(find="LINE"))]
    assert sum(len(frame.lines) for frame in found) == 9_000
    assert not any(frame.skipped for frame in found)


@pytest.mark.parametrize(
    ("request_", "notes"),
    [
        (LogQuery(follow=True), ["Only the last 5,000 lines are shown. Download contains the whole log."]),
        (LogQuery(follow=True, since=3600), []),
        (LogQuery(follow=True, find="step"), []),
    ],
    ids=["the last lines", "since", "search"],
)
async def test_lines_written_before_a_log_is_followed_are_not_skipped(request_: LogQuery, notes: list[str]) -> None:
    """Of a rank that hung 848 of its last 5,000 lines were not sent, nor 1,774 with `since` or a search."""
    line = b"2026-01-01T00:00:05Z step %d of many, with more than one word in each line of it, as logs of trainings have them\n"
    server = LogServer([pod(0)], {"bert-node-0-0": [b"".join(line % number for number in range(5_000))]})
    found = [frame async for frame in frames(Client(server), TRAIN_JOBS, JOB, request_)]
    assert (sum(len(frame.lines) for frame in found), sum(frame.skipped for frame in found)) == (5_000, 0)
    assert [note for frame in found for note in frame.notes] == notes


async def test_of_several_logs_the_last_lines_of_each_are_shown() -> None:
    lines = b"".join(b"2026-01-01T00:00:05Z step %d\n" % number for number in range(2_500))
    server = LogServer([pod(0), pod(1)], {f"bert-node-0-{index}": [lines] for index in range(2)})
    notes = [note async for frame in frames(Client(server), TRAIN_JOBS, JOB, LogQuery(follow=True)) for note in frame.notes]
    assert {*notes} == {"Only the last 2,500 lines of each log are shown. Download contains the whole log."}


async def test_new_lines_of_a_search_are_skipped_if_they_come_too_fast() -> None:
    lines = b"".join(b"2999-01-01T00:00:05Z step %d of many, to be searched\n" % number for number in range(20_000))
    server = LogServer([pod(0)], {"bert-node-0-0": [lines]})
    found = [frame async for frame in frames(Client(server), TRAIN_JOBS, JOB, LogQuery(follow=True, find="step"))]
    assert sum(len(frame.lines) + frame.skipped for frame in found) == 20_000
    assert any(frame.skipped for frame in found)


async def test_lines_that_come_later_are_not_said_to_be_the_last() -> None:
    lines = b"".join(b"2999-01-01T00:00:05Z step %d\n" % number for number in range(5_000))
    found = frames(Client(LogServer([pod(0)], {"bert-node-0-0": [lines]})), TRAIN_JOBS, JOB, LogQuery(follow=True))
    assert not [note async for frame in found for note in frame.notes]


async def test_a_log_in_which_nothing_is_written_sends_an_empty_frame_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "BEAT_SECONDS", 0.01)
    silent = asyncio.Event()

    class SilentServer(LogServer):
        async def stream(
            self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
        ) -> AsyncGenerator[bytes]:
            await silent.wait()
            yield b"at last\n"

    found = frames(Client(SilentServer([pod(0)], {})), TRAIN_JOBS, JOB, LogQuery())
    assert (await anext(found)).lines == ()
    silent.set()
    assert [line[3] async for frame in found for line in frame.lines] == ["at last"]


async def test_a_search_in_a_busy_log_sends_an_empty_frame_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "BEAT_SECONDS", 0.2)

    class BusyServer(LogServer):
        async def stream(
            self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
        ) -> AsyncGenerator[bytes]:
            while True:
                yield b"step 1\n"
                await asyncio.sleep(0.001)

    async with aclosing(frames(Client(BusyServer([pod(0)], {})), TRAIN_JOBS, JOB, LogQuery(find="error"))) as found:
        async with asyncio.timeout(5):
            assert (await anext(found)).lines == ()
            assert (await anext(found)).lines == ()


async def test_a_line_of_100_mb_is_cut_and_never_held() -> None:
    chunk = b"x" * 65_536
    server = LogServer([pod(0)], {"bert-node-0-0": [*[chunk] * 1_600, b"\nafter\n"]})
    tracemalloc.start()
    found = await shown(server, LogQuery(frozenset({0})))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(len(text), text[-1]) for _, text in found] == [(10_000, "\u2026"), (5, "r")]
    assert peak < 8 * 1024 * 1024


async def test_the_file_holds_what_was_written_with_the_names_of_containers() -> None:
    written = {"bert-node-0-0": [b"a\nb", b"c\n", b"\x1b[31md\n"], "bert-node-0-1": [b"e\nno end"]}
    server = LogServer([pod(0), pod(1)], written)
    assert await whole(server) == b"[node-0] a\n[node-0] bc\n[node-0] \x1b[31md\n[node-1] e\n[node-1] no end\n"
    assert await whole(server, 1) == b"e\nno end\n"


async def test_of_more_than_32_containers_32_are_followed_and_it_is_said() -> None:
    pods = [pod(index) for index in range(34)]
    server = LogServer(pods, {f"bert-node-0-{index}": [b"hello\n"] for index in range(34)})
    found = [frame async for frame in frames(Client(server), TRAIN_JOBS, JOB, LogQuery(follow=True))]
    assert [note for frame in found for note in frame.notes] == ["2 containers of 34 not followed: choose at most 32 ranks."]
    assert len({name for name, _ in server.asked}) == 32
    found = [frame async for frame in frames(Client(server), TRAIN_JOBS, JOB, LogQuery())]
    assert [note for frame in found for note in frame.notes] == []
