"""One reconcile of an autoscaler: the desired replicas of its target, and its conditions and events.

Source: `horizontal.go`, reconcileAutoscaler.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from shunter.api.formats.quantity import parse
from shunter.api.meta import Condition, Json, condition_json, condition_of, rfc3339, stamp
from shunter.api.resources import HORIZONTAL_POD_AUTOSCALERS, Resource
from shunter.cluster.controllers.autoscaling.calculation import TOLERANCE, Tolerances
from shunter.cluster.controllers.autoscaling.limits import History, TimedValue, limited
from shunter.cluster.controllers.autoscaling.proposals import FailedMetric, Sources, highest, propose
from shunter.cluster.controllers.autoscaling.views import Autoscaler, AutoscalerStatus, Proposal, Scale
from shunter.kube.controllers.plan import Failure, Note, Patch, Plan, Ref, StatusWrite

ABOVE = "Current number of replicas above Spec.MaxReplicas"
BELOW = "Current number of replicas below Spec.MinReplicas"


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """An autoscaler, the scale of its target or why that cannot be had, and what metrics can be computed from."""

    autoscaler: Autoscaler
    target: Resource | None = None
    scale: Scale | None = None
    problem: str = ""
    sources: Sources = Sources()
    rivals: tuple[str, ...] = ()
    """Names of all autoscalers of the same target, when there are several."""
    history: History = History()


class Decision(NamedTuple):
    """What to do, and what to remember if it is done."""

    plan: Plan
    history: History


class _Draft(NamedTuple):
    """A status in the making."""

    autoscaler: Autoscaler
    now: datetime
    status: AutoscalerStatus
    events: tuple[Note, ...] = ()

    def condition(self, type: str, status: str, reason: str, message: str) -> _Draft:
        """With the condition in its place, or at the end; its time is that of the last change of its status."""
        before = condition_of(self.status.conditions, type)
        since = before.last_transition_time if before is not None and before.status == status else None
        new = Condition(
            type=type, status=status, reason=reason, message=message, last_transition_time=since or _whole(self.now, self.status)
        )
        if before is None:
            conditions = (*self.status.conditions, new)
        else:
            conditions = tuple(new if one.type == type else one for one in self.status.conditions)
        return self._replace(status=msgspec.structs.replace(self.status, conditions=conditions))

    def with_event(self, type: Literal["Normal", "Warning"], reason: str, message: str) -> _Draft:
        return self._replace(events=(*self.events, _note(self.autoscaler, type, reason, message)))

    def counted(self, current: int, desired: int, metrics: tuple[Json, ...], *, is_rescaled: bool = False) -> _Draft:
        moment = _whole(self.now, self.status) if is_rescaled else self.status.last_scale_time
        return self._replace(
            status=msgspec.structs.replace(
                self.status,
                current_replicas=current,
                desired_replicas=desired,
                current_metrics=metrics or None,
                last_scale_time=moment,
            )
        )

    def plan(self, *writes: Patch) -> Plan:
        before = self.autoscaler
        ref = Ref.of(HORIZONTAL_POD_AUTOSCALERS, before.metadata)
        status = StatusWrite(ref=ref, observed=status_json(before.status), desired=status_json(self.status))
        return Plan(writes=writes, status=status, events=self.events)


def decide(observed: Observed, now: datetime) -> Decision:
    """The next step of an autoscaler."""
    autoscaler, scale = observed.autoscaler, observed.scale
    draft = _Draft(autoscaler, now, autoscaler.status)
    if scale is None:
        message = f"the HPA controller was unable to get the target's current scale: {observed.problem}"
        failed = draft.with_event("Warning", "FailedGetScale", observed.problem)
        return Decision(failed.condition("AbleToScale", "False", "FailedGetScale", message).plan(), observed.history)
    able = "the HPA controller was able to get the target's current scale"
    draft = draft.condition("AbleToScale", "True", "SucceededGetScale", able)
    current, spec = scale.spec.replicas, autoscaler.spec
    history = observed.history
    if not history.recommendations:
        history = history._replace(recommendations=(TimedValue(current, now),))
    if current == 0:
        message = "scaling is disabled since the replica count of the target is zero"
        draft = draft.condition("ScalingActive", "False", "ScalingDisabled", message)
        return Decision(draft.counted(0, 0, ()).plan(), history)
    if current > spec.max_replicas:
        return _rescaled(draft, observed, spec.max_replicas, ABOVE, (), history)
    if current < spec.min_replicas:
        return _rescaled(draft, observed, spec.min_replicas, BELOW, (), history)
    return _by_metrics(draft, observed, current, history)


def failed(observed: Observed, failure: Failure, now: datetime) -> Plan:
    """The status after a failed write to the target's scale."""
    autoscaler = observed.autoscaler
    message = f"the HPA controller was unable to update the target scale: {failure.message}"
    draft = _Draft(autoscaler, now, autoscaler.status).condition("AbleToScale", "False", "FailedUpdateScale", message)
    current = observed.scale.spec.replicas if observed.scale else autoscaler.status.current_replicas
    metrics = autoscaler.status.current_metrics or ()
    return draft.counted(current, autoscaler.status.desired_replicas, metrics).plan()


