"""What the pods of an MPIJob mean for it: the launcher's end is the job's; of workers only a failure counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shunter.api.core import Pod
from shunter.api.training.job import ReplicaStatus
from shunter.api.training.mpi import LAUNCHER, WORKER
from shunter.kube.controllers.plan import Note
from shunter.operator.training.framework import Verdict, failure_verdict
from shunter.operator.training.mpi.names import Job
from shunter.operator.training.mpi.replica_sync import MPIPods

FAILED_CAUSE = "MPIJobFailed"
"""After the kind, so the reason of the condition is `MPIJobMPIJobFailed`: upstream's slip, which scripts may look for."""


def counts(members: MPIPods) -> dict[str, ReplicaStatus]:
    """Counters of both roles; workers are not counted any more when the launcher has ended."""
    launcher = [members.launcher] if members.launcher else []
    return {LAUNCHER: _counted(launcher), WORKER: _counted([] if members.is_done else members.workers)}


def verdicts(job: Job, counted: Mapping[str, ReplicaStatus]) -> Iterator[Verdict]:
    """A launcher that runs says nothing about a job that is restarting: the two would take turns for ever."""
    launcher = counted[LAUNCHER]
    if launcher.succeeded:
        yield Verdict("Succeeded", f"{job.kind} {job.name} is successfully completed.")
        return
    failures = [verdict for role in (LAUNCHER, WORKER) if (verdict := _failure(job, role, counted[role].failed))]
    if launcher.active and not any(verdict.type == "Restarting" for verdict in failures):
        yield Verdict("Running", f"{job.kind} {job.name} is running.")
    yield from failures


def news(job: Job, members: MPIPods, counted: Mapping[str, ReplicaStatus]) -> tuple[Note, ...]:
    """Upstream's further events, each when it becomes true; `counted` are the counters of now, the job's those of before."""
    stored = job.status.replica_statuses
    before: dict[str, ReplicaStatus] = {role: stored.get(role, ReplicaStatus()) for role in (LAUNCHER, WORKER)}
    return (*_of_launcher(job, members.launcher, before[LAUNCHER]), *_of_workers(job, members, before, counted))


def _of_launcher(job: Job, launcher: Pod | None, before: ReplicaStatus) -> Iterator[Note]:
    full_name = f"{job.kind} {job.namespace}/{job.name}"
    if launcher is None:
        return
    if launcher.status.phase == "Succeeded" and not before.succeeded:
        yield job.note("Normal", "mpijobsSucceeded", f"{full_name} successfully completed.")
    if launcher.status.phase == "Failed" and not before.failed:
        yield job.note("Warning", launcher.status.reason or f"{job.kind}Failed", f"{full_name} has failed")


def _of_workers(
    job: Job, members: MPIPods, before: Mapping[str, ReplicaStatus], counted: Mapping[str, ReplicaStatus]
) -> Iterator[Note]:
    if members.is_done:
        return
    evicted = sum(1 for pod in members.workers if pod.status.phase == "Failed" and pod.status.reason == "Evicted")
    if evicted and before[WORKER].failed < counted[WORKER].failed:
        yield job.note("Warning", f"{job.kind}Evicted", f"{evicted}/{len(members.workers)} workers are evicted")
    desired = job.replica_count(WORKER)
    if _all_run(counted, desired) and not _all_run(before, desired):
        yield job.note("Normal", f"{job.kind}Running", f"{job.kind} {job.namespace}/{job.name} is running")


def _all_run(counted: Mapping[str, ReplicaStatus], workers: int) -> bool:
    return bool(counted[LAUNCHER].active) and counted[WORKER].active == workers


def _failure(job: Job, role: str, failed: int) -> Verdict | None:
    if not failed:
        return None
    restarts = job.replicas[role].restart_policy == "ExitCode"
    verdict = failure_verdict(job, role, failed, restarts=restarts)
    return verdict if restarts else verdict._replace(cause=FAILED_CAUSE)


def _counted(pods: list[Pod]) -> ReplicaStatus:
    phases = [pod.status.phase for pod in pods]
    return ReplicaStatus(active=phases.count("Running"), succeeded=phases.count("Succeeded"), failed=phases.count("Failed"))
