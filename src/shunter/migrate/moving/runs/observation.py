"""Builds the record of a run from a job, its pods and their logs; for both generations. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import PodRequests, total
from shunter.jobs.logs.metrics import LogReport
from shunter.jobs.metrics import Point, Series, finite
from shunter.jobs.rank_states import rank_states
from shunter.jobs.training_pods import pods_by_rank, training_pods
from shunter.migrate.moving.runs import trial_labels
from shunter.migrate.moving.runs.record import Pod, Run
from shunter.operator.overview import default_replicas, is_v2, moment, overview, replica_specs
from shunter.operator.pod_places import is_initializer
from shunter.operator.training_progress import reported_metrics


def observed(job: Json, pods: Sequence[Json], logs: Mapping[str, LogReport], jobset: Json | None = None) -> Run:
    """The run of a job so far. `logs` is by pod name; `jobset` is that of a TrainJob, None if it no longer exists."""
    row = overview(job)
    ranked = training_pods(job, pods)
    planned = tuple(map(_requests, _templates(job, jobset)))
    reports = [logs[name] for pod in ranked if (name := pod["metadata"]["name"]) in logs]
    return Run(
        kind=row.kind,
        namespace=row.namespace,
        name=row.name,
        uid=row.uid,
        state=row.state,
        ran=bool(pods) or row.is_finished or has_run(job),
        message=row.message,
        changed=trial_labels.changes(job),
        seed=next((one.seed for one in reports if one.seed), ""),
        started=min((time for pod in pods if (time := moment(pod.get("status", {}).get("startTime")))), default=None),
        finished=max((time for pod in ranked for time in _ends(pod)), default=row.finished) if row.is_finished else None,
        first_step=min((one.first_step for one in reports if one.first_step), default=None),
        pods=_pods(job, pods),
        gone=max((len(planned) or row.ranks) - len(ranked), 0) if row.is_finished else 0,
        planned=planned,
        processes=tuple(process for one in reports for process in one.processes),
        series=(*(series for one in reports for series in one.series), *_reported(job)),
    )


def has_run(job: Json) -> bool:
    """Whether a job has run, by its Running condition, which v1 keeps (with status False) when it is suspended."""
    return any(condition["type"] == "Running" for condition in job.get("status", {}).get("conditions") or ())


def _templates(job: Json, jobset: Json | None) -> Iterator[Json]:
    """The template of each training pod; a TrainJob's are in its JobSet, which deletes pods that still run when the first rank
    has succeeded."""
    if is_v2(job):
        groups = jobset["spec"]["replicatedJobs"] if jobset else ()
        for group in groups:
            spec = group["template"]["spec"]
            if not is_initializer(group["name"]):
                yield from [spec.get("template") or {}] * (group.get("replicas", 1) * spec.get("parallelism", 1))
        return
    for role, replica in replica_specs(job).items():
        yield from [replica.get("template") or {}] * int(replica.get("replicas", default_replicas(job["kind"], role)))


def _pods(job: Json, pods: Sequence[Json]) -> tuple[Pod, ...]:
    """The pods that train, by rank."""
    states = {state.rank: state for state in rank_states(job, pods)}
    return tuple(
        Pod(label=states[rank].label, rank=rank, restarts=states[rank].restarts, requests=_requests(pod))
        for rank, pod in pods_by_rank(job, pods).items()
    )


def _requests(pod: Json) -> dict[str, str]:
    """The total requests of the containers of a pod or template."""
    containers = (pod.get("spec") or {}).get("containers") or []
    return total([(msgspec.convert({"containers": containers}, PodRequests), 1)])


def _ends(pod: Json) -> list[datetime]:
    states = [status.get("state", {}) for status in pod.get("status", {}).get("containerStatuses", [])]
    return [time for state in states if (time := moment(state.get("terminated", {}).get("finishedAt")))]


def _reported(job: Json) -> list[Series]:
    """The metrics in a TrainJob's status: the last values only."""
    return [
        Series(name=name, source="trainerStatus", is_counted=True, points=(Point((1.0,), finite(value)),))
        for name, value in reported_metrics(job).items()
    ]
