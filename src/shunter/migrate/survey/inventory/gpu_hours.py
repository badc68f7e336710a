"""What a v1 job asks for and has used: GPUs, and GPUs times hours. Pure; the clock is an argument."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import gpus_of
from shunter.operator.overview import FINISHED_STATES, default_replicas, moment, replica_specs, v1_state

_SECONDS = 3600
_RUNNING_STATES = ("Running", "Restarting")


def gpus(job: Json) -> int:
    """Devices that all pods of the job ask for together."""
    total = 0
    if not isinstance(job.get("spec"), dict):
        return total
    for role, spec in replica_specs(job).items():
        template = spec.get("template")
        replicas = default_replicas(job.get("kind", ""), role) if spec.get("replicas") is None else spec["replicas"]
        if isinstance(template, dict) and isinstance(template.get("spec"), dict) and isinstance(replicas, int):
            total += replicas * gpus_of(template["spec"])
    return total


def run_seconds(job: Json, now: datetime) -> float:
    """How long the job ran, or has run until now; 0 for one that never did, or waits."""
    status = job.get("status") or {}
    state, condition = v1_state(job)
    start = moment(status.get("startTime"))
    if start is None:
        return 0.0
    end = moment(status.get("completionTime"))
    if end is None and state in FINISHED_STATES:
        end = moment(condition.get("lastTransitionTime"))
    if end is None and state in _RUNNING_STATES:
        end = now
    return max(0.0, (end - start).total_seconds()) if end else 0.0


def gpu_hours(job: Json, now: datetime) -> float:
    """Devices asked for, times hours run."""
    devices = gpus(job)
    return devices * run_seconds(job, now) / _SECONDS if devices else 0.0
