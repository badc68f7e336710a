"""No failure of a pod is lost, and none counts twice, in whatever order and however often its states are seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.api.core import Pod
from shunter.api.meta import Json, rfc3339
from shunter.api.rank_failures import MOST_KEPT, RankFailures
from shunter.api.resources import TRAIN_JOBS
from shunter.kube.controllers.plan import ContainerLog, Ref, StatusLogLine
from shunter.operator.program_logs.ends import exception_line
from shunter.operator.rank_failures import MOST_LOGS, NewFailure, last_lines, notes, recorded, summary, without_counted

START = datetime(2026, 11, 21, 12, tzinfo=UTC)


def at(second: int) -> str:
    return rfc3339(START + timedelta(seconds=second))


def ended(code: int, second: int = 0, **more: str) -> Json:
    return {"terminated": {"exitCode": code, "finishedAt": at(second), **more}}


def pod(
    *containers: Json,
    phase: str = "Running",
    name: str = "bert-1",
    policy: str = "Never",
    metadata: Json | None = None,
    **status: Any,
) -> Pod:
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "team-a", "uid": f"uid-of-{name}", **(metadata or {})},
            "spec": {"restartPolicy": policy},
            "status": {"phase": phase, "containerStatuses": list(containers), **status},
        },
        Pod,
    )


def container(state: Json, *, restarts: int = 0, last: Json | None = None, name: str = "node") -> Json:
    return {"name": name, "state": state, "restartCount": restarts, "lastState": last or {}}


RUNS: Json = {"running": {}}
WAITS = {"waiting": {"reason": "CrashLoopBackOff"}}
TAKEN = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "preempted by pod big-0"}


def lines(record: RankFailures | None) -> list[str]:
    return [summary(failure) for failure in record.last] if record else []


def seen(*pods: Pod, record: RankFailures | None = None) -> RankFailures | None:
    return recorded(record, pods, lambda _: 1)[0]


@pytest.mark.parametrize(
    ("observed", "wanted"),
    [
        (pod(container(RUNS)), []),
        (pod(container(ended(0)), phase="Succeeded"), []),
        (
            pod(container(ended(137, reason="OOMKilled")), phase="Failed"),
            ["rank 1, pod bert-1, container node: OOMKilled, exit code 137 (SIGKILL)"],
        ),
        (
            pod(container(ended(1, message="Traceback ...\nValueError: no data\n")), phase="Failed"),
            ["rank 1, pod bert-1, container node: Error, exit code 1: ValueError: no data"],
        ),
        (
            pod(container(ended(1, message="OSError: 401 for https://me:s3cr3t-value@host")), phase="Failed"),
            ["rank 1, pod bert-1, container node: Error, exit code 1: OSError: 401 for https://me:***@host"],
        ),
        (
            pod(container(WAITS, last=ended(1)), policy="OnFailure"),
            ["rank 1, pod bert-1, container node: Error, exit code 1"],
        ),
        (
            pod(container(RUNS, restarts=2, last=ended(1)), policy="Always"),
            ["rank 1, pod bert-1, container node: Error, exit code 1 after 1 restart"],
        ),
        (pod(container(RUNS, restarts=1, last=ended(0)), policy="Always"), []),
        (
            pod(container(ended(0)), container(ended(2), name="proxy"), phase="Failed"),
            ["rank 1, pod bert-1, container proxy: Error, exit code 2"],
        ),
        (
            pod(phase="Failed", reason="Evicted", message="The node was low on resource: memory."),
            ["rank 1, pod bert-1: Evicted: The node was low on resource: memory."],
        ),
        (
            pod(container(ended(137)), phase="Failed", reason="Evicted", message="low on memory"),
            ["rank 1, pod bert-1: Evicted: low on memory"],
        ),
        (
            pod(container(RUNS), metadata={"deletionTimestamp": at(60)}, conditions=[TAKEN]),
            ["rank 1, pod bert-1: PreemptionByScheduler: preempted by pod big-0"],
        ),
        (pod(phase="Failed"), ["rank 1, pod bert-1: Failed"]),
        (
            pod(container({"waiting": {}}), phase="Failed", initContainerStatuses=[container(ended(3), name="fetch")]),
            ["rank 1, pod bert-1, container fetch: Error, exit code 3"],
        ),
        (pod(container(ended(0)), initContainerStatuses=[container(ended(143), name="sidecar")]), []),
    ],
    ids=[
        "runs",
        "succeeded",
        "out of memory",
        "the line that says why",
        "a line with a password",
        "waits for its next start",
        "runs again",
        "was restarted after success",
        "a sidecar fails the pod",
        "evicted before it began",
        "evicted while it ran: once",
        "preempted",
        "no more is known",
        "an init container",
        "a sidecar that is stopped at the end",
    ],
)
def test_what_is_a_failure(observed: Pod, wanted: list[str]) -> None:
    record = seen(observed)
    assert lines(record) == wanted
    assert seen(observed, record=record) is record


@pytest.mark.parametrize(
    ("code", "second", "counts"),
    [(1, 9, True), (137, 9, True), (1, 10, True), (143, 10, False), (137, 11, False), (1, 11, False)],
)
def test_what_ends_because_its_pod_was_deleted_has_not_failed(code: int, second: int, counts: bool) -> None:
    """Deleted at 10 with a grace period of 30 seconds. torchrun ends with 1 when it is told to end."""
    gone = pod(
        container(ended(code, second)),
        phase="Failed",
        metadata={"deletionTimestamp": at(40), "deletionGracePeriodSeconds": 30},
    )
    assert bool(lines(seen(gone))) == counts


@pytest.mark.parametrize(
    ("code", "reason", "counts"), [(137, "Error", False), (143, "Error", False), (137, "OOMKilled", True), (1, "Error", True)]
)
def test_what_was_killed_in_a_pod_that_is_being_removed_has_not_failed(code: int, reason: str, counts: bool) -> None:
    """The kubelet's own deletion, without a grace period, moves deletionTimestamp behind the end of the containers."""
    removed = {"deletionTimestamp": at(41), "deletionGracePeriodSeconds": 0}
    gone = pod(container(ended(code, 40, reason=reason)), phase="Failed", metadata=removed)
    assert bool(lines(seen(gone))) == counts


