"""What `top` and `plot` know of a job: only what is about it, and as much of it as may be read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

import pytest

from job_evidence import event, running, v1_job, v1_pod
from jobs.test_evidence import Lists, pod
from shunter.jobs.job_view import JobViewReader
from shunter.kube import client as kube_client
from shunter.kube.client import Client
from shunter.kube.errors import from_answer

CONTAINERS = {"containers": [{"name": "pytorch"}]}


async def test_a_job_that_failed_does_not_get_the_cause_of_another() -> None:
    failed = v1_job(conditions=[{"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "j is failed."}])
    other = event("u-other", "RankFailed", "pod other-worker-0, container pytorch: Error, exit code 3", at=100)
    own = event("u-j", "RankFailed", "pod j-worker-0, container pytorch: OOMKilled, exit code 137", at=10)
    for events, sentence in (([other], "j is failed."), ([other, own], own["message"])):
        view = await JobViewReader(Client(Lists(events=events))).read(failed)
        assert view.cause is not None
        assert view.cause.sentence.endswith(sentence)


class LogsRefused(Lists):
    """A server that lists everything and gives no log."""

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if path:
            raise from_answer(method, path, 403, {}, b'{"kind": "Status", "code": 403, "message": "pods/log is forbidden"}')
        yield b""


async def test_a_refusal_of_logs_is_said_and_the_rest_is_read() -> None:
    pods = [pod(v1_pod(role, spec=CONTAINERS, **running())) for role in ("master", "worker")]
    view = await JobViewReader(Client(LogsRefused(pods=pods))).read(v1_job())
    assert view.unread_logs == "pods/log is forbidden"
    assert [one.state for one in view.states] == ["Running", "Running"]
    hidden = await JobViewReader(Client(LogsRefused(pods=None))).read(v1_job())
    assert (hidden.unread, hidden.unread_logs) == (("pods",), "pods could not be listed")


class LogsSilent(Lists):
    """A server on which the worker's node does not respond."""

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        yield b"2026-11-21T10:00:01Z step 1 loss 0.5\n"
        if "worker" in path:
            await asyncio.Event().wait()


async def test_a_log_that_does_not_come_is_named_and_the_others_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube_client, "LOG_SECONDS", 0.05)
    pods = [pod(v1_pod(role, spec=CONTAINERS, **running())) for role in ("master", "worker")]
    view = await JobViewReader(Client(LogsSilent(pods=pods))).read(v1_job())
    assert view.unread_logs == "no answer from the node of rank 1"
    assert (0, "loss") in [(series.rank, series.name) for series in view.series]
