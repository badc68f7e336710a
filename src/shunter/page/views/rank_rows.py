"""The cells of the rank strip. Pure.

What to know before changing it: of a thousand ranks one changes at a time. `kept_pod` is called once for a change of a pod, and
`RankRows` projects only the pods that changed, unless the job itself changed in what its ranks show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.pod_requests import gpus_of
from shunter.api.quantity import parse
from shunter.jobs.differing_ranks import Difference, Pace
from shunter.jobs.logs.visible_text import visible
from shunter.jobs.rank_states import RankState, RankStates, state_of_pod
from shunter.jobs.training_pods import ranks, training_container, training_pods
from shunter.operator.overview import is_pod_of, is_suspended, job_state, member, replica_specs
from shunter.page.job_readings import Usage
from shunter.page.wire import Rank

_CONTAINER_FIELDS = ("name", "command", "args", "resources")
_SPEC_FIELDS = ("nodeName", "schedulerName", "schedulingGroup", "schedulingGates", "terminationGracePeriodSeconds", "volumes")
_METADATA_FIELDS = ("name", "namespace", "uid", "labels", "ownerReferences", "creationTimestamp", "deletionTimestamp")


class KeptPod(NamedTuple):
    """What stays of a pod."""

    place: Json
    """What says whose and which it is, and whether it is up."""
    object: bytes
    """What its state and its cause are read from, as JSON."""
    memory_limit: int | None
    gpus: int


def kept_pod(pod: Json) -> KeptPod:
    """For `Watch.keep`."""
    container = next(one for one in pod["spec"]["containers"] if one["name"] == training_container(pod))
    limit = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    slim = _slim(pod)
    containers = [{"state": dict.fromkeys(one.get("state") or ())} for one in slim["status"].get("containerStatuses") or ()]
    place = {
        "metadata": slim["metadata"],
        "spec": {"containers": [{"name": pod["spec"]["containers"][0]["name"]}]},
        "status": {"phase": slim["status"].get("phase"), "containerStatuses": containers},
    }
    return KeptPod(place, msgspec.json.encode(slim), int(parse(limit)) if limit is not None else None, gpus_of(pod["spec"]))


def pods_of_rows(kept: Mapping[str, KeptPod]) -> list[Json]:
    """The pods, as far as they were kept."""
    return [msgspec.json.decode(one.object) for one in kept.values()]


class RankRows:
    """The ranks of one job. Remembers the rows of pods that have not changed."""

    def __init__(self) -> None:
        self._context: Any = None
        self._uids: tuple[str, ...] = ()
        self._rank_of: dict[str, int | None] = {}
        self._projected: dict[str, tuple[KeptPod, RankState | None, Rank]] = {}
        self.states: list[RankState] = []
        """Of all ranks, in order, as they were last projected."""

    def project(self, job: Json, kept: Mapping[str, KeptPod], wanted: int) -> list[Rank]:
        """A row for each rank that the job wants, for each pod beyond, and for pods that do not train, which come last."""
        context = _context(job)
        is_other = context != self._context
        own = {uid: one for uid, one in kept.items() if is_pod_of(job, one.place)}
        if is_other or self._uids != tuple(own):
            self._place(job, own)
        if is_other:
            self._projected.clear()
        self._context = context
        rule = RankStates(job)
        projected, by_rank, others = dict[str, tuple[KeptPod, RankState | None, Rank]](), dict[int, str](), list[Rank]()
        for uid, one in own.items():
            if uid not in self._rank_of:
                continue
            rank = self._rank_of[uid]
            before = self._projected.get(uid)
            projected[uid] = before if before is not None and before[0] is one else _projected(job, rule, uid, rank, one)
            if rank is None:
                others.append(projected[uid][2])
            else:
                by_rank[rank] = uid
        self._projected = projected
        rows, self.states = list[Rank](), list[RankState]()
        for rank in range(max(wanted, *(number + 1 for number in by_rank), 0)):
            uid = by_rank.get(rank, "")
            state, row = projected[uid][1:] if uid else _without_pod(rule.of(rank, None))
            rows.append(row)
            if state is not None:
                self.states.append(state)
        return [*rows, *others]

    def _place(self, job: Json, own: Mapping[str, KeptPod]) -> None:
        """Which pod has which rank; pods of former tries have none, and are left out."""
        places = [one.place for one in own.values()]
        ranked = training_pods(job, places)
        numbers = zip(ranked, ranks(job, ranked), strict=True)
        self._rank_of = {pod["metadata"]["uid"]: rank for pod, rank in numbers}
        self._rank_of |= {place["metadata"]["uid"]: None for place in places if member(job, place).rank is None}
        self._uids = tuple(own)


def with_measures(
    rows: Sequence[Rank], paces: Mapping[int, Pace], used: Mapping[str, Usage], differing: Sequence[Difference]
) -> list[Rank]:
    """The rows with steps, usage by the name of the pod, and in what a rank differs."""
    texts = {one.rank: visible(one.text) for one in differing}
    return [_with_measures(row, paces.get(row.rank) if row.rank is not None else None, used.get(row.pod), texts) for row in rows]


def _with_measures(row: Rank, pace: Pace | None, used: Usage | None, texts: Mapping[int, str]) -> Rank:
    differs = texts.get(row.rank, "") if row.rank is not None else ""
    if pace is None and used is None and not differs:
        return row
    return msgspec.structs.replace(
        row,
        step=int(pace.step) if pace is not None and pace.step is not None else None,
        step_seconds=pace.seconds_a_step if pace is not None else None,
        reported=(pace.last or 0) if pace is not None else 0,
        cpu=used.cpu if used is not None else None,
        memory=used.memory if used is not None else None,
        differs=differs,
    )


def _projected(job: Json, rule: RankStates, uid: str, rank: int | None, kept: KeptPod) -> tuple[KeptPod, RankState | None, Rank]:
    pod = msgspec.json.decode(kept.object)
    if rank is None:
        state, reason = state_of_pod(job, pod)
        restarts = sum(int(one.get("restartCount", 0)) for one in (pod.get("status") or {}).get("containerStatuses") or ())
        found = None
        shown = RankState(0, state, reason, restarts, "", member(job, pod).label, pod["metadata"]["name"])
    else:
        shown = found = rule.of(rank, pod)
    row = Rank(
        id=uid,
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
    return kept, found, row


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
    """What of the job its ranks show; when it changes all of them are projected again."""
    return (
        job["metadata"]["uid"],
        job_state(job),
        is_suspended(job),
        (job.get("status") or {}).get("rankFailures"),
        {role: spec.get("replicas") for role, spec in replica_specs(job).items()},
    )


def _slim(pod: Json) -> Json:
    """What states, causes and verdicts are read from."""
    metadata, spec = pod["metadata"], pod["spec"]
    slim = {field: spec[field] for field in _SPEC_FIELDS if field in spec}
    for field in ("containers", "initContainers"):
        if field in spec:
            slim[field] = [_container(one) for one in spec[field]]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {field: metadata[field] for field in _METADATA_FIELDS if field in metadata},
        "spec": slim,
        "status": pod.get("status") or {},
    }


def _container(container: Json) -> Json:
    """Variables without their values: they may hold credentials, and are not needed."""
    slim = {field: container[field] for field in _CONTAINER_FIELDS if field in container}
    return {**slim, "env": [{"name": one.get("name", "")} for one in container.get("env") or ()]}
