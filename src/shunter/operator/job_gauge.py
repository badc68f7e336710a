"""How many jobs of each kind there are, by namespace and state: counted from the caches when somebody reads the metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.cache.store import Store
from shunter.operator.overview import V1_STATES, V2_STATES
from shunter.operator.trainer.status import find
from shunter.operator.training.job import JobView


class CountedKind(NamedTuple):
    """The jobs of one kind, and what tells the state of each."""

    kind: str
    jobs: Store[Any]
    state: Callable[[Any], str]


class JobGauge(Collector):
    """`shunter_jobs`."""

    def __init__(self, counted: Iterable[CountedKind]) -> None:
        self._counted = tuple(counted)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        gauge = GaugeMetricFamily("shunter_jobs", "Jobs by their state", labels=["kind", "namespace", "phase"])
        for kind, jobs, state in self._counted:
            for (namespace, phase), count in Counter((job.metadata.namespace, state(job)) for job in jobs.list()).items():
                gauge.add_metric([kind, namespace, phase], count)
        yield gauge


def v1_state(job: JobView) -> str:
    return next((state for state in V1_STATES if job.status.is_true(state)), "Created")


def v2_state(job: TrainJob) -> str:
    for type, state in V2_STATES:
        condition = find(job.status.conditions, type)
        if condition is not None and condition.is_true:
            return state
    return "Running" if any(counted.active or counted.ready for counted in job.status.jobs_status) else "Created"