def _by_metrics(draft: _Draft, observed: Observed, current: int, history: History) -> Decision:
    spec = observed.autoscaler.spec
    if refusal := _unselective(observed):
        event, reason, condition, text = refusal
        draft = draft.with_event("Warning", event, text).condition("ScalingActive", "False", reason, condition)
        draft = draft.counted(current, draft.status.desired_replicas, ())
        return Decision(draft.with_event("Warning", "FailedComputeMetricsReplicas", text).plan(), history)
    tolerances = _tolerances(observed.autoscaler)
    proposals = [propose(metric, current, observed.sources, tolerances, draft.now) for metric in spec.metrics]
    problems = [one for one in proposals if isinstance(one, FailedMetric)]
    statuses = tuple(one.status if isinstance(one, Proposal) else {"type": ""} for one in proposals)
    best = highest(proposals)
    for problem in problems:
        draft = draft.with_event("Warning", problem.reason, problem.message)
    if best is None or (problems and best.replicas < current):
        first = problems[0]
        message = f"the HPA was unable to compute the replica count: {first.message}"
        draft = draft.condition("ScalingActive", "False", first.reason, message)
        draft = draft.counted(current, draft.status.desired_replicas, statuses)
        why = f"failed to get {first.value} value: {first.message}"
        text = f"invalid metrics ({len(problems)} invalid out of {len(proposals)}), first error is: {why}"
        return Decision(draft.with_event("Warning", "FailedComputeMetricsReplicas", text).plan(), history)
    message = f"the HPA was able to successfully calculate a replica count from {best.metric}"
    draft = draft.condition("ScalingActive", "True", "ValidMetricFound", message)
    why = "All metrics below target" if best.replicas < current else f"{best.metric} above target"
    verdict = limited(spec, current, best.replicas, history, draft.now)
    draft = draft.condition("AbleToScale", "True", *verdict.able)
    draft = draft.condition("ScalingLimited", *verdict.limited)
    if verdict.replicas == current:
        return Decision(draft.counted(current, current, statuses).plan(), verdict.history)
    reason = why if best.replicas != current else ""
    return _rescaled(draft, observed, verdict.replicas, reason, statuses, verdict.history)


def _rescaled(
    draft: _Draft, observed: Observed, desired: int, reason: str, metrics: tuple[Json, ...], history: History
) -> Decision:
    autoscaler, scale, target = observed.autoscaler, observed.scale, observed.target
    assert scale is not None
    assert target is not None
    current = scale.spec.replicas
    refusal = f"New size: {desired}; reason: {reason}; error: {{error}}"
    write = Patch(
        ref=Ref(target, autoscaler.metadata.namespace, autoscaler.spec.scale_target_ref.name),
        patch={"spec": {"replicas": desired}},
        subresource="scale",
        succeeded=_note(autoscaler, "Normal", "SuccessfulRescale", f"New size: {desired}; reason: {reason}"),
        failed=_note(autoscaler, "Warning", "FailedRescale", refusal),
    )
    message = f"the HPA controller was able to update the target scale to {desired}"
    draft = draft.condition("AbleToScale", "True", "SucceededRescale", message)
    plan = draft.counted(current, desired, metrics, is_rescaled=True).plan(write)
    return Decision(plan, history.rescaled(current, desired, draft.now, autoscaler.spec.behavior))


def _unselective(observed: Observed) -> tuple[str, str, str, str] | None:
    """Why the pods of the target are not known: reason of the event, reason and text of the condition, text of the event."""
    assert observed.scale is not None
    if not observed.scale.status.selector:
        missing = "the HPA target's scale is missing a selector"
        return "SelectorRequired", "InvalidSelector", missing, "selector is required"
    if len(observed.rivals) > 1:
        namespace = observed.autoscaler.metadata.namespace
        names = " ".join(f"{{{name} {namespace}}}" for name in observed.rivals)
        text = f"pods by selector {observed.scale.status.selector} are controlled by multiple HPAs: [{names}]"
        return "AmbiguousSelector", "AmbiguousSelector", text, text
    return None


def _tolerances(autoscaler: Autoscaler) -> Tolerances:
    behavior = autoscaler.spec.behavior
    if behavior is None:
        return Tolerances()
    down, up = behavior.scale_down.tolerance, behavior.scale_up.tolerance
    return Tolerances(TOLERANCE if down is None else float(parse(down)), TOLERANCE if up is None else float(parse(up)))


def status_json(status: AutoscalerStatus) -> Json:
    """The status with the fields that Go always writes."""
    shown: Json = {
        "currentReplicas": status.current_replicas,
        "desiredReplicas": status.desired_replicas,
        "currentMetrics": list(status.current_metrics) if status.current_metrics else None,
        "conditions": [condition_json(one) for one in status.conditions],
    }
    if status.last_scale_time is not None:
        shown["lastScaleTime"] = rfc3339(status.last_scale_time)
    return shown


def _whole(now: datetime, status: AutoscalerStatus) -> datetime:
    return stamp(now, [status.last_scale_time, *(one.last_transition_time for one in status.conditions)])


def _note(autoscaler: Autoscaler, type: Literal["Normal", "Warning"], reason: str, message: str) -> Note:
    ref = Ref.of(HORIZONTAL_POD_AUTOSCALERS, autoscaler.metadata)
    return Note(regarding=ref, type=type, reason=reason, message=message, action="Scaling")
