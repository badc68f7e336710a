"""The executor: in order, in growing batches, stopping at the first refusal, and safe to be killed after any write."""

from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from fault_transport import Disconnect, FaultTransport, Killed, LoseAnswer, RecordingTransport, Refuse
from kube.peer import Peer
from shunter.api.resources import CONFIG_MAPS, PODS, SERVICES, Resource
from shunter.kube.cache.watch_events import ObjectIdentity
from shunter.kube.client import Client
from shunter.kube.controllers.executor import FIRST_BATCH, Executor, batches, concerns_user
from shunter.kube.controllers.plan import (
    Apply,
    ContainerLog,
    Create,
    Delete,
    Failure,
    Key,
    Note,
    Patch,
    Plan,
    Ref,
    StatusLogLine,
    StatusWrite,
    Write,
)

PODS_AT = "/api/v1/pods"


class Notes:
    """Stands in for the recorder, which only takes notes."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def record(self, note: Note) -> None:
        self.messages.append(note.message)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def executor(client: Client, notes: Notes) -> Executor:
    return Executor(client, notes)  # type: ignore[arg-type]


def body(name: str, resource: Resource = PODS, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, "namespace": "n"}, **fields}


def create(name: str, resource: Resource = PODS, *, failed: Note | None = None) -> Create:
    return Create(resource=resource, body=body(name, resource), failed=failed)


def note(message: str) -> Note:
    return Note(regarding=Ref(PODS, "n", "job", "u"), type="Normal", reason="R", message=message)


def status(observed: dict[str, Any], wanted: dict[str, Any], version: str = "", uid: str = "") -> StatusWrite:
    return StatusWrite(ref=Ref(PODS, "n", "a", uid), observed=observed, desired=wanted, resource_version=version)


def test_neighbours_of_one_verb_and_resource_go_in_batches_that_double() -> None:
    pods: list[Write] = [create(f"p{number}") for number in range(9)]
    services: list[Write] = [create(f"s{number}", SERVICES) for number in range(5)]
    assert [len(batch) for batch in batches([*pods, *services, *pods[:1]])] == [4, 5, 4, 1, 1]


async def test_writes_then_status_then_events(peer: Peer, executor: Executor, recorded: RecordingTransport, notes: Notes) -> None:
    await peer.put(PODS_AT, body("a"))
    plan = Plan(
        writes=(create("b"), Delete(ref=Ref(PODS, "n", "a2")), Apply(resource=CONFIG_MAPS, body=body("c"), field_manager="m")),
        status=status({}, {"phase": "Running"}),
        events=(note("done"),),
    )
    outcome = await executor.execute(plan)
    assert [(r.method, r.path.rpartition("/")[2]) for r in recorded.writes] == [
        ("POST", "pods"),
        ("DELETE", "a2"),
        ("PATCH", "c"),
        ("PATCH", "status"),
    ]
    assert outcome.failure is None
    assert notes.messages == ["done"]


@pytest.mark.parametrize(("names", "waited"), [(("a",), [3600.0]), ((), [])], ids=["a pod is made", "nothing is made"])
async def test_a_status_waits_only_for_what_is_made(executor: Executor, names: tuple[str, ...], waited: list[float]) -> None:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    await executor.execute(Plan(writes=tuple(map(create, names)), status_after=3600.0), wait)
    assert waits == waited


async def test_status_and_events_go_first_where_they_keep_what_the_writes_take_away(
    peer: Peer, executor: Executor, faults: FaultTransport, recorded: RecordingTransport, notes: Notes
) -> None:
    await peer.put(PODS_AT, body("a"))
    delete = Delete(ref=Ref(PODS, "n", "b"))
    plan = Plan(writes=(delete,), status=status({}, {"phase": "Running"}), is_status_first=True, events=(note("failed"),))
    faults.inject(Refuse(403, "Forbidden", "no"), method="DELETE", path="b", times=1)
    outcome = await executor.execute(plan)
    assert [request.method for request in recorded.writes] == ["PATCH", "DELETE"]
    assert notes.messages == ["failed"]
    assert outcome.failure == Failure(delete, 403, "Forbidden", "no")
    assert [written.key.name for written in outcome.written] == ["a"]


async def test_nothing_is_taken_away_before_the_status_could_be_written(
    peer: Peer, executor: Executor, recorded: RecordingTransport, notes: Notes
) -> None:
    await peer.put(PODS_AT, body("a"))
    refused = status({}, {"phase": "Running"}, version="0")
    plan = Plan(writes=(Delete(ref=Ref(PODS, "n", "b")),), status=refused, is_status_first=True, events=(note("failed"),))
    outcome = await executor.execute(plan)
    assert [request.method for request in recorded.writes] == ["PATCH"]
    assert notes.messages == []
    assert outcome.failure is not None
    assert outcome.failure.reason == "Conflict"


async def test_last_words_are_read_before_anything_is_written(client: Client, recorded: RecordingTransport, notes: Notes) -> None:
    """While their pod is still there. An event goes without them where they cannot be read."""
    log = ContainerLog("n", "a", "main", previous=True)
    told = Note(regarding=Ref(PODS, "n", "job", "u"), type="Warning", reason="R", message="failed", last_words=log)
    await Executor(client, notes).execute(Plan(writes=(create("b"),), events=(told,)))  # type: ignore[arg-type]
    paths = [(request.method, request.path) for request in recorded.requests]
    assert paths == [("GET", "/api/v1/namespaces/n/pods/a/log"), ("POST", "/api/v1/namespaces/n/pods")]
    assert recorded.requests[0].params == {"container": "main", "previous": "true", "tailLines": "48"}
    assert notes.messages == ["failed"]


MASKED = "ValueError: HF_TOKEN=*** is expired"


class Speaking:
    """A client that knows one log."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    async def logs(self, *_: object, **__: object) -> AsyncGenerator[bytes]:
        for chunk in self._chunks:
            yield chunk


