"""Decides whether a step is written, given the current object and the journal. Pure."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, TRAIN_JOBS
from shunter.kube.merge_patch import difference, merge_patch
from shunter.migrate.conversion.cleaning import clean, digest
from shunter.migrate.moving.annotations import PLAN, mark
from shunter.migrate.moving.backup.index import state_of
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.steps import Step
from shunter.operator.overview import FINISHED_STATES, overview

Verdict = Literal["write", "written", "unchanged", "refuse"]
"""
write       the write is needed
written     an earlier run made the write, but did not receive the response
unchanged   the object is so already, by others: a rollback does not undo it
refuse      the write is not safe
"""


class Decision(NamedTuple):
    """Whether to write a step, and why not."""

    verdict: Verdict
    why: str = ""


def decided(step: Step, present: Json | None, last: Record | None, written: str) -> Decision:
    """The decision about a step. `last` is the journal's last record of it, `written` the object's digest after our last write to
    it."""
    match step.verb:
        case "create":
            return _created(step, present)
        case "patch":
            return _patched(step, present, last, step.sha256 or written)
        case "delete":
            return _deleted(step, present)


def intended(step: Step, present: Json | None) -> Record:
    """The record of a step before its write: how to undo it, and the digest of the object afterwards."""
    before, uid, undo, after, state = "", "", {}, "", ""
    if present is not None:
        before, uid, state = digest(present), str(present["metadata"].get("uid", "")), state_of(present)
    if present is not None and step.verb == "delete" and step.resource != CUSTOM_RESOURCE_DEFINITIONS:
        undo = clean(present)
    if present is not None and step.verb == "patch":
        patched = merge_patch(present, step.body)
        undo, after = difference(patched, present), digest(patched)
    return Record(
        number=0,
        at="",
        step=step.id,
        phase="intended",
        verb=step.verb,
        api_version=step.resource.api_version,
        kind=step.resource.kind,
        plural=step.resource.plural,
        namespace=step.namespace,
        name=step.name,
        uid=uid,
        before=before,
        after=after,
        undo=undo,
        state=state,
        job=step.job,
    )


def contains(present: Any, wanted: Any) -> bool:
    """Whether an object has all the wanted values; it may have more, such as the server's defaults."""
    if isinstance(wanted, dict):
        return isinstance(present, dict) and all(
            key in present and contains(present[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(present, list) and len(present) == len(wanted) and all(map(contains, present, wanted))
    return bool(present == wanted)


def move_obstacle(job: Json | None) -> str:
    """Why the v1 job can no longer be moved; empty if it can."""
    if job is None:
        return "the v1 job does not exist"
    state = overview(job).state
    return (
        f"the v1 job has finished meanwhile ({state}): a TrainJob created from it would train again"
        if state in FINISHED_STATES
        else ""
    )


def start_obstacle(job: Json, pods: int) -> str:
    """Why the TrainJob of a suspended v1 job may not start yet; empty if it may. `pods` is the number of unfinished
    pods."""
    if pods:
        return f"{count(pods, 'pod')} of the v1 job still run"
    state = overview(job).state
    return "" if state == "Suspended" else f"the v1 job is not suspended yet ({state})"


def _created(step: Step, present: Json | None) -> Decision:
    if present is None:
        return Decision("write")
    if mark(present, PLAN) and mark(present, PLAN) == mark(step.body, PLAN):
        return Decision("written")
    if step.shared and contains(present.get("spec"), step.body["spec"]):
        return Decision("unchanged", "an identical one already exists")
    made_by = "an earlier plan created it" if mark(present, PLAN) else "this plan did not create it"
    return Decision("refuse", f"{step.resource.kind} {step.name} exists, and {made_by}")


def _patched(step: Step, present: Json | None, last: Record | None, expected: str) -> Decision:
    if present is None:
        return Decision("refuse", f"{step.resource.kind} {step.name} no longer exists")
    if step.resource == TRAIN_JOBS and overview(present).is_finished:
        return Decision("refuse", f"TrainJob {step.name} has finished already")
    if contains(present, step.body):
        return Decision("written") if last and last.phase == "intended" else Decision("unchanged", "it is already in this state")
    if expected and digest(present) != expected:
        return Decision("refuse", f"{step.resource.kind} {step.name} was changed since; plan again")
    return Decision("write")


def _deleted(step: Step, present: Json | None) -> Decision:
    if present is None:
        return Decision("written")
    if step.uid and present["metadata"].get("uid") != step.uid:
        return Decision("refuse", f"another {step.resource.kind} has the name {step.name} now")
    if step.sha256 and digest(present) != step.sha256:
        return Decision("refuse", f"{step.resource.kind} {step.name} was changed since")
    return Decision("write")
