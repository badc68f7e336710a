"""How a job ends when certain pods succeed or fail, by the rules of both operators, evaluated in memory.

For v1 its engine reconciles the pods, for v2 the Job and JobSet controllers judge theirs. A case is a set of pods that have
ended; all others run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from shunter.api.batch import Job, JobCondition
from shunter.api.batch import JobStatus as BatchJobStatus
from shunter.api.core import Pod, Service
from shunter.api.jobset import JobSet
from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.api.training.job import JobStatus
from shunter.cluster.controllers.job.tally import Tally
from shunter.cluster.controllers.job.verdict import completed, verdict_of
from shunter.cluster.controllers.jobset import failure_policy, success_policy
from shunter.cluster.controllers.jobset.children import Children as JobChildren
from shunter.cluster.controllers.jobset.progress import Progress
from shunter.kube.controllers.plan import Delete, Plan
from shunter.migrate.pods.differences import Matched, Pair
from shunter.migrate.pods.sides import V1, V2, Replica
from shunter.operator.training.children import children_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan
from shunter.operator.training.services import desired_services

Ending = Literal["succeeds", "fails", "goes on", "starts the pod again"]
Subject = Literal["success", "failure", "restarts"]
EXIT_CODES = (1, 127, 128, 137)
"""Permanent and retryable ones of restartPolicy ExitCode, and that of a pod that was killed."""
DEFAULT_LIMIT = 6
"""The default of a Job's backoffLimit."""
_NOW = datetime(2000, 1, 1, tzinfo=UTC)


class Case(NamedTuple):
    """The exit codes of the pods that have ended, by mark; None for an evicted pod."""

    title: str
    """Half a sentence: `when Worker 1 has exited with code 1`."""
    ended: Mapping[str, int | None]
    subject: Subject
    """Which of the job's rules decides."""
    role: str = ""
    """The role of the pod that failed."""
    restarts: int = 0
    """How often the pods of `ended` have been restarted before; they run now."""


class Disagreement(NamedTuple):
    """A case in which the job ends differently in v2."""

    case: Case
    v1: Ending
    v2: Ending


def disagreements(both: Matched) -> tuple[Disagreement, ...]:
    """The cases in which the job ends differently; none if pods have no counterpart, which `comparison` reports."""
    if any(pair.v1 is None or pair.v2 is None for pair in both.pairs):
        return ()
    key = _CacheKey(_key(both), both)
    found = _computed(key)
    # The cache keeps the key: a thousand pods need not stay in it.
    key.both = None
    return found


def deadlines(both: Matched) -> tuple[int | None, int | None]:
    """The deadline of the job on either side, in seconds; None if it has none. From when it counts is not compared."""
    jobs = (job["spec"].get("activeDeadlineSeconds") for job in both.v2.jobs)
    given = [seconds for seconds in (both.v2.train_job["spec"].get("activeDeadlineSeconds"), *jobs) if seconds is not None]
    return both.v1.job.run_policy.active_deadline_seconds, min(given, default=None)


@dataclass(unsafe_hash=True)
class _CacheKey:
    """Jobs with the same key have the same disagreements: many jobs have few keys. `both` is what they are computed from."""

    key: bytes
    both: Matched | None = field(compare=False)


@lru_cache(maxsize=64)
def _computed(key: _CacheKey) -> tuple[Disagreement, ...]:
    both = key.both
    assert both is not None, "a cached key is not computed again"
    v1, v2 = _V1(both.v1, both.pairs), _V2(both.v2, both.pairs)
    found = (Disagreement(case, v1.ending(case), v2.ending(case)) for case in cases(both))
    return tuple(one for one in found if one.v1 != one.v2)


def _key(both: Matched) -> bytes:
    """All that either side decides by: not names, nor most of the pod templates."""
    job, jobset = both.v1.job, both.v2.jobset["spec"]
    spec = {key: value for key, value in msgspec.to_builtins(job.spec).items() if not key.endswith("ReplicaSpecs")}
    roles = [(role, job.replica_count(role), one.restart_policy) for role, one in job.replicas.items()]
    policies = {key: value for key, value in jobset.items() if key != "replicatedJobs"}
    jobs = [
        (
            {key: value for key, value in one["spec"].items() if key not in ("template", "selector")},
            _containers(one["spec"]["template"]),
        )
        for one in both.v2.jobs
    ]
    marks = [(pair.mark, pair.v2 and pair.v2.role) for pair in both.pairs]
    containers = [_containers(replica.pod) for replica in both.v1.replicas]
    return msgspec.json.encode((job.kind, spec, roles, both.v1.framework.container, containers, policies, jobs, marks))