@pytest.mark.parametrize(
    ("chunks", "wanted"),
    [
        ((b"step 7\nCUDA out", b" of memory\n"), "failed. Last log lines:\nstep 7\nCUDA out of memory"),
        ((b"\n\n",), "failed"),
        ((b"x" * 5000,), "failed. Last log lines:\n" + "x" * 500),
        ((b"1\n2\n3\n4\n5\n6\n",), "failed. Last log lines:\n2\n3\n4\n5\n6"),
        ((b"\xff\n",), "failed. Last log lines:\n\ufffd"),
        ((b"login --token s3cr3t-value refused\n",), "failed. Last log lines:\nlogin --token *** refused"),
    ],
    ids=["two lines", "nothing", "a long line", "six lines", "no text", "a credential"],
)
async def test_last_words_follow_the_message(chunks: tuple[bytes, ...], wanted: str, notes: Notes) -> None:
    told = Note(
        regarding=Ref(PODS, "n", "job", "u"),
        type="Warning",
        reason="R",
        message="failed",
        last_words=ContainerLog("n", "a", "main"),
    )
    await Executor(Speaking(*chunks), notes).execute(Plan(events=(told,)))  # type: ignore[arg-type]
    assert notes.messages == [wanted]


@pytest.mark.parametrize(
    ("chunks", "wanted"),
    [
        ((b"step 7\nCUDA out of memory\n\n",), {"last": [{"pod": "a", "message": "step 7"}, {"pod": "b"}]}),
        ((b"\n",), {"last": [{"pod": "a"}, {"pod": "b"}]}),
        ((b"x" * 300,), {"last": [{"pod": "a", "message": "x" * 256}, {"pod": "b"}]}),
        ((), {"last": [{"pod": "a"}, {"pod": "b"}]}),
        ((b"ValueError: HF_TOKEN=s3cr3t-value is expired\n",), {"last": [{"pod": "a", "message": MASKED}, {"pod": "b"}]}),
    ],
    ids=["the line that is chosen", "nothing", "a long line", "no log", "a credential"],
)
async def test_a_line_of_a_log_is_put_into_the_status(chunks: tuple[bytes, ...], wanted: dict[str, Any], notes: Notes) -> None:
    class Patched(Speaking):
        async def patch(self, resource: Resource, name: str, namespace: str, patch: Any, **_: Any) -> ObjectIdentity:
            sent.append(patch["status"])
            return ObjectIdentity()

    sent: list[Any] = []
    log = ContainerLog("n", "a", "main")
    written = msgspec.structs.replace(
        status({}, {"last": [{"pod": "a"}, {"pod": "b"}]}),
        last_lines=(StatusLogLine(("last", 0, "message"), log, lambda lines: [*lines, ""][0]),),
    )
    await Executor(Patched(*chunks), notes).execute(Plan(status=written))  # type: ignore[arg-type]
    assert sent == [wanted]


async def test_what_was_written_is_returned_for_expectations(peer: Peer, executor: Executor) -> None:
    pod = await peer.put(PODS_AT, body("a"))
    outcome = await executor.execute(Plan(writes=(create("b"), Delete(ref=Ref(PODS, "n", "a")))))
    created, deleted = outcome.written
    assert (created.key, int(created.resource_version) > 0) == (Key("n", "b"), True)
    assert (deleted.key, deleted.resource_version, deleted.uid) == (Key("n", "a"), "", pod["metadata"]["uid"])


