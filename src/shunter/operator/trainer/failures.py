"""What failed in a TrainJob's pods goes into its status, and into events, with whatever else is written about it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shunter.api.core import Pod
from shunter.api.meta import condition_of
from shunter.api.resources import TRAIN_JOBS
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.controllers.plan import Plan
from shunter.operator import rank_failures
from shunter.operator.overview import member
from shunter.operator.trainer.status import COMPLETE, failures_json


def with_failures(job: TrainJob, failed_pods: Sequence[Pod], plan: Plan) -> Plan:
    """The plan with what is new in these pods in the job's status, before anything that may take the pods away. The record was
    read at this version of the job, and is written to no other. Of a job that is complete nothing is recorded any more: pods that
    are left end with it."""
    complete = condition_of(job.status.conditions, COMPLETE)
    if plan.status is None or (complete is not None and complete.is_true):
        return plan
    record, new = rank_failures.recorded(job.status.rank_failures, failed_pods, _rank)
    if not new:
        return plan
    status = msgspec.structs.replace(
        plan.status,
        wanted={**plan.status.wanted, **failures_json(record)},
        resource_version=job.metadata.resource_version,
        last_lines=rank_failures.last_lines(plan.status.ref, record, new),
    )
    events = (*rank_failures.notes(plan.status.ref, new), *plan.events)
    return msgspec.structs.replace(plan, status=status, events=events, is_status_first=bool(plan.writes), may_status_wait=False)


def _rank(pod: Pod) -> int | None:
    return member({"apiVersion": TRAIN_JOBS.api_version}, {"metadata": {"labels": pod.metadata.labels}}).rank
