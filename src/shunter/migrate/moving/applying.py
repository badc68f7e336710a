"""Executes steps: each is recorded in the journal before its write and after it. Several jobs are processed concurrently, the
steps of each in order. If it is killed at any point and run again, the result and the writes are the same.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from shunter.api.core import pod_has_ended
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, JOBSETS, POD_LOGS, PODS, TRAIN_JOBS
from shunter.cancelling import cancelled
from shunter.kube.access import Request
from shunter.kube.client import Client
from shunter.kube.errors import (
    PASSING,
    AlreadyExists,
    ApiError,
    Conflict,
    NotFound,
)
from shunter.migrate.moving import saved_runs, step_decisions
from shunter.migrate.moving.journal import Journal, Record
from shunter.migrate.moving.steps import Step, v1_job_of
from shunter.operator.overview import is_pod_of, pod_selector

ATTEMPTS = 6
"""Tries of a write that was not answered, or that conflicted with another client's."""
FIRST_WAIT = 0.1
POLL_SECONDS = 0.25
JOBS_AT_ONCE = 8
"""Jobs that are processed concurrently: most of a job's time is spent waiting, for responses and for pods that stop."""

Verdict = Literal["done", "already done", "unchanged", "refused", "waiting", "skipped"]
"""
done          it was written, now or by a run that was killed
already done  an earlier run wrote it
unchanged     the object was already in this state
refused       the step is not safe, or the server rejected the write
waiting       its gate did not open in time; the next run continues here
skipped       an earlier step of the same job was not done
"""


