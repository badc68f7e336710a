"""The last words of a container whose pod is gone are those that the operator kept in its event."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.jobs.last_log_lines import last_log_lines
from shunter.kube.client import Client
from shunter.kube.errors import from_answer
from shunter.kube.transport import Response

JOB = {"kind": "PyTorchJob", "apiVersion": "kubeflow.org/v1", "metadata": {"name": "j", "namespace": "n", "uid": "u"}, "spec": {}}
ENDED = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T00:00:01Z"}}
POD = {
    "metadata": {"name": "j-master-0", "labels": {"training.kubeflow.org/replica-type": "master"}},
    "status": {"phase": "Failed", "containerStatuses": [{"name": "pytorch", "state": ENDED}]},
}
GONE = 'pods "j-master-0" not found'


def kept(pod: str, words: str, reason: str = "RankFailed") -> Json:
    return {"reason": reason, "message": f"pod {pod}, container pytorch: Error, exit code 1{words}"}


class WithoutPods:
    """A server that has the job's events, and its pods no more."""

    def __init__(self, events: list[Json]) -> None:
        self._events = events

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        assert params["fieldSelector"] == "involvedObject.uid=u"
        return Response(200, {}, msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": self._events}))

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if path:
            raise from_answer(method, path, 404, {}, msgspec.json.encode({"kind": "Status", "code": 404, "message": GONE}))
        yield b""

    async def close(self) -> None:
        return


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [kept("j-master-0", ". Last log lines:\nhello\nValueError: no data")], ["hello", "ValueError: no data"], id="its own"
        ),
        pytest.param([kept("j-master-01", ". Last log lines:\nnot mine")], [f"(no log: {GONE})"], id="not those of another pod"),
        pytest.param([kept("j-master-0", "")], [f"(no log: {GONE})"], id="none were kept"),
        pytest.param(
            [kept("j-master-0", ". Last log lines:\nx", "Other")], [f"(no log: {GONE})"], id="only of the operator's event"
        ),
    ],
)
async def test_last_words_of_a_pod_that_is_gone(events: list[Json], expected: list[str]) -> None:
    assert await last_log_lines(Client(WithoutPods(events)), JOB, [POD]) == {"master-0": expected}


async def test_last_words_of_a_pod_that_is_gone_are_those_that_were_followed() -> None:
    written = {("j-master-0", "pytorch"): ["hello", "error: no data"], ("j-master-0", "istio"): ["not mine"]}
    events = [kept("j-master-0", ". Last log lines:\nValueError: another")]
    assert await last_log_lines(Client(WithoutPods(events)), JOB, [POD], written) == {"master-0": ["hello", "error: no data"]}
