"""What failed in a TrainJob's pods goes into its status, and into events, with whatever else is written about it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from shunter.api.core import Pod
from shunter.api.meta import true_condition
from shunter.api.resources import TRAIN_JOBS
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.controllers.plan import Plan
from shunter.operator import rank_failures
from shunter.operator.pod_places import Place, Places, Ranks, is_initializer
from shunter.operator.trainer.status import COMPLETE, failures_json
from shunter.operator.trainer.views import LiveJobSet


def with_failures(job: TrainJob, jobset: LiveJobSet | None, failed_pods: Sequence[Pod], plan: Plan) -> Plan:
    """The plan with the new failures of these pods in the job's status, which is written before the pods can be deleted, and only
    to this version of the job. Of a complete job only failures before its completion count; of a job that is being deleted none
    in the second in which its pod was deleted, as torchrun ends with exit code 1 by SIGTERM."""
    if plan.status is None or not failed_pods:
        return plan
    if job.metadata.deletion_timestamp is not None:
        failed_pods = [pod for pod in failed_pods if _failed_before_deletion(pod)]
    if complete := true_condition(job.status.conditions, COMPLETE):
        failed_pods = _failed_before(complete.last_transition_time, failed_pods)
    record, new = rank_failures.recorded(job.status.rank_failures, failed_pods, _Numbering(job, jobset, failed_pods).rank)
    if not new:
        return plan
    status = msgspec.structs.replace(
        plan.status,
        desired={**plan.status.desired, **failures_json(record)},
        resource_version=job.metadata.resource_version,
        last_lines=rank_failures.last_lines(plan.status.ref, record, new),
    )
    events = (*rank_failures.notes(plan.status.ref, new), *plan.events)
    return msgspec.structs.replace(plan, status=status, events=events, is_status_first=bool(plan.writes), may_status_wait=False)


def _failed_before(ended: datetime | None, pods: Sequence[Pod]) -> list[Pod]:
    """The pods that failed in a second before this one."""
    if ended is None:
        return []
    moment = ended - timedelta(seconds=1)
    return [pod for pod in pods if rank_failures.has_failed_by(pod, moment, counts_undated=False)]


def _failed_before_deletion(pod: Pod) -> bool:
    """Whether the pod is not deleted, or failed in a second before that."""
    deleted = pod.metadata.deletion_requested
    return deleted is None or rank_failures.has_failed_by(pod, deleted, counts_undated=True)


class _Numbering:
    """The ranks of the job's pods, by the JobSet: of its pods only those that failed are known."""

    def __init__(self, job: TrainJob, jobset: LiveJobSet | None, pods: Sequence[Pod]) -> None:
        self._places = Places({"apiVersion": TRAIN_JOBS.api_version})
        groups = {one.name for one in job.status.jobs_status if is_initializer(one.name)}
        self._ranks = Ranks(groups, map(self._place, pods))
        for last in _last_places(jobset) if jobset is not None else ():
            self._ranks.add(last)

    def rank(self, pod: Pod) -> int | None:
        return self._ranks.of(self._place(pod))

    def _place(self, pod: Pod) -> Place:
        return self._places.of({"metadata": {"labels": pod.metadata.labels}})


def _last_places(jobset: LiveJobSet) -> Iterator[Place]:
    """The place of the last pod of each Job."""
    before = 0
    for group in jobset.spec.replicated_jobs:
        pods, trains = group.template.spec.parallelism or 1, not is_initializer(group.name)
        for number in range(group.replicas):
            yield Place(group.name, number + pods - 1, trains, job=before + number, pod=pods - 1, jobs_before=before)
        before += group.replicas