class Outcome(NamedTuple):
    """The result of one step, and why it was not done."""

    step: Step
    verdict: Verdict
    why: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the object is now as the step intended, by this run or otherwise."""
        return self.verdict in ("done", "already done", "unchanged")


class Screen(Protocol):
    """Shows progress."""

    def begin(self, total: int) -> None:
        """Called once, with the number of steps."""

    def done(self, outcome: Outcome) -> None:
        """Called with the result of each step."""


@dataclass(frozen=True)
class GateTimeouts:
    """How long to wait for gates, in seconds."""

    stopped: float = 120.0
    """For the pods of a suspended v1 job to end: their grace period, and the delay of a busy controller."""
    made: float = 60.0
    """For the JobSet of a TrainJob."""


DEFAULT_TIMEOUTS = GateTimeouts()


async def apply(
    client: Client,
    steps: Sequence[Step],
    journal: Journal,
    screen: Screen,
    timeouts: GateTimeouts = DEFAULT_TIMEOUTS,
    *,
    runs: Path | None = None,
    jobs_at_once: int = JOBS_AT_ONCE,
) -> list[Outcome]:
    """The result of each step. The steps of one job, and those without a job (the freeze), are executed in order until one is not
    done; different jobs are processed concurrently. The run of a v1 job is saved in the folder `runs` before the job is suspended
    or deleted. The journal must be entered and loaded. Server errors and broken connections are retried for a few seconds."""
    screen.begin(len(steps))
    by_job: dict[str, list[int]] = {}
    for index, step in enumerate(steps):
        by_job.setdefault(step.job, []).append(index)
    outcomes: dict[int, Outcome] = {}
    places = asyncio.Semaphore(jobs_at_once)
    shared: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of_one_job(indices: Sequence[int]) -> None:
        stopped_at: Step | None = None
        async with places:
            for index in indices:
                step = steps[index]
                if stopped_at is not None:
                    outcome = Outcome(step, "skipped", f"it comes after: {stopped_at.title}")
                else:
                    # Jobs that share a runtime share the step that creates it: one executes it, the others find it done.
                    async with shared[step.id]:
                        outcome = await _executed(client, step, journal, timeouts, runs)
                if not outcome.is_complete and stopped_at is None:
                    stopped_at = step
                outcomes[index] = outcome
                screen.done(outcome)

    await _all(of_one_job(indices) for indices in by_job.values())
    await journal.mirror()
    return [outcomes[index] for index in range(len(steps))]


async def _all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Waits for all of them. An exception of one is raised after the others have been cancelled."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        await cancelled(tasks)


def requests(steps: Iterable[Step], journal: Journal) -> set[Request]:
    """The API requests of the steps that are not done yet, of their gates, and of the journal."""
    left = [step for step in steps if (last := journal.last(step.id)) is None or last.phase != "done"]
    found = {Request(verb, step.resource, step.namespace) for step in left for verb in ("get", step.verb)}
    for step in left:
        if step.gate:
            looks = Request("get", JOBSETS, step.namespace) if step.gate == "made" else Request("list", PODS, step.namespace)
            found |= {Request("get", v1_job_of(step.job).resource, step.namespace), looks}
        if step.ends_run:
            found |= {Request("list", PODS, step.namespace), Request("get", POD_LOGS, step.namespace)}
    return found | {Request(verb, CONFIG_MAPS, journal.namespace) for verb in ("list", "create", "patch") if left}


async def preview(client: Client, steps: Iterable[Step], journal: Journal) -> list[Outcome]:
    """The results that `apply` would have, each step once, as far as they can be predicted. Writes nothing."""
    todo = list({step.id: step for step in steps}.values())
    return await asyncio.gather(*(_previewed(client, step, journal) for step in todo))


async def _previewed(client: Client, step: Step, journal: Journal) -> Outcome:
    last, known = journal.last(step.id), journal.digest(*_object(step))
    if last is not None and last.phase == "done":
        return Outcome(step, "already done")
    if step.verb == "patch" and not step.sha256 and not known:
        return Outcome(step, "done", "once it is created")
    decision = step_decisions.decided(step, await client.find(step.resource, step.name, step.namespace), last, known)
    verdicts: dict[step_decisions.Verdict, Verdict] = {"refuse": "refused", "unchanged": "unchanged"}
    return Outcome(step, verdicts.get(decision.verdict, "done"), decision.why)


async def _executed(client: Client, step: Step, journal: Journal, timeouts: GateTimeouts, runs: Path | None) -> Outcome:
    last = journal.last(step.id)
    if last is not None and last.phase == "done":
        return Outcome(step, "already done")
    if last is not None and last.phase == "undoing":
        return Outcome(step, "refused", "it is being rolled back; finish the rollback first")
    try:
        if why := await _gate_outcome(client, step, timeouts):
            return why
        return await _written(client, step, journal, last, runs)
    except ApiError as error:
        return Outcome(step, "refused", f"{error.message} {error.remedy}".strip())


async def _written(client: Client, step: Step, journal: Journal, last: Record | None, runs: Path | None) -> Outcome:
    for attempt in range(ATTEMPTS):
        try:
            present = await client.find(step.resource, step.name, step.namespace)
            decision = step_decisions.decided(step, present, last, journal.digest(*_object(step)))
            if decision.verdict == "refuse":
                return Outcome(step, "refused", decision.why)
            if decision.verdict == "unchanged":
                record = step_decisions.intended(step, present).after_write("done", present)
                journal.note(msgspec.structs.replace(record, outcome=decision.why))
                return Outcome(step, "unchanged", decision.why)
            if decision.verdict == "written":
                journal.note((last or step_decisions.intended(step, None)).after_write("done", present))
                return Outcome(step, "done", "an earlier run wrote it")
            if runs is not None and present is not None and step.ends_run:
                await saved_runs.save(client, runs, present, moved=step.verb == "patch")
            last = await journal.announce(step_decisions.intended(step, present))
            journal.note(last.after_write("done", await _write(client, step, present)))
            return Outcome(step, "done")
        except (AlreadyExists, Conflict, NotFound, *PASSING) as error:
            # The write may have succeeded, or another client wrote first: read and decide again.
            if attempt == ATTEMPTS - 1:
                return Outcome(step, "refused", error.message)
            await asyncio.sleep(FIRST_WAIT * 2.0**attempt)
    raise AssertionError("the last attempt returns")


async def _write(client: Client, step: Step, present: Json | None) -> Json | None:
    """The object after the write, as the server returned it; None after a deletion."""
    if step.verb == "create":
        created: Json = await client.create(step.resource, step.body, field_validation="Strict")
        return created
    assert present is not None, "patch and delete require an object"
    metadata = present["metadata"]
    if step.verb == "delete":
        await client.delete(
            step.resource,
            step.name,
            step.namespace,
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            propagation="Background",
        )
        return None
    patch = {**step.body, "metadata": {"resourceVersion": metadata["resourceVersion"], "uid": metadata["uid"]}}
    patched: Json = await client.patch(step.resource, step.name, step.namespace, patch)
    return patched


async def _gate_outcome(client: Client, step: Step, timeouts: GateTimeouts) -> Outcome | None:
    """The result of a step whose gate did not open in time, or could not be checked for some seconds; None when it may be
    done."""
    if not step.gate:
        return None
    seconds = timeouts.stopped if step.gate == "stopped" else timeouts.made
    deadline = asyncio.get_running_loop().time() + seconds
    failures = 0
    while True:
        try:
            ref = v1_job_of(step.job)
            job = await client.find(ref.resource, ref.name, ref.namespace)
            if over := step_decisions.move_obstacle(job):
                return Outcome(step, "refused", over)
            assert job is not None, "it is not over"
            if step.gate == "made":
                why = await _why_not_made(client, step)
            else:
                why = step_decisions.start_obstacle(job, await unfinished_pods(client, job))
            failures = 0
        except PASSING as error:
            failures += 1
            if failures == ATTEMPTS:
                return Outcome(step, "waiting", error.message)
            await asyncio.sleep(FIRST_WAIT * 2.0**failures)
            continue
        if not why:
            return None
        if asyncio.get_running_loop().time() > deadline:
            return Outcome(step, "waiting", f"{why} after {seconds:.0f} s")
        await asyncio.sleep(POLL_SECONDS)


async def unfinished_pods(client: Client, job: Json) -> int:
    """The number of pods of a job that have not ended."""
    metadata = job["metadata"]
    pods = (await client.list(PODS, metadata["namespace"], label_selector=pod_selector(job))).items
    return sum(is_pod_of(job, pod) and not pod_has_ended(pod) for pod in pods)


async def _why_not_made(client: Client, step: Step) -> str:
    """Why there is no JobSet of a TrainJob yet; empty when there is."""
    jobset = await client.find(JOBSETS, step.train_job, step.namespace)
    if jobset is None:
        return (
            f"the operator has not created its JobSet yet: see `kubectl describe trainjob {step.train_job} -n {step.namespace}`"
        )
    owners = jobset["metadata"].get("ownerReferences") or ()
    if not any(owner.get("kind") == TRAIN_JOBS.kind and owner.get("name") == step.train_job for owner in owners):
        return f"JobSet {step.train_job} is not the TrainJob's"
    return ""


def _object(step: Step) -> tuple[str, str, str]:
    return step.resource.kind, step.namespace, step.name