def _containers(pod: Json) -> tuple[str, list[str]]:
    return pod["spec"]["restartPolicy"], [container["name"] for container in pod["spec"]["containers"]]


def cases(both: Matched) -> Iterator[Case]:
    """Pods that succeed: the first, all but the first, those of each role, all. Then, for each role and replicated job, one pod
    that exits with an error, is killed or evicted, and one that was restarted about as often as backoffLimit allows."""
    marks = [pair.mark for pair in both.pairs]
    roles: dict[str, list[str]] = {}
    for pair in both.pairs:
        roles.setdefault(pair.role, []).append(pair.mark)
    chosen = {
        f"when only {_title(marks[0])} has succeeded": marks[:1],
        f"when all but {_title(marks[0])} have succeeded": marks[1:],
        **{f"when every {role} has succeeded": members for role, members in roles.items()},
        "when all pods have succeeded": marks,
    }
    keys: set[tuple[str, ...]] = set()
    for title, members in chosen.items():
        key = tuple(sorted(members))
        if members and key not in keys:
            keys.add(key)
            yield Case(title, dict.fromkeys(members, 0), "success")
    limit = both.v1.job.run_policy.backoff_limit
    counts = {1, DEFAULT_LIMIT + 1} if limit is None else {1, *(number for number in range(limit - 1, limit + 2) if number > 0)}
    lasts = {(pair.role, pair.v2.role if pair.v2 else ""): pair.mark for pair in both.pairs}
    for (role, _), last in lasts.items():
        for code in EXIT_CODES:
            yield Case(f"when {_title(last)} exits with code {code}", {last: code}, "failure", role)
        yield Case(f"when {_title(last)} is evicted", {last: None}, "failure", role)
        for count in sorted(counts) if both.v1.job.replicas[role].restart_policy != "Never" else ():
            times = "once" if count == 1 else f"{count} times"
            yield Case(f"when {_title(last)} has been restarted {times}", {last: 137}, "restarts", role, count)


class _V1:
    def __init__(self, side: V1, pairs: Iterable[Pair]) -> None:
        self._side = side
        self._replicas = [(pair.mark, pair.v1) for pair in pairs if pair.v1]
        job = side.job
        status = msgspec.structs.replace(job.status, start_time=_NOW)
        policy = msgspec.structs.replace(job.run_policy, suspend=None, managed_by=None, active_deadline_seconds=None)
        self._job = msgspec.structs.replace(job, status=status, run_policy=policy)
        self._services = [msgspec.convert(service, Service) for service in desired_services(side.framework, job)]
        self._pods = _Pods()

    def ending(self, case: Case) -> Ending:
        pods = [self._pods.pod(replica, case, mark) for mark, replica in self._replicas]
        first = self._plan(self._job, pods)
        conditions = first.status.desired.get("conditions", ()) if first.status else ()
        states = {one["type"] for one in conditions if one["status"] == "True"}
        if "Failed" in states:
            return "fails"
        if "Succeeded" in states:
            return "succeeds"
        if case.restarts:
            return "goes on"
        # A failure is recorded in the status before its pod is deleted: the next pass does that.
        status = msgspec.convert(first.status.desired, JobStatus) if first.status else self._job.status
        second = self._plan(msgspec.structs.replace(self._job, status=status), pods)
        again = any(isinstance(write, Delete) and write.ref.resource == PODS for write in (*first.writes, *second.writes))
        return "starts the pod again" if again or _restarts_in_place(case, self._replicas) else "goes on"

    def _plan(self, job: AnyJob, pods: list[Pod]) -> Plan:
        return plan(self._side.framework, Observed(job=job, children=children_of(job, pods, self._services)), _NOW)