def test_runs_that_nobody_saw_are_counted_where_only_failures_restart_them() -> None:
    record = seen(pod(container(RUNS, restarts=3, last=ended(1)), policy="OnFailure"))
    assert record is not None
    assert record.count == 3
    assert len(record.last) == 1
    again = seen(pod(container(RUNS, restarts=5, last=ended(1)), policy="OnFailure"), record=record)
    assert again is not None
    assert again.count == 5
    always = seen(pod(container(RUNS, restarts=3, last=ended(1)), policy="Always"))
    assert always is not None
    assert always.count == 1


def test_a_pod_of_the_same_name_fails_anew() -> None:
    first, second = (pod(container(ended(137)), phase="Failed", metadata={"uid": uid}) for uid in ("u1", "u2"))
    record = seen(second, record=seen(first))
    assert record is not None
    assert record.count == 2


def test_of_those_that_fail_together_the_first_is_told_with_its_log_and_no_more_than_twenty_are() -> None:
    pods = [pod(container(ended(1, 30 - number)), phase="Failed", name=f"bert-{number}") for number in range(30)]
    record, new = recorded(None, pods, lambda _: None)
    assert record is not None
    assert record.count == 30
    assert len(record.last) == MOST_KEPT
    made = notes(Ref(TRAIN_JOBS, "team-a", "bert", "u1"), new)
    assert len(made) == 20
    assert made[0].message == "pod bert-29, container node: Error, exit code 1"
    assert [note.last_words for note in made] == [ContainerLog("team-a", "bert-29", "node"), *[None] * 19]
    assert recorded(record, pods, lambda _: None) == (record, ())
    assert without_counted(pods, record) == []
    assert len(without_counted(pods, None)) == 30


def test_the_log_of_a_run_that_was_followed_by_another_is_that_of_the_run_before() -> None:
    _, new = recorded(None, [pod(container(WAITS, last=ended(1)), policy="OnFailure")], lambda _: 0)
    assert notes(Ref(TRAIN_JOBS, "team-a", "bert", "u1"), new)[0].last_words == ContainerLog(
        "team-a", "bert-1", "node", previous=True
    )


