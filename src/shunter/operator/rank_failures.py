"""What failed of a job, kept in its status (`rankFailures`) after its pods are gone: the same for both generations. Pure.

    record + pods as they are now -> record, and what is new in it

A failure is one end of one container with an exit code other than 0, restarts in place included, or the end of a pod as a whole
(evicted, preempted). It is known by the pod's UID, the container and the number of the run, so that it counts once however often,
and in whatever order, it is seen. What ends because its pod was deleted has not failed.

Not recorded: what ended while no operator ran and had gone when one came back. Runs that others followed before the operator
looked are counted where only a failure restarts them (OnFailure), without their details. Of what a program said, the status of a
pod has its termination message alone, which is the end of the log only with terminationMessagePolicy FallbackToLogsOnError. The
log itself is read of those that fail first: the line that says why is kept, and the event RankFailed of the first has its last
lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple, TypeVar

from shunter.api.core import ContainerStatus, Pod, TerminatedState
from shunter.api.meta import true_condition
from shunter.api.rank_failures import MOST_KEPT, RankFailure, RankFailures
from shunter.api.secrets.masking import masked_log
from shunter.kube.controllers.plan import ContainerLog, Note, Ref, StatusLogLine
from shunter.operator.deleted_pods import is_ended_by_deletion, is_stopped
from shunter.operator.diagnosis import RANK_FAILED, TOGETHER, Fault
from shunter.operator.program_logs.ends import exception_line

MOST_EVENTS = 20
"""How many failures of one reconcile get an event: a thousand ranks that fail together have one reason."""
MOST_LOGS = 8
"""The number of failures of one reconcile whose logs are read."""
LONGEST_MESSAGE = 256
"""Characters of a message that are kept."""

AnyPod = TypeVar("AnyPod", bound=Pod)
Marks = Mapping[str, int]
"""How many runs of each container are accounted for, by `_place`."""


class NewFailure(NamedTuple):
    """A failure that the record did not have."""

    failure: RankFailure
    has_run_since: bool
    """Whether another run of the container has begun, or is about to: its log is then that of the run before."""
    is_log_gone: bool = False
    """Whether more than one run has followed."""


class _Run(NamedTuple):
    """One run of a container that has ended."""

    number: int
    ended: TerminatedState
    is_last: bool
    """Whether no other has followed it so far, nor is waited for."""


def recorded(
    record: RankFailures | None, pods: Sequence[Pod], rank: Callable[[Pod], int | None]
) -> tuple[RankFailures | None, tuple[NewFailure, ...]]:
    """The record with what failed in these pods, and what of that is new, the first to fail first. `pods` are all pods of the job
    that are there, also several versions of one, in order; without news the record stays as it is."""
    before = record or RankFailures()
    marks = _marked(before.counted, before.last)
    found: list[NewFailure] = []
    unseen = 0
    latest = {pod.metadata.uid: pod for pod in pods}
    for pod in pods:
        if has_failure(pod):
            new, missed = _of_pod(pod, rank(pod), marks)
            last = latest[pod.metadata.uid]
            found += new if last is pod else [_with_log_of(last, one) for one in new]
            unseen += missed
            marks |= _marks_of(new)
    if not found:
        return record, ()
    found.sort(key=lambda new: _order(new.failure))
    every = (*before.last, *(new.failure for new in found))
    counted = {place: runs for place, runs in before.counted.items() if place.partition("/")[0] in latest}
    counted = _marked(counted, (failure for failure in every[:-MOST_KEPT] if failure.pod_uid in latest))
    after = RankFailures(count=before.count + len(found) + unseen, last=every[-MOST_KEPT:], counted=counted)
    return after, tuple(found)


def has_failure(pod: Pod) -> bool:
    """Whether anything in this pod may have failed; most pods are passed over by this."""
    if pod.status.phase == "Failed" or _disruption(pod) is not None:
        return True
    return any(
        ended is not None and ended.exit_code
        for one in (*pod.status.container_statuses, *pod.status.init_container_statuses)
        for ended in (one.state.terminated, one.last_state.terminated)
    )


def is_hidden(before: Pod, after: Pod | None) -> bool:
    """Whether a failure that one version of a pod shows is missing in the next, or the pod was removed."""
    return not _shown_failures(before) <= (_shown_failures(after) if after is not None else set())


def has_failed_by(pod: Pod, moment: datetime, *, counts_undated: bool) -> bool:
    """Whether something in this pod failed, and nothing after that moment, nor because the pod was asked to go. `counts_undated`
    says whether a failure without a time, as an eviction is, counts as one before."""
    asked = pod.metadata.deletion_requested
    last = moment if asked is None else min(moment, asked - timedelta(seconds=1))
    times = [new.failure.time for new in recorded(None, (pod,), lambda _: None)[1]]
    return bool(times) and all(counts_undated if time is None else time <= last for time in times)


def notes(job: Ref, new: Sequence[NewFailure]) -> tuple[Note, ...]:
    """A warning for each, the first with the last lines of its log."""
    return tuple(
        Note(
            regarding=job,
            type="Warning",
            reason=RANK_FAILED,
            message=summary(one.failure),
            last_words=_log(job, one) if number == 0 else None,
        )
        for number, one in enumerate(new[:MOST_EVENTS])
    )


def last_lines(job: Ref, record: RankFailures | None, new: Sequence[NewFailure]) -> tuple[StatusLogLine, ...]:
    """Where in the status (`rankFailures`) the lines of logs that say why belong, of the first to fail and those that failed
    about when it did: one of them is the cause of the others. Nowhere where the termination message says more, or the failure
    is not among those that are kept."""
    found = []
    for one in new[:MOST_LOGS]:
        log = _log(job, one)
        if (
            record is not None
            and log is not None
            and not one.failure.message
            and _is_near(one, new[0])
            and one.failure in record.last
        ):
            path = ("rankFailures", "last", record.last.index(one.failure), "message")
            found.append(StatusLogLine(path, log, exception_line))
    return tuple(found)


def _is_near(one: NewFailure, first: NewFailure) -> bool:
    """Whether a failure may have the first as its cause, or the other way round."""
    ended, first_ended = one.failure.time, first.failure.time
    return one is first or (ended is not None and first_ended is not None and ended - first_ended <= TOGETHER)


def _log(job: Ref, new: NewFailure) -> ContainerLog | None:
    """The log of the run that failed; none of a pod as a whole, nor where it is gone."""
    failure = new.failure
    if not failure.container or new.is_log_gone:
        return None
    return ContainerLog(job.namespace, failure.pod, failure.container, previous=new.has_run_since)


def summary(failure: RankFailure) -> str:
    """The failure in one line: `rank 1, pod bert-worker-0, container pytorch: OOMKilled, exit code 137 (SIGKILL)`."""
    rank = f"rank {failure.rank}, " if failure.rank is not None else ""
    return f"{rank}{fault(failure)}"


def fault(failure: RankFailure) -> Fault:
    """The failure in the form of one read from an existing pod."""
    return Fault(
        pod=failure.pod,
        reason=failure.reason,
        container=failure.container,
        exit_code=failure.exit_code,
        message=failure.message,
        restarts=failure.restart,
    )


def _of_pod(pod: Pod, rank: int | None, marks: Marks) -> tuple[list[NewFailure], int]:
    """What is new in one pod, and how many runs failed of which nothing more is known."""
    uid, status = pod.metadata.uid, pod.status
    whole = _whole(pod, rank)
    found: list[NewFailure] = []
    unseen, is_end_known = 0, _place(uid, "") in marks
    passes_over_ends = whole is not None or is_end_known or status.phase == "Succeeded"
    for container, is_init in _containers(pod):
        known = marks.get(_place(uid, container.name), 0)
        for run in _runs(container):
            if run.number < known:
                is_end_known = is_end_known or run.is_last
                continue
            missed, known = run.number - known, run.number + 1
            if run.ended.exit_code == 0 or is_ended_by_deletion(pod.metadata, run.ended):
                continue
            if run.is_last and (passes_over_ends or (is_init and _has_begun(pod))):
                continue
            found.append(NewFailure(_failure(pod, rank, container.name, run), not run.is_last))
            unseen += missed if pod.spec.restart_policy == "OnFailure" and not is_init else 0
    if whole is not None and not is_end_known:
        found.append(NewFailure(whole, has_run_since=False))
    return found, unseen


def _with_log_of(pod: Pod, new: NewFailure) -> NewFailure:
    """A failure from an earlier version of the pod, with where the log of that run is now."""
    for container, _ in _containers(pod):
        if container.name == new.failure.container:
            is_next_due = container.state.waiting is not None and container.last_state.terminated is not None
            since = container.restart_count + is_next_due - new.failure.restart
            return new._replace(has_run_since=since > 0, is_log_gone=since > 1)
    return new


def _runs(container: ContainerStatus) -> Iterator[_Run]:
    """The runs that have ended and whose end the status still tells, in order. A container that waits for its next start has its
    last run in lastState, and has not counted that start yet (kubelet)."""
    state, last, restarts = container.state, container.last_state.terminated, container.restart_count
    if last is not None:
        number = restarts if state.waiting is not None else restarts - 1
        if number >= 0:
            yield _Run(number, last, is_last=False)
    if state.terminated is not None:
        yield _Run(restarts, state.terminated, is_last=True)


def _containers(pod: Pod) -> Iterator[tuple[ContainerStatus, bool]]:
    """Each with whether it is an init container."""
    yield from ((one, True) for one in pod.status.init_container_statuses)
    yield from ((one, False) for one in pod.status.container_statuses)


def _has_begun(pod: Pod) -> bool:
    """Whether the containers proper have started: an init container that ends then is a sidecar, and is stopped at the end."""
    return any(one.state.waiting is None or one.last_state.terminated for one in pod.status.container_statuses)


def _whole(pod: Pod, rank: int | None) -> RankFailure | None:
    """The end of a pod that its containers did not bring about."""
    status, disruption = pod.status, _disruption(pod)
    if status.phase == "Failed" and status.reason:
        reason, message = status.reason, status.message
    elif disruption is not None:
        reason, message = disruption
    elif status.phase == "Failed" and not pod.is_leaving and not any(_runs_of(pod)):
        reason, message = "Failed", status.message
    else:
        return None
    ends = [run.ended.finished_at for run in _runs_of(pod) if run.ended.finished_at is not None]
    return RankFailure(
        rank=rank,
        pod=pod.metadata.name,
        pod_uid=pod.metadata.uid,
        reason=reason,
        message=message.strip()[:LONGEST_MESSAGE],
        time=max(ends, default=_changed(pod)),
    )


def _runs_of(pod: Pod) -> Iterator[_Run]:
    """The last run of each container that has ended."""
    return (run for container, _ in _containers(pod) for run in _runs(container) if run.is_last)


def _disruption(pod: Pod) -> tuple[str, str] | None:
    """Why a pod goes, or went, that is evicted, preempted or on a lost node."""
    if pod.status.phase == "Succeeded" or not (pod.is_leaving or pod.status.phase == "Failed"):
        return None
    condition = true_condition(pod.status.conditions, "DisruptionTarget")
    return (condition.reason or "Disrupted", condition.message) if condition else None


def _changed(pod: Pod) -> datetime | None:
    """When a condition of the pod changed last."""
    moments = [one.last_transition_time for one in pod.status.conditions if one.last_transition_time is not None]
    return max(moments, default=pod.status.start_time)


def _failure(pod: Pod, rank: int | None, container: str, run: _Run) -> RankFailure:
    return RankFailure(
        rank=rank,
        pod=pod.metadata.name,
        pod_uid=pod.metadata.uid,
        container=container,
        restart=run.number,
        reason=run.ended.reason or "Error",
        exit_code=run.ended.exit_code,
        message=_message(run.ended.message),
        time=run.ended.finished_at,
    )


@lru_cache(maxsize=1024)
def _message(text: str) -> str:
    """What is kept of a termination message, without credentials: up to 4 KiB of a log, looked at again in each reconcile."""
    return exception_line(masked_log(text, ()).splitlines())[:LONGEST_MESSAGE]


def _marked(counted: Mapping[str, int], failures: Iterable[RankFailure]) -> dict[str, int]:
    """How many runs of each place are counted, with those that the failures are of."""
    marks = dict(counted)
    for failure in failures:
        place = _place(failure.pod_uid, failure.container)
        marks[place] = max(marks.get(place, 0), failure.restart + 1)
    return marks


def _marks_of(new: Iterable[NewFailure]) -> dict[str, int]:
    """The marks of what is found in one pod, where runs come in order."""
    return {_place(one.failure.pod_uid, one.failure.container): one.failure.restart + 1 for one in new}


def _shown_failures(pod: Pod) -> set[tuple[str, int]]:
    """The failures that a pod shows, by container and run."""
    new = recorded(None, (pod,), lambda _: None)[1]
    return {(one.failure.container, one.failure.restart) for one in new}


def _place(uid: str, container: str) -> str:
    return f"{uid}/{container}"


def _order(failure: RankFailure) -> tuple[float, bool, str, str, int]:
    """In the second of a failure what was stopped is its victim."""
    ended = failure.time.timestamp() if failure.time else float("inf")
    return ended, is_stopped(failure.exit_code, failure.reason), failure.pod, failure.container, failure.restart


def without_counted(pods: Iterable[AnyPod], record: RankFailures | None) -> list[AnyPod]:
    """The pods with failures that are not in the record."""
    return [pod for pod in pods if recorded(record, (pod,), lambda _: None)[1]]
