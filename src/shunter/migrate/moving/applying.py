"""Carries out steps, each announced in the journal before it is written and noted after: the only code of the migration that
writes to clusters. Several jobs are worked on at once, the steps of each in their order. Killed at any point and run again it
ends the same, by the same writes.
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
from shunter.kube.access import Request
from shunter.kube.client import Client
from shunter.kube.errors import (
    PASSING,
    AlreadyExists,
    ApiError,
    Conflict,
    NotFound,
)
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving import past_runs, step_decisions
from shunter.migrate.moving.journal import Journal, Record
from shunter.migrate.moving.steps import Step, v1_job_of
from shunter.operator.overview import is_pod_of, pod_selector

ATTEMPTS = 6
"""Looks at an object whose write was not answered, or met another's."""
FIRST_WAIT = 0.1
ASK_SECONDS = 0.25
JOBS_AT_ONCE = 8
"""Jobs that are worked on at the same time: most of a job's time is waiting, for answers and for pods that stop."""
LOOKS_AT_ONCE = 50
"""Objects that a preview reads at the same time."""

Verdict = Literal["done", "before", "there", "refused", "waiting", "left"]
"""
done      it was written, now or by a run that was killed
before    an earlier run had done it
there     it was so already
refused   it must not be done, or the server said no
waiting   what it waits for did not come in time; the next run goes on here
left      a step before it, of the same job, was not done
"""


