"""What failed in a TrainJob's pods goes into its status, and into events, with whatever else is written about it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from shunter.api.core import Pod
from shunter.api.meta import true_condition
from shunter.api.resources import TRAIN_JOBS
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.controllers.plan import Plan
from shunter.operator import rank_failures
from shunter.operator.overview import member
from shunter.operator.trainer.status import COMPLETE, failures_json


def with_failures(job: TrainJob, failed_pods: Sequence[Pod], plan: Plan) -> Plan:
    """The plan with the new failures of these pods in the job's status, which is written before the pods can be deleted, and only
    to this version of the job. Of a complete job only failures before its completion count."""
    if plan.status is None:
        return plan
    if complete := true_condition(job.status.conditions, COMPLETE):
        failed_pods = _failed_before(complete.last_transition_time, failed_pods)
    record, new = rank_failures.recorded(job.status.rank_failures, failed_pods, _rank)
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
    """Those that failed in a second before this one."""
    if ended is None:
        return []
    moment = ended - timedelta(seconds=1)
    return [pod for pod in pods if rank_failures.has_failed_by(pod, moment, counts_undated=False)]


def _rank(pod: Pod) -> int | None:
    return member({"apiVersion": TRAIN_JOBS.api_version}, {"metadata": {"labels": pod.metadata.labels}}).rank