def life(name: str, policy: str, failures: int, end: str) -> list[Pod]:
    """The states of a pod in their order: it fails so often and is restarted, and then comes to its end."""
    common: Json = {"name": name, "policy": policy}
    states, last = [pod(container(RUNS), **common)], None
    for number in range(failures):
        last = ended(1, 2 * number)
        states.append(pod(container(last, restarts=number, last=ended(1, 2 * number - 2) if number else None), **common))
        states.append(pod(container(WAITS, restarts=number, last=last), **common))
        states.append(pod(container(RUNS, restarts=number + 1, last=last), **common))
    more: Json = {"restarts": failures, "last": last}
    gone: Json = {"metadata": {"deletionTimestamp": at(130), "deletionGracePeriodSeconds": 30}}
    match end:
        case "succeeds":
            states.append(pod(container(ended(0, 99), **more), phase="Succeeded", **common))
        case "fails":
            states.append(pod(container(ended(1, 99), **more), **common))
            states.append(pod(container(ended(1, 99), **more), phase="Failed", **common))
            states.append(pod(container(ended(1, 99), **more), phase="Failed", **common, **gone))
        case "is evicted":
            states.append(pod(container(RUNS, **more), phase="Failed", reason="Evicted", **common))
            states.append(pod(container(ended(137, 99), **more), phase="Failed", reason="Evicted", **common))
        case "is evicted after its end":
            states.append(pod(container(ended(137, 99), **more), **common))
            states.append(pod(container(ended(137, 99), **more), phase="Failed", reason="Evicted", **common))
        case "is deleted":
            states.append(pod(container(RUNS, **more), **common, **gone))
            states.append(pod(container(ended(143, 101), **more), phase="Failed", **common, **gone))
    return states


ENDS = {"goes on": 0, "succeeds": 0, "fails": 1, "is evicted": 1, "is evicted after its end": 1, "is deleted": 0}


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Sequence[Pod]], int]:
    """What is observed of some pods, one look after another, and how often they failed. A look may lag behind the one before,
    many states are never seen, and the last look sees the last state of each."""
    lives, failures = [], 0
    for number in range(draw(st.integers(1, 30))):
        end = draw(st.sampled_from(sorted(ENDS)))
        times = draw(st.integers(0, 3))
        policy = "OnFailure" if times else draw(st.sampled_from(["Never", "OnFailure"]))
        lives.append(life(f"bert-{number}", policy, times, end))
        failures += times + ENDS[end]
    looks = [[draw(st.sampled_from(states)) for states in lives] for _ in range(draw(st.integers(0, 4)))]
    return [*looks, [states[-1] for states in lives]], failures


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(histories())
def test_nothing_is_lost_and_nothing_counts_twice(history: tuple[list[Sequence[Pod]], int]) -> None:
    looks, failures = history
    record: RankFailures | None = None
    news: list[NewFailure] = []
    for pods in (*looks, looks[-1]):
        record, new = recorded(record, pods, lambda _: None)
        record = msgspec.json.decode(msgspec.json.encode(record), type=RankFailures | None)
        news += new
    assert (record.count if record else 0) == failures
    keys = [(one.failure.pod_uid, one.failure.container, one.failure.restart) for one in news]
    assert len(keys) == len(set(keys))
    assert not record or [one.failure for one in news][-MOST_KEPT:] == [*record.last]


JOB = Ref(TRAIN_JOBS, "team-a", "bert", "u1")


def places(*pods: Pod) -> list[tuple[int, str]]:
    """The places in the record for lines of logs, each with the pod that it is of."""
    found = last_lines(JOB, *recorded(None, pods, lambda _: None))
    assert all(one.path[:2] == ("rankFailures", "last") and one.path[3] == "message" for one in found)
    return [(int(one.path[2]), one.log.pod) for one in found]


def test_a_line_of_the_log_belongs_to_each_of_the_first_that_fail_together() -> None:
    """Of ranks that end within seconds one is the cause, and its last words tell which."""
    together = [pod(container(ended(1, 30 - number)), phase="Failed", name=f"bert-{number}") for number in range(3)]
    late = pod(container(ended(1, 39)), phase="Failed", name="bert-late")
    assert places(*together, late) == [(0, "bert-2"), (1, "bert-1"), (2, "bert-0")]
    (first, *_) = last_lines(JOB, *recorded(None, together, lambda _: None))
    assert first == StatusLogLine(
        ("rankFailures", "last", 0, "message"), ContainerLog("team-a", "bert-2", "node"), exception_line
    )


def test_no_line_is_read_of_what_says_why_itself_has_no_log_or_is_not_kept() -> None:
    assert places(pod(container(ended(1, message="no data")), phase="Failed")) == []
    assert places(pod(phase="Failed", reason="Evicted")) == []
    many = [pod(container(ended(1, number)), phase="Failed", name=f"bert-{number:02}") for number in range(30)]
    assert places(*many) == [], "the first are not among the last twenty"
    assert len(places(*many[:20])) == MOST_LOGS