class _V2:
    def __init__(self, side: V2, pairs: Iterable[Pair]) -> None:
        self._jobset = msgspec.convert(side.jobset, JobSet)
        self._pods = _Pods()
        self._members: dict[str, list[tuple[str, Replica]]] = {}
        for pair in pairs:
            if pair.v2:
                owner = pair.v2.pod["metadata"]["ownerReferences"][0]["name"]
                self._members.setdefault(owner, []).append((pair.mark, pair.v2))
        self._jobs = [(msgspec.convert(job, Job), self._members.get(job["metadata"]["name"], [])) for job in side.jobs]

    def ending(self, case: Case) -> Ending:
        jobs = [self._judged(job, members, case) for job, members in self._jobs]
        children = JobChildren.of(self._jobset, jobs)
        if children.failed:
            progress = failure_policy.applied(self._jobset, children.failed, Progress.of(self._jobset, _NOW))
            return "fails" if progress.status.terminal_state == "Failed" else "starts the pod again"
        if success_policy.is_met(self._jobset, children):
            return "succeeds"
        return "starts the pod again" if not case.restarts and self._replaces(case) else "goes on"

    def _replaces(self, case: Case) -> bool:
        """Whether a Job replaces a pod that has failed; it does not if the pod's whole index has failed."""
        for job, members in self._jobs:
            pods = tuple(self._pods.pod(replica, case, mark) for mark, replica in members)
            if any(case.ended.get(mark, 0) != 0 for mark, _ in members) and not Tally.of(job, pods, _NOW).failed_indexes:
                return True
        return False

    def _judged(self, job: Job, members: list[tuple[str, Replica]], case: Case) -> Job:
        pods = tuple(self._pods.pod(replica, case, mark) for mark, replica in members)
        job = msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, suspend=False, active_deadline_seconds=None))
        if case.restarts:
            # Pods that do not restart in place have been replaced: the Job counts those that failed.
            replaced = sum(mark in case.ended and not _starts_again(replica, case.ended[mark]) for mark, replica in members)
            job = msgspec.structs.replace(job, status=BatchJobStatus(failed=case.restarts * replaced))
        tally = Tally.of(job, pods, _NOW)
        verdict = verdict_of(tally, _NOW) or completed(tally, len(tally.active))
        if verdict is None:
            return job
        condition = JobCondition(type="Complete" if verdict.success else "Failed", status="True", reason=verdict.reason)
        return msgspec.structs.replace(job, status=BatchJobStatus(conditions=(condition,)))


class _Pods:
    """The pods of one side in the states of cases, cached."""

    def __init__(self) -> None:
        self._pods: dict[tuple[str, int | None, int], Pod] = {}

    def pod(self, replica: Replica, case: Case, mark: str) -> Pod:
        state = (mark, case.ended.get(mark, -1), case.restarts if mark in case.ended else 0)
        if state not in self._pods:
            self._pods[state] = _pod(replica, case, mark)
        return self._pods[state]


def _pod(replica: Replica, case: Case, mark: str) -> Pod:
    """The pod as a controller sees it: running, or ended as in the case. A container that the node restarts in place runs, with
    its last exit code."""
    names = [container["name"] for container in replica.pod["spec"]["containers"]]
    status: Json
    if mark not in case.ended or (case.restarts and not _starts_again(replica, case.ended[mark])):
        status = {"phase": "Running", "containerStatuses": [{"name": name, "state": {"running": {}}} for name in names]}
    elif (code := case.ended[mark]) is None:
        status = {"phase": "Failed", "reason": "Evicted"}
    elif _starts_again(replica, code):
        before = {"terminated": {"exitCode": code}}
        status = {
            "phase": "Running",
            "containerStatuses": [
                {"name": name, "state": {"running": {}}, "restartCount": case.restarts or 1, "lastState": before}
                for name in names
            ],
        }
    else:
        state = {"terminated": {"exitCode": code}}
        phase = "Failed" if code else "Succeeded"
        status = {"phase": phase, "containerStatuses": [{"name": name, "state": state} for name in names]}
    metadata = {**replica.pod["metadata"], "uid": f"<uid of {mark}>"}
    return msgspec.convert({"metadata": metadata, "spec": replica.pod["spec"], "status": status}, Pod)


def _restarts_in_place(case: Case, replicas: Iterable[tuple[str, Replica]]) -> bool:
    """Whether the node itself restarts a container that has ended."""
    return any(_starts_again(replica, case.ended[mark]) for mark, replica in replicas if mark in case.ended)


def _starts_again(replica: Replica, code: int | None) -> bool:
    """Whether the node restarts a container that has exited with this code; an evicted pod (None) is not restarted."""
    policy = replica.pod["spec"]["restartPolicy"]
    return code is not None and (policy == "Always" or (policy == "OnFailure" and code != 0))


def _title(mark: str) -> str:
    return mark.strip("<>")
