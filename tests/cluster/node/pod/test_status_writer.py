"""The newest status reaches the server, whenever it comes."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json, ObjectMeta
from shunter.cluster.node.pod.assigned_pod import AssignedPod
from shunter.cluster.node.pod.status_writer import StatusWriter, status_patch
from shunter.kube.client import Client
from shunter.kube.transport import Response


class WritingAgain:
    """A transport that has the next status written while it answers the last."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.then: list[Any] = []

    async def request(self, method: str, path: str, *, params: Any = (), headers: Any = (), body: bytes = b"") -> Response:
        self.bodies.append(body)
        if self.then:
            asyncio.get_running_loop().call_soon(self.then.pop(0))
        return Response(200, {}, b"{}")

    async def close(self) -> None:
        return


async def test_a_status_that_comes_while_the_writer_ends_is_not_lost() -> None:
    pod = AssignedPod(metadata=ObjectMeta(name="p", namespace="n", uid="u"), spec={}, status={})
    transport = WritingAgain()
    writer = StatusWriter(Client(transport))  # type: ignore[arg-type]
    last: Json = {"phase": "Succeeded"}
    transport.then.append(lambda: writer.write(pod, last))
    writer.write(pod, {"phase": "Running"})
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await writer.flush("u")
    assert [b"Running" in transport.bodies[0], b"Succeeded" in transport.bodies[-1]] == [True, True]


class Refusing:
    """A transport that refuses once."""

    def __init__(self, code: int) -> None:
        self.answers = [Response(code, {}, b'{"message": "not now"}'), Response(200, {}, b"{}")]
        self.bodies: list[bytes] = []

    async def request(self, method: str, path: str, *, params: Any = (), headers: Any = (), body: bytes = b"") -> Response:
        self.bodies.append(body)
        return self.answers.pop(0)

    async def close(self) -> None:
        return


@pytest.mark.parametrize("code", [401, 403, 422, 500])
async def test_a_status_that_is_refused_is_written_again(code: int) -> None:
    pod = AssignedPod(metadata=ObjectMeta(name="p", namespace="n", uid="u"), spec={}, status={})
    transport = Refusing(code)
    writer = StatusWriter(Client(transport))  # type: ignore[arg-type]
    writer.write(pod, {"phase": "Succeeded"})
    await writer.flush("u")
    assert [b"Succeeded" in body for body in transport.bodies] == [True, True]


@pytest.mark.parametrize(("owner", "writes"), [("u", 2), ("another", 1)], ids=["many writers", "another pod"])
async def test_a_conflict_is_the_end_only_where_the_name_belongs_to_another(owner: str, writes: int) -> None:
    pod = AssignedPod(metadata=ObjectMeta(name="p", namespace="n", uid="u"), spec={}, status={})
    transport = Refusing(409)
    transport.answers.insert(1, Response(200, {}, b'{"metadata": {"uid": "%s"}}' % owner.encode()))
    writer = StatusWriter(Client(transport))  # type: ignore[arg-type]
    writer.write(pod, {"phase": "Succeeded"})
    await writer.flush("u")
    assert sum(b"Succeeded" in body for body in transport.bodies) == writes


READY = {"type": "Ready", "status": "True", "lastTransitionTime": "t1"}
UNREADY = {"type": "Ready", "status": "False", "reason": "Waiting", "lastTransitionTime": "t0"}
EVICTED = {"type": "DisruptionTarget", "status": "True"}


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        pytest.param({"phase": "Running"}, {"phase": "Running"}, {}, id="nothing-new"),
        pytest.param({"phase": "Pending"}, {"phase": "Running"}, {"phase": "Running"}, id="a-field"),
        pytest.param(
            {"conditions": [UNREADY, EVICTED]},
            {"conditions": [READY]},
            {"conditions": [{**READY, "reason": None}]},
            id="a-condition-loses-its-reason-and-others-are-left-alone",
        ),
        pytest.param(
            {"conditions": [READY]}, {"conditions": [READY, EVICTED]}, {}, id="conditions-of-others-are-not-ours-to-write"
        ),
        pytest.param({}, {"podIPs": [{"ip": "a"}]}, {"podIPs": [{"ip": "a"}]}, id="the-first-address"),
        pytest.param(
            {"podIPs": [{"ip": "a"}]},
            {"podIPs": [{"ip": "b"}]},
            {"podIPs": [{"ip": "b"}, {"$patch": "replace"}]},
            id="another-address-instead",
        ),
    ],
)
def test_only_what_is_ours_and_new_is_written(before: Json, after: Json, patch: Json) -> None:
    assert status_patch(before, after) == patch


def pod_at(version: int, status: Json) -> AssignedPod:
    return AssignedPod(
        metadata=ObjectMeta(name="p", namespace="n", uid="u", resource_version=str(version)), spec={}, status=status
    )


class Answering:
    """A transport that answers every write with the same pod."""

    def __init__(self, answer: Json) -> None:
        self.answer = answer
        self.bodies: list[Json] = []

    async def request(self, method: str, path: str, *, params: Any = (), headers: Any = (), body: bytes = b"") -> Response:
        self.bodies.append(msgspec.json.decode(body))
        answer, self.answer = self.answer, {**self.answer, "status": {"conditions": [READY]}}
        return Response(200, {}, msgspec.json.encode(answer))


async def written_ready(answer_status: Json) -> tuple[StatusWriter, Answering]:
    transport = Answering({"metadata": {"resourceVersion": "5"}, "status": answer_status})
    writer = StatusWriter(Client(transport))  # type: ignore[arg-type]
    writer.write(pod_at(4, {}), {"conditions": [READY]})
    await writer.flush("u")
    return writer, transport


@pytest.mark.parametrize(
    ("version", "conditions", "overruled"),
    [
        pytest.param(6, [UNREADY], True, id="changed-since"),
        pytest.param(6, [READY, EVICTED], False, id="only-others-changed"),
        pytest.param(5, [READY], False, id="our-own-write-coming-back"),
        pytest.param(4, [UNREADY], False, id="from-before-our-write"),
    ],
)
async def test_a_condition_that_another_has_changed_is_noticed(version: int, conditions: list[Json], overruled: bool) -> None:
    writer, transport = await written_ready({"conditions": [READY]})
    changed = pod_at(version, {"conditions": conditions})
    assert writer.was_overruled(changed) is overruled
    writer.write(changed, {"conditions": [READY]})
    await writer.flush("u")
    assert len(transport.bodies) == (2 if overruled else 1)


async def test_a_condition_that_another_changes_meanwhile_is_written_again() -> None:
    _, transport = await written_ready({"conditions": [UNREADY]})
    assert [body["status"]["conditions"][0]["status"] for body in transport.bodies] == ["True", "True"]
