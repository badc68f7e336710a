"""The cells of the rank strip. Pure.

Usually one of a thousand ranks changes at a time. `kept_pod` is called once per change of a pod, and `RankRows` works out only
pods that have changed (compared by identity), or all of them if the job has changed in what its ranks show. A row that is the
same object as before is neither compared nor sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import gpus_of
from shunter.doctor.rank_locations import NPROC_VARIABLE
from shunter.jobs.differing_ranks import Difference, Pace
from shunter.jobs.logs.visible_text import visible
from shunter.jobs.pods_up import PodUp, pod_up, up_of
from shunter.jobs.rank_states import RankState, RankStates, replaced_pods, state_of_pod
from shunter.jobs.training_pods import created_at, training_container
from shunter.operator.overview import is_pod_of, is_suspended, job_state, replica_specs
from shunter.operator.pod_places import Place, Places, Ranks, first_ranks, place
from shunter.page.job_readings import Usage
from shunter.page.wire import Rank

_CONTAINER_FIELDS = ("name", "command", "args", "resources")
_SPEC_FIELDS = ("nodeName", "schedulerName", "schedulingGroup", "schedulingGates", "terminationGracePeriodSeconds", "volumes")
_METADATA_FIELDS = ("name", "namespace", "uid", "labels", "ownerReferences", "creationTimestamp", "deletionTimestamp")
MOST_SHARED = 1000
"""After so many shared parts of pods all are dropped: a job whose pods have nothing in common must not fill the memory."""


class KeptPod(NamedTuple):
    """What is kept of a pod."""

    object: Json
    """The fields that rank, state, cause and verdicts are read from. Parts that several pods have in common are shared."""
    memory_limit: int | None
    gpus: int


def kept_pod(pod: Json, shared: dict[bytes, Any] | None = None) -> KeptPod:
    """For `Watch.keep`. `shared` holds the parts that pods have in common, by their JSON; new ones are added."""
    container = next(one for one in pod["spec"]["containers"] if one["name"] == training_container(pod))
    limit = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    slim = _slim(pod, {} if shared is None else shared)
    return KeptPod(slim, int(parse(limit)) if limit is not None else None, gpus_of(pod["spec"]))


def pods_of_rows(kept: Iterable[KeptPod]) -> list[Json]:
    """The pods, with the fields that were kept."""
    return [one.object for one in kept]


class PodState(NamedTuple):
    """What was worked out about a pod."""

    kept: KeptPod
    is_own: bool
    """It belongs to the job that is shown, not to an earlier one of the same name."""
    place: Place
    up: PodUp


class RankRows:
    """The rows of the ranks of one job. Remembers what it worked out until the pod or the job changes."""

    def __init__(self) -> None:
        self.states: list[RankState] = []
        """Of all ranks, in order, as of the last `project`."""
        self._forget(None)

    def _forget(self, context: Any) -> None:
        self._context = context
        self._pods: dict[str, PodState] = {}
        self._own: list[str] = []
        self._uid_of: dict[int, str] = {}
        self._first: dict[str, int] = {}
        self._replaced: dict[int, set[str]] = {}
        self._others: list[str] = []
        self._initializers: frozenset[str] = frozenset()
        self._projected: dict[str, tuple[PodState, RankState | None, Rank]] = {}
        self._missing: dict[int, tuple[RankState, Rank]] = {}
        self._measured: dict[str, tuple[Any, Rank]] = {}

    def project(self, job: Json, kept: Mapping[str, KeptPod], wanted: int) -> list[Rank]:
        """A row for each rank that the job requests, for each pod of a higher rank, and, last, for pods that do not train."""
        self._update(job, kept)
        rule = RankStates(job, self._first, self._replaced)
        rows, states = list[Rank](), list[RankState]()
        projected = dict[str, tuple[PodState, RankState | None, Rank]]()
        for rank in range(max([wanted, *(number + 1 for number in self._uid_of)])):
            state: RankState | None
            if uid := self._uid_of.get(rank):
                _, state, row = projected[uid] = self._row(job, rule, uid, rank)
            else:
                if rank not in self._missing:
                    self._missing[rank] = _without_pod(rule.of(rank, None))
                state, row = self._missing[rank]
            rows.append(row)
            if state is not None:
                states.append(state)
        for uid in self._others:
            projected[uid] = self._row(job, rule, uid, None)
            rows.append(projected[uid][2])
        self._projected, self.states = projected, states
        return rows

    def up(self, job: Json) -> int | None:
        """How many ranks are up, as of the last `project`."""
        return up_of(job, [self._pods[uid].up for uid in self._own])

    def lowest(self, job: Json, kept: Mapping[str, KeptPod], most: int) -> dict[int, Json]:
        """The pods of the lowest ranks that have one, by rank, with the fields that were kept."""
        self._update(job, kept)
        return {rank: kept[self._uid_of[rank]].object for rank in sorted(self._uid_of)[:most]}

    def measured(
        self, rows: Sequence[Rank], paces: Mapping[int, Pace], used: Mapping[str, Usage], differing: Sequence[Difference]
    ) -> list[Rank]:
        """The rows with steps, usage (`used`, by the uid of the pod), and how a rank differs from the others."""
        texts = {one.rank: visible(one.text) for one in differing}
        measured, found = dict[str, tuple[Any, Rank]](), list[Rank]()
        for row in rows:
            rank = row.rank if row.rank is not None else -1
            pace, usage, differs = paces.get(rank), used.get(row.id), texts.get(rank, "")
            if pace is None and usage is None and not differs:
                found.append(row)
                continue
            key, before = (row, pace, usage, differs), self._measured.get(row.id)
            if before is None or before[0] != key:
                before = key, _with_measures(row, pace, usage, differs)
            measured[row.id] = before
            found.append(before[1])
        self._measured = measured
        return found

    def _update(self, job: Json, kept: Mapping[str, KeptPod]) -> None:
        """Works out pods that have changed, and all ranks again if a pod was added, removed or changed its place."""
        context = _context(job)
        if context != self._context:
            self._forget(context)
        places = Places(job)
        pods, is_moved = dict[str, PodState](), len(kept) != len(self._pods) or places.initializers != self._initializers
        for uid, one in kept.items():
            before = self._pods.get(uid)
            if before is None or before.kept is not one:
                pod = one.object
                now = PodState(one, is_pod_of(job, pod), places.of(pod), pod_up(places, pod))
                is_moved = is_moved or before is None or _standing(before) != _standing(now)
                before = now
            pods[uid] = before
        self._pods, self._initializers = pods, places.initializers
        if is_moved:
            own = {uid: one for uid, one in pods.items() if one.is_own}
            self._own = [*own]
            ranks = Ranks(places.initializers, (one.place for one in own.values()))
            uids = sorted(own, key=lambda uid: created_at(own[uid].kept.object))
            self._uid_of = {rank: uid for uid in uids if (rank := ranks.of(own[uid].place)) is not None}
            self._others = [uid for uid, one in own.items() if not one.place.trains]
            first = first_ranks((rank, own[uid].place) for rank, uid in self._uid_of.items())
            replaced = replaced_pods((ranks.of(one.place), one.kept.object) for one in own.values())
            if (first, replaced) != (self._first, self._replaced):
                self._first, self._replaced, self._projected, self._missing = first, replaced, {}, {}

    def _row(self, job: Json, rule: RankStates, uid: str, rank: int | None) -> tuple[PodState, RankState | None, Rank]:
        """The row of a pod; the same as before if neither the pod nor its rank has changed."""
        pod, before = self._pods[uid], self._projected.get(uid)
        if before is not None and before[0] is pod and before[2].rank == rank:
            return before
        return pod, *_projected(job, rule, rank, pod.kept)


def _standing(pod: PodState) -> tuple[bool, Place, str]:
    """What the ranks of all pods depend on."""
    return pod.is_own, pod.place, created_at(pod.kept.object)


def _with_measures(row: Rank, pace: Pace | None, used: Usage | None, differs: str) -> Rank:
    return msgspec.structs.replace(
        row,
        step=int(pace.step) if pace is not None and pace.step is not None else None,
        step_seconds=pace.seconds_a_step if pace is not None else None,
        reported=(pace.last or 0) if pace is not None else 0,
        cpu=used.cpu if used is not None else None,
        memory=used.memory if used is not None else None,
        differs=differs,
    )


def _projected(job: Json, rule: RankStates, rank: int | None, kept: KeptPod) -> tuple[RankState | None, Rank]:
    pod = kept.object
    if rank is None:
        state, reason = state_of_pod(job, pod)
        restarts = sum(int(one.get("restartCount", 0)) for one in (pod.get("status") or {}).get("containerStatuses") or ())
        found = None
        shown = RankState(0, state, reason, restarts, "", place(job, pod).label, pod["metadata"]["name"])
    else:
        shown = found = rule.of(rank, pod)
    row = Rank(
        id=pod["metadata"]["uid"],
        rank=rank,
        label=shown.label,
        pod=shown.pod,
        node=pod["spec"].get("nodeName", ""),
        state=shown.state,
        reason=visible(shown.reason),
        restarts=shown.restarts,
        memory_limit=kept.memory_limit,
        gpus=kept.gpus,
    )
    return found, row


def _without_pod(state: RankState) -> tuple[RankState, Rank]:
    row = Rank(
        id=f"rank-{state.rank}",
        rank=state.rank,
        label=f"rank-{state.rank}",
        state=state.state,
        reason=visible(state.reason),
        restarts=state.restarts,
    )
    return state, row


def _context(job: Json) -> Any:
    """The parts of the job that its ranks show; when they change, all ranks are worked out again."""
    return (
        job["metadata"]["uid"],
        job_state(job),
        is_suspended(job),
        (job.get("status") or {}).get("rankFailures"),
        {role: spec.get("replicas") for role, spec in replica_specs(job).items()},
    )


def _slim(pod: Json, shared: dict[bytes, Any]) -> Json:
    """The pod with the fields of `KeptPod.object`."""

    def common(value: Any) -> Any:
        return shared.setdefault(msgspec.json.encode(value), value)

    if len(shared) > MOST_SHARED:
        shared.clear()
    metadata, spec = pod["metadata"], pod["spec"]
    slim = {field: spec[field] for field in _SPEC_FIELDS if field in spec}
    for field in ("containers", "initContainers"):
        if field in spec:
            slim[field] = common([_container(one) for one in spec[field]])
    found = {field: metadata[field] for field in _METADATA_FIELDS if field in metadata}
    if "ownerReferences" in found:
        found["ownerReferences"] = common(found["ownerReferences"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": found, "spec": slim, "status": pod.get("status") or {}}


def _container(container: Json) -> Json:
    """Variables without their values, which are not needed and may be credentials, but for that which says how many ranks a pod
    has."""
    slim = {field: container[field] for field in _CONTAINER_FIELDS if field in container}
    kept = ({field: one[field] for field in _variable_fields(one) if field in one} for one in container.get("env") or ())
    return {**slim, "env": [*kept]}


def _variable_fields(variable: Json) -> tuple[str, ...]:
    return ("name", "value") if variable.get("name") == NPROC_VARIABLE else ("name",)