class Outcome(NamedTuple):
    """What became of one step, and why it was not done."""

    step: Step
    verdict: Verdict
    why: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether what the step is for is so by now, whoever did it."""
        return self.verdict in ("done", "before", "there")


class Screen(Protocol):
    """Where progress is shown."""

    def begin(self, total: int) -> None:
        """So many steps are to come."""

    def done(self, outcome: Outcome) -> None:
        """What became of a step."""


@dataclass(frozen=True)
class GateTimeouts:
    """How long gates are waited for, in seconds."""

    stopped: float = 120.0
    """For the pods of a suspended v1 job: their grace period, and a controller that is busy."""
    made: float = 60.0


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
    """What became of each step. Those of one job, and those that belong to none (the freeze), are carried out in their order, and
    one that is not done keeps those after it back; different jobs are worked on at once. What is to be seen of a v1 job's run is
    kept in the folder `runs` before the job is suspended or deleted. The journal is entered and loaded. A server that fails, and
    connections that break, are tried again for some seconds."""
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
                    outcome = Outcome(step, "left", f"not before: {stopped_at.title}")
                else:
                    # Jobs that share a runtime have its step in common: one makes it, the others find it made.
                    async with shared[step.id]:
                        outcome = await _carried_out(client, step, journal, timeouts, runs)
                if not outcome.is_complete and stopped_at is None:
                    stopped_at = step
                outcomes[index] = outcome
                screen.done(outcome)

    await _all(of_one_job(indices) for indices in by_job.values())
    await journal.mirror()
    return [outcomes[index] for index in range(len(steps))]


async def _all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Returns when all is done. What one of them raises is raised, after the others were stopped."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def requests(steps: Iterable[Step], journal: Journal) -> set[Request]:
    """What the steps that are left, their gates, and the journal ask of the API server."""
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
    """What `apply` would do, each step once, as far as it can be told now: nothing is written."""
    todo = list({step.id: step for step in steps}.values())
    outcomes: list[Outcome] = []
    for start in range(0, len(todo), LOOKS_AT_ONCE):
        outcomes += await asyncio.gather(*(_previewed(client, step, journal) for step in todo[start : start + LOOKS_AT_ONCE]))
    return outcomes


async def _previewed(client: Client, step: Step, journal: Journal) -> Outcome:
    last, known = journal.last(step.id), journal.digest(*_object(step))
    if last is not None and last.phase == "done":
        return Outcome(step, "before")
    if step.verb == "patch" and not step.sha256 and not known:
        return Outcome(step, "done", "once it is made")
    decision = step_decisions.decided(step, await client.find(step.resource, step.name, step.namespace), last, known)
    verdict: Verdict = "refused" if decision.verdict == "refuse" else "there" if decision.verdict == "there" else "done"
    return Outcome(step, verdict, decision.why)


async def _carried_out(client: Client, step: Step, journal: Journal, timeouts: GateTimeouts, runs: Path | None) -> Outcome:
    last = journal.last(step.id)
    if last is not None and last.phase == "done":
        return Outcome(step, "before")
    if last is not None and last.phase == "undoing":
        return Outcome(step, "refused", "it is being rolled back; finish the rollback first")
    try:
        if why := await _why_closed(client, step, timeouts):
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
            if decision.verdict == "there":
                assert present is not None, "it is so already"
                record = step_decisions.intended(step, present)
                journal.note(msgspec.structs.replace(record, phase="done", outcome=decision.why, after=digest(present)))
                return Outcome(step, "there", decision.why)
            if decision.verdict == "written":
                _note_done(journal, last or step_decisions.intended(step, None), present)
                return Outcome(step, "done", "an earlier run wrote it")
            if runs is not None and present is not None and step.ends_run:
                await past_runs.keep(client, runs, present, moved=step.verb == "patch")
            last = await journal.announce(step_decisions.intended(step, present))
            _note_done(journal, last, await _write(client, step, present))
            return Outcome(step, "done")
        except (AlreadyExists, Conflict, NotFound, *PASSING) as error:
            # The write may have been done, or another's came first: look again, decide again.
            if attempt == ATTEMPTS - 1:
                return Outcome(step, "refused", error.message)
            await asyncio.sleep(FIRST_WAIT * 2.0**attempt)
    raise AssertionError("the last attempt returns")


async def _write(client: Client, step: Step, present: Json | None) -> Json | None:
    """The object as the server has it then; None when it is gone."""
    if step.verb == "create":
        created: Json = await client.create(step.resource, step.body, field_validation="Strict")
        return created
    assert present is not None, "decided so"
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


def _note_done(journal: Journal, announced: Record, obj: Json | None) -> None:
    after = digest(obj) if obj is not None else ""
    uid = str(obj["metadata"]["uid"]) if obj is not None else announced.uid
    journal.note(msgspec.structs.replace(announced, phase="done", uid=uid, after=after))


async def _why_closed(client: Client, step: Step, timeouts: GateTimeouts) -> Outcome | None:
    """What to say of a step whose gate did not open in time, or of which nobody could tell for some seconds; None when it may be
    done."""
    if not step.gate:
        return None
    seconds = timeouts.stopped if step.gate == "stopped" else timeouts.made
    deadline = asyncio.get_running_loop().time() + seconds
    failures = 0
    while True:
        try:
            job = await _v1_job(client, step.job)
            if over := step_decisions.why_over(job):
                return Outcome(step, "refused", over)
            assert job is not None, "it is not over"
            if step.gate == "made":
                why = await _why_not_made(client, step)
            else:
                why = step_decisions.why_not_stopped(job, await _pods(client, job))
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
        await asyncio.sleep(ASK_SECONDS)


async def _v1_job(client: Client, title: str) -> Json | None:
    """The job of that title; None when there is none."""
    resource, namespace, name = v1_job_of(title)
    found = await client.find(resource, name, namespace)
    return None if found is None else resource.typed(found)


async def _pods(client: Client, job: Json) -> int:
    """How many pods of the v1 job may still do something."""
    metadata = job["metadata"]
    pods = (await client.list(PODS, metadata["namespace"], label_selector=pod_selector(job))).items
    return sum(is_pod_of(job, pod) and not pod_has_ended(pod) for pod in pods)


async def _why_not_made(client: Client, step: Step) -> str:
    """Why the operator made no JobSet of a TrainJob; empty when it did."""
    jobset = await client.find(JOBSETS, step.twin, step.namespace)
    if jobset is None:
        return f"the operator has made no JobSet of it yet: see `kubectl describe trainjob {step.twin} -n {step.namespace}`"
    owners = jobset["metadata"].get("ownerReferences") or ()
    if not any(owner.get("kind") == TRAIN_JOBS.kind and owner.get("name") == step.twin for owner in owners):
        return f"JobSet {step.twin} is not the TrainJob's"
    return ""


def _object(step: Step) -> tuple[str, str, str]:
    return step.resource.kind, step.namespace, step.name