async def test_the_first_refusal_stops_everything_after_its_batch(
    executor: Executor, faults: FaultTransport, recorded: RecordingTransport, notes: Notes
) -> None:
    faults.inject(Refuse(403, "Forbidden", "exceeded quota"), method="POST", path="pods", times=100)
    failed = note("Error creating: {error}")
    plan = Plan(
        writes=tuple(create(f"p{number}", failed=failed) for number in range(100)),
        status=status({}, {"phase": "x"}),
        events=(note("never"),),
    )
    outcome = await executor.execute(plan)
    assert outcome.failure == Failure(plan.writes[0], 403, "Forbidden", "exceeded quota")
    assert len(recorded.writes) == FIRST_BATCH
    assert notes.messages == ["Error creating: exceeded quota"]


async def test_of_a_batch_that_is_refused_one_refusal_is_told(
    executor: Executor, faults: FaultTransport, recorded: RecordingTransport, notes: Notes
) -> None:
    faults.inject(Refuse(403, "Forbidden", "exceeded quota"), method="POST", path="services", times=100)
    writes = tuple(create(f"s{number}", SERVICES, failed=note("Error creating: {error}")) for number in range(100))
    outcome = await executor.execute(Plan(writes=writes))
    assert outcome.failure == Failure(writes[0], 403, "Forbidden", "exceeded quota")
    assert len(recorded.writes) == FIRST_BATCH
    assert notes.messages == ["Error creating: exceeded quota"]


async def test_a_refusal_that_concerns_the_user_is_told_beside_one_that_does_not(
    executor: Executor, faults: FaultTransport, notes: Notes
) -> None:
    faults.inject(Refuse(409, "Conflict", "another request changed the quota"), method="POST", path="services", times=1)
    faults.inject(Refuse(403, "Forbidden", "exceeded quota"), method="POST", path="services", times=1)
    writes = tuple(create(f"s{number}", SERVICES, failed=note("Error creating: {error}")) for number in range(4))
    outcome = await executor.execute(Plan(writes=writes))
    assert outcome.failure is not None
    assert outcome.failure.reason == "Conflict"
    assert notes.messages == ["Error creating: exceeded quota"]


async def test_a_refusal_in_a_later_batch_keeps_what_was_written(
    executor: Executor, faults: FaultTransport, recorded: RecordingTransport
) -> None:
    taken = FIRST_BATCH + 1
    await executor.execute(Plan(writes=(create(f"p{taken}"),)))
    outcome = await executor.execute(Plan(writes=tuple(create(f"p{number}") for number in range(40))))
    assert outcome.failure is not None
    assert outcome.failure.reason == "AlreadyExists"
    assert [written.key.name for written in outcome.written] == [
        f"p{number}" for number in range(3 * FIRST_BATCH) if number != taken
    ]
    assert len(recorded.writes) == 1 + 3 * FIRST_BATCH


async def test_the_name_the_server_made_is_in_the_note(executor: Executor, notes: Notes) -> None:
    generated = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-", "namespace": "n"}}
    outcome = await executor.execute(Plan(writes=(Create(resource=PODS, body=generated, succeeded=note("Created {name}")),)))
    assert notes.messages == [f"Created {outcome.written[0].key.name}"]


async def test_deleting_what_is_gone_or_belongs_to_another_is_success(peer: Peer, executor: Executor) -> None:
    await peer.put(PODS_AT, body("a"))
    outcome = await executor.execute(
        Plan(writes=(Delete(ref=Ref(PODS, "n", "gone")), Delete(ref=Ref(PODS, "n", "a", "other-uid"))))
    )
    assert (outcome.failure, outcome.written) == (None, ())
    assert (PODS_AT, "n", "a") in peer.objects


async def test_patching_what_is_gone_is_success(executor: Executor) -> None:
    outcome = await executor.execute(Plan(writes=(Patch(ref=Ref(PODS, "n", "gone"), patch={"spec": {}}),)))
    assert (outcome.failure, outcome.written) == (None, ())


async def test_a_patch_meant_for_another_uid_is_a_conflict(peer: Peer, executor: Executor) -> None:
    await peer.put(PODS_AT, body("a"))
    outcome = await executor.execute(Plan(writes=(Patch(ref=Ref(PODS, "n", "a", "other"), patch={"spec": {}}),)))
    assert outcome.failure is not None
    assert outcome.failure.reason == "Conflict"
    assert not concerns_user(outcome.failure)


