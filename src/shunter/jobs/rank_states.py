"""The state of each rank of a job, with or without a pod. Pure; input is plain JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from shunter.api.meta import Json, Struct
from shunter.api.rank_failures import RankFailure
from shunter.errors import InputError
from shunter.jobs.description import phase
from shunter.jobs.failure_record import failure_record, last_to_fail
from shunter.jobs.pods_up import requested_ranks
from shunter.jobs.training_pods import created_at, pods_by_rank
from shunter.operator.diagnosis import faults, unschedulable
from shunter.operator.overview import FINISHED_STATES, is_suspended, job_state, replica_fields
from shunter.operator.pod_places import Members, first_ranks, place, recorded_rank
from shunter.operator.rank_failures import fault

State = Literal["Failed", "Restarting", "Waiting", "Running", "Suspended", "Succeeded", "Gone"]
"""The worst first. Gone: the job has ended, and its pod is deleted."""
STATES: tuple[State, ...] = ("Failed", "Restarting", "Waiting", "Running", "Suspended", "Succeeded", "Gone")


class RankState(Struct, frozen=True):
    """One rank of a job."""

    rank: int
    state: State
    reason: str = ""
    """Why it does not run: `OOMKilled, exit code 137 (SIGKILL)`, `ImagePullBackOff`, `no pod`. Empty if it runs or has
    succeeded."""
    restarts: int = 0
    """Restarts of its containers, and pods of this rank before this one, as far as the job's record has them or they exist."""
    last_failure: str = ""
    """How it ended last, if it ever failed."""
    label: str = ""
    """`master-0`; empty without a pod."""
    pod: str = ""


def rank_states(job: Json, pods: Sequence[Json], jobset: Json | None = None) -> list[RankState]:
    """The state of every rank, in order: of as many as the job requests (its JobSet, if a TrainJob leaves the number to its
    runtime), and of further ones that have a pod. `pods` are the job's own."""
    by_rank = pods_by_rank(job, pods)
    first = first_ranks((rank, place(job, pod)) for rank, pod in by_rank.items())
    members = Members(job, pods)
    replaced = replaced_pods((members.of(pod).rank, pod) for pod in pods)
    states, number = RankStates(job, first, replaced), requested_ranks(job, jobset)
    count = max(1 if number is None else number, *(rank + 1 for rank in by_rank), 0)
    return [states.of(rank, by_rank.get(rank)) for rank in range(count)]


def unknown_rank(job: Json, rank: int, number: int) -> InputError:
    """The error for a rank that a job with this number of ranks does not have."""
    unknown = f"job {job['metadata']['name']!r} has no rank {rank}"
    if number:
        return InputError(f"{unknown}: its ranks are 0 to {number - 1}.")
    zero = [f"{path} is 0" for path, replicas in replica_fields(job) if replicas == 0]
    return InputError(f"{unknown}, as it has no ranks{': ' if zero else ''}{', '.join(zero)}.")


def replaced_pods(ranked: Iterable[tuple[int | None, Json]]) -> dict[int, set[str]]:
    """The uids of pods that still exist although another took their place, by rank."""
    found: dict[int, list[str]] = {}
    for rank, pod in sorted(ranked, key=lambda one: created_at(one[1])):
        if rank is not None:
            found.setdefault(rank, []).append(str(pod["metadata"].get("uid", "")))
    return {rank: {*uids[:-1]} for rank, uids in found.items() if len(uids) > 1}


class RankStates:
    """The states of the ranks of a job, one at a time: a watcher of a thousand pods needs only that of the changed one."""

    def __init__(self, job: Json, first: Mapping[str, int], replaced: Mapping[int, Collection[str]]) -> None:
        """`first` are the `first_ranks` of the job's pods, `replaced` its `replaced_pods`."""
        self._job = job
        self._replaced = replaced
        record = failure_record(job)
        self._failed: dict[int, list[RankFailure]] = {}
        self._last_failed: set[int] = set()
        last = last_to_fail(record) if job_state(job) == "Failed" else []
        for failure in record.last if record is not None else ():
            if failure.rank is not None:
                rank = recorded_rank(job, failure.pod, failure.rank, first)
                self._failed.setdefault(rank, []).append(failure)
                if any(one is failure for one in last):
                    self._last_failed.add(rank)

    def of(self, rank: int, pod: Json | None) -> RankState:
        """The state of one rank; `pod` is None if it has none."""
        failures = self._failed.get(rank, [])
        last = fault(failures[-1]).short if failures else ""
        state: State
        if pod is None:
            state, reason = ("Failed", last) if rank in self._last_failed else _without_pod(self._job)
            return RankState(rank=rank, state=state, reason=reason, restarts=len(failures), last_failure=last)
        state, reason = state_of_pod(self._job, pod)
        name, uid = pod["metadata"]["name"], pod["metadata"].get("uid")
        found = next((one.short for one in faults([pod]) if one.exit_code is not None), "")
        in_place = sum(int(status.get("restartCount", 0)) for status in _containers(pod))
        return RankState(
            rank=rank,
            state=state,
            reason=reason,
            restarts=in_place
            + sum(one.pod_uid != uid for one in failures)
            + len({*self._replaced.get(rank, ())} - {one.pod_uid for one in failures}),
            last_failure=found or last,
            label=place(self._job, pod).label,
            pod=name,
        )


def state_of_pod(job: Json, pod: Json) -> tuple[State, str]:
    """The state of one pod of the job, whether it trains or not, and why it does not run."""
    status = pod.get("status") or {}
    found = faults([pod])
    crashed = next((one.short for one in found if one.exit_code is not None and not one.runs_again), "")
    if status.get("phase") == "Succeeded":
        return "Succeeded", ""
    if status.get("phase") == "Failed":
        return "Failed", crashed or (found[0].short if found else "its pod failed")
    if pod["metadata"].get("deletionTimestamp"):
        state, _ = _without_pod(job)
        return ("Restarting" if state == "Waiting" else state), "its pod is being deleted"
    if crashed:
        return "Restarting", crashed
    if status.get("phase") == "Running" and not any("waiting" in (one.get("state") or {}) for one in _containers(pod)):
        return "Running", ""
    return "Waiting", "Unschedulable" if unschedulable(status) else phase(pod)


def worst_states(states: Sequence[RankState], cells: int) -> list[State]:
    """The states in at most so many cells (1 or more), in the order of ranks; a cell for several ranks has the worst of them."""
    count = min(len(states), cells)
    parts = (states[cell * len(states) // count : (cell + 1) * len(states) // count] for cell in range(count))
    return [min((one.state for one in part), key=STATES.index) for part in parts]


def _without_pod(job: Json) -> tuple[State, str]:
    if job_state(job) in FINISHED_STATES:
        return "Gone", "its pod is deleted"
    return ("Suspended", "the job is suspended") if is_suspended(job) else ("Waiting", "no pod")


def _containers(pod: Json) -> Iterator[Json]:
    yield from (pod.get("status") or {}).get("containerStatuses") or ()
