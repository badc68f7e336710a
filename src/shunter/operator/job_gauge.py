"""Metrics of jobs by kind, namespace and state, computed from the caches at each scrape."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from shunter.api.meta import true_condition
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.training.job import JobView
from shunter.kube.cache.store import Store
from shunter.operator.overview import V1_STATES, V2_STATES

OTHER_STATES = {*V1_STATES, *(type for type, _ in V2_STATES)} - {"Created"}
"""Types of conditions that name a state in which a job does not wait."""


class CountedKind(NamedTuple):
    """The jobs of one kind, and what tells the state of each."""

    kind: str
    jobs: Store[Any]
    state: Callable[[Any], str]


class JobGauge(Collector):
    """`shunter_jobs`, and `shunter_oldest_waiting_job_timestamp_seconds` where jobs wait: since they were
    created, or since a condition such as Suspended ended."""

    def __init__(self, counted: Iterable[CountedKind]) -> None:
        self._counted = tuple(counted)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Both metrics, the second in Unix seconds. A state or namespace without jobs has no sample."""
        jobs_by_state = GaugeMetricFamily("shunter_jobs", "Jobs by their state", labels=["kind", "namespace", "phase"])
        oldest = GaugeMetricFamily(
            "shunter_oldest_waiting_job_timestamp_seconds",
            "Since when the job that has waited longest does not run",
            labels=["kind", "namespace"],
        )
        for kind, jobs, state in self._counted:
            counts, waiting = Counter[tuple[str, str]](), dict[str, float]()
            for job in jobs.list():
                namespace, phase = job.metadata.namespace, state(job)
                counts[namespace, phase] += 1
                if phase == "Created" and (begin := waits_since(job)) is not None:
                    waiting[namespace] = min(waiting.get(namespace, math.inf), begin.timestamp())
            for (namespace, phase), count in counts.items():
                jobs_by_state.add_metric([kind, namespace, phase], count)
            for namespace, since in waiting.items():
                oldest.add_metric([kind, namespace], since)
        yield jobs_by_state
        yield oldest


def waits_since(job: JobView | TrainJob) -> datetime | None:
    """Since when a job has been in no state but Created: its creation, or the last time that it left another state."""
    left = (one.last_transition_time for one in job.status.conditions if one.type in OTHER_STATES and not one.is_true)
    return max((moment for moment in (job.metadata.creation_timestamp, *left) if moment is not None), default=None)


def v1_state(job: JobView) -> str:
    """The first of `V1_STATES` whose condition is True; Created without one."""
    return next((state for state in V1_STATES if job.status.is_true(state)), "Created")


def v2_state(job: TrainJob) -> str:
    """The state from the conditions of `V2_STATES`, else Running where `jobsStatus` counts an active or ready Job, else
    Created."""
    for type, state in V2_STATES:
        if true_condition(job.status.conditions, type):
            return state
    return "Running" if any(counted.active or counted.ready for counted in job.status.jobs_status) else "Created"
