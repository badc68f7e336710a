"""Pods that still hold the tracking finalizer though no Job counts them any more: their Job is gone, or has ended."""

from __future__ import annotations

import msgspec

from shunter.api.batch import JOB_TRACKING_FINALIZER, Job
from shunter.api.core import Pod
from shunter.api.resources import PODS
from shunter.cluster.controllers.job.pods import is_tracked
from shunter.cluster.controllers.workloads.claiming import finalizer_removal
from shunter.kube.controllers.plan import NOTHING, Plan


class Orphan(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, and the Job its controller reference names if that Job exists under this very uid."""

    pod: Pod
    job: Job | None = None


def plan(observed: Orphan) -> Plan:
    """Takes the finalizer off, unless a Job (ours or another controller's) will count the pod."""
    pod, job = observed.pod, observed.job
    owner = pod.metadata.controller
    if not is_tracked(pod) or (owner is not None and (owner.api_version, owner.kind) != ("batch/v1", "Job")):
        return NOTHING
    if job is not None and (job.outcome is None or job.is_managed_elsewhere):
        return NOTHING
    return Plan(writes=(finalizer_removal(PODS, pod.metadata, JOB_TRACKING_FINALIZER),))