async def test_only_the_difference_of_a_status_is_sent(peer: Peer, client: Client, executor: Executor) -> None:
    await peer.put(PODS_AT, body("a", status={"phase": "Running", "old": {"x": 1}, "theirs": 1}))
    wanted = {"phase": "Running", "new": [1]}
    await executor.execute(Plan(status=status({"phase": "Running", "old": {"x": 1}}, wanted)))
    assert (await client.get(PODS, "a", "n"))["status"] == {**wanted, "theirs": 1}


async def test_an_equal_status_sends_nothing(executor: Executor, recorded: RecordingTransport) -> None:
    outcome = await executor.execute(Plan(status=status({"a": {}}, {"a": {}})))
    assert (outcome.failure, recorded.requests) == (None, [])


async def test_a_status_built_on_an_old_object_is_a_conflict(peer: Peer, executor: Executor) -> None:
    await peer.put(PODS_AT, body("a"))
    outcome = await executor.execute(Plan(status=status({}, {"phase": "x"}, version="1")))
    assert outcome.failure is not None
    assert outcome.failure.reason == "Conflict"


@pytest.mark.parametrize(
    ("fault", "concerns"),
    [
        (Refuse(403, "Forbidden"), True),
        (Refuse(422, "Invalid"), True),
        (Refuse(500, "InternalError"), True),
        (Refuse(409, "Conflict"), False),
        (Refuse(429), False),
        (Refuse(503), False),
        (Disconnect(), False),
        (LoseAnswer(), False),
    ],
    ids=str,
)
async def test_only_failures_that_say_something_about_the_job_are_told(
    executor: Executor, faults: FaultTransport, notes: Notes, fault: Refuse | Disconnect | LoseAnswer, concerns: bool
) -> None:
    faults.inject(fault, times=10)
    outcome = await executor.execute(Plan(writes=(create("a", failed=note("failed")),)))
    assert outcome.failure is not None
    assert concerns_user(outcome.failure) is concerns
    assert notes.messages == (["failed"] if concerns else [])


def owned(name: str, uid: str = "owner", **metadata: Any) -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": "Job", "name": "j", "uid": uid, "controller": True}
    pod = body(name)
    pod["metadata"] |= {"ownerReferences": [reference], "labels": {"job": "j"}, **metadata}
    return pod


async def test_what_was_made_although_its_answer_was_lost_is_taken_for_made(
    executor: Executor, faults: FaultTransport, notes: Notes
) -> None:
    plan = Plan(writes=(Create(resource=PODS, body=owned("a"), succeeded=note("Created {name}"), failed=note("failed")),))
    faults.inject(LoseAnswer(), method="POST")
    assert (await executor.execute(plan)).failure is not None
    outcome = await executor.execute(plan)
    assert outcome.failure is None
    assert [(written.key, bool(written.resource_version)) for written in outcome.written] == [(Key("n", "a"), True)]
    assert notes.messages == ["Created a"]


@pytest.mark.parametrize(
    "present",
    [
        pytest.param(body("a"), id="nobody's"),
        pytest.param(owned("a", uid="another"), id="another owner's"),
        pytest.param(owned("a", labels={}), id="ours without its labels"),
        pytest.param(owned("a", deletionTimestamp="2026-11-21T10:00:00Z"), id="ours on its way out"),
    ],
)
async def test_a_name_that_is_taken_otherwise_is_a_failure(
    peer: Peer, executor: Executor, notes: Notes, present: dict[str, Any]
) -> None:
    await peer.put(PODS_AT, present)
    outcome = await executor.execute(Plan(writes=(Create(resource=PODS, body=owned("a"), failed=note("failed")),)))
    assert outcome.failure is not None
    assert outcome.failure.reason == "AlreadyExists"
    assert notes.messages == ["failed"]


@pytest.mark.parametrize("writes", range(1, 9))
async def test_killed_after_any_write_it_has_done_exactly_the_writes_before(
    peer: Peer, executor: Executor, faults: FaultTransport, writes: int
) -> None:
    await peer.put(PODS_AT, body("a"))
    services = [f"s{number}" for number in range(4)]
    plan = Plan(
        writes=(create("p0"), create("p1"), create("p2"), *(create(name, SERVICES) for name in services)),
        status=status({}, {"phase": "Running"}),
    )
    faults.kill_after(writes)
    with pytest.raises(Killed):
        await executor.execute(plan)
    assert len(peer.history) == 1 + writes
