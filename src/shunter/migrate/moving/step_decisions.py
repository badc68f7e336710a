"""What becomes of a step, looking at the object as it is and at what the journal knows: pure."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, TRAIN_JOBS
from shunter.kube.merge_patch import difference, merge_patch
from shunter.migrate.conversion.cleaning import clean, digest
from shunter.migrate.moving.backup.index import state_of
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.marks import PLAN, mark
from shunter.migrate.moving.steps import Step
from shunter.operator.overview import FINISHED_STATES, overview

Verdict = Literal["write", "written", "there", "refuse"]
"""
write     it is to be done
written   an earlier run did it, though it never heard so
there     it is so already, by somebody else: nothing of it is ours to take back
refuse    it must not be done
"""


class Decision(NamedTuple):
    """What is to become of a step, and why where it is not to be written."""

    verdict: Verdict
    why: str = ""


def decided(step: Step, present: Json | None, last: Record | None, known: str) -> Decision:
    """`last` is the journal's last record of this step, `known` the digest that the object had after our last write to it."""
    match step.verb:
        case "create":
            return _created(step, present)
        case "patch":
            return _patched(step, present, last, step.sha256 or known)
        case "delete":
            return _deleted(step, present)


def intended(step: Step, present: Json | None) -> Record:
    """What is to be known of a step before its write: how it can be taken back, and what the object is to be afterwards."""
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


def holds(present: Any, wanted: Any) -> bool:
    """Whether everything that is wanted is so; the server may have added defaults."""
    if isinstance(wanted, dict):
        return isinstance(present, dict) and all(key in present and holds(present[key], value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(present, list) and len(present) == len(wanted) and all(map(holds, present, wanted))
    return bool(present == wanted)


def why_over(job: Json | None) -> str:
    """Why the v1 job of a twin has nothing left to move; empty while it has."""
    if job is None:
        return "the v1 job is gone"
    state = overview(job).state
    return (
        f"the v1 job has finished meanwhile ({state}): a TrainJob made from it would train again"
        if state in FINISHED_STATES
        else ""
    )


def why_not_stopped(job: Json, pods: int) -> str:
    """Why the twin of a v1 job that was suspended may not start yet; empty when it may. `pods` counts those that may run."""
    if pods:
        return f"{count(pods, 'pod')} of the v1 job still run"
    state = overview(job).state
    return "" if state == "Suspended" else f"the v1 job is not suspended yet ({state})"


def _created(step: Step, present: Json | None) -> Decision:
    if present is None:
        return Decision("write")
    if mark(present, PLAN) and mark(present, PLAN) == mark(step.body, PLAN):
        return Decision("written")
    if step.shared and holds(present.get("spec"), step.body["spec"]):
        return Decision("there", "an identical one already exists")
    made_by = "a plan before this one made it" if mark(present, PLAN) else "this plan did not make it"
    return Decision("refuse", f"{step.resource.kind} {step.name} is there, and {made_by}")


def _patched(step: Step, present: Json | None, last: Record | None, expected: str) -> Decision:
    if present is None:
        return Decision("refuse", f"{step.resource.kind} {step.name} is gone")
    if step.resource == TRAIN_JOBS and overview(present).is_finished:
        return Decision("refuse", f"TrainJob {step.name} has finished already")
    if holds(present, step.body):
        return Decision("written") if last and last.phase == "intended" else Decision("there", "it is so already")
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
