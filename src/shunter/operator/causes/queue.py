"""What Kueue says of a job that waits in a queue. Pure; input is plain JSON.

Sources: Kueue 0.17 to 0.19 `apis/kueue/v1beta2` (v1beta1 has the same fields here) and `apis/visibility`, whose positions count
from 0. The words of its messages are passed on as they are: people search for them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from shunter.api.meta import Json, Struct, stored_condition
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.operator.causes.words import Cause
from shunter.operator.overview import moment

WORKLOAD_TIMEOUT = timedelta(seconds=15)
"""How long Kueue may take to make the Workload of a new job."""


class Position(Struct, frozen=True):
    """A Workload's place in line, counted from 1."""

    in_queue: int
    """Among those of its LocalQueue."""
    in_cluster_queue: int
    """Among those of all LocalQueues of the ClusterQueue."""


def queue_name(job: Json) -> str:
    """The LocalQueue that Kueue admits the job from; empty when the job has no queue's label."""
    return str((job["metadata"].get("labels") or {}).get(QUEUE_LABEL) or "")


def own_workload(uids: Collection[str], workloads: Sequence[Json]) -> Json | None:
    """The Workload that one of these objects owns: the job, or its JobSet. One that is finished is left from an earlier run."""
    own = [
        workload
        for workload in workloads
        if any(owner.get("uid") in uids for owner in workload["metadata"].get("ownerReferences") or [])
        and "deletionTimestamp" not in workload["metadata"]
    ]
    own.sort(key=lambda workload: (not _is_true(workload, "Finished"), workload["metadata"].get("creationTimestamp") or ""))
    return own[-1] if own else None


def queue_cause(
    job: Json,
    uids: Collection[str],
    workloads: Sequence[Json] | None,
    position: Position | None,
    now: datetime,
    *,
    is_readable: bool,
) -> Cause | None:
    """Why the queue does not admit the job; None once it does. `workloads` is None where the cluster does not serve them."""
    queue = queue_name(job)
    if not is_readable:
        text = f"it waits in queue {queue}; the state in Kueue is unknown: Workloads could not be listed"
        return Cause("Queued", text)
    if workloads is None:
        text = f"it waits for queue {queue}, and the cluster does not serve Kueue's Workloads"
        return Cause("NoQueue", text, f"install Kueue, or remove the label {QUEUE_LABEL} and resume the job.")
    workload = own_workload(uids, workloads)
    if workload is None:
        created = moment(job["metadata"].get("creationTimestamp"))
        if created is not None and now - created < WORKLOAD_TIMEOUT:
            return Cause("Queued", f"it waits in queue {queue}; Kueue has created no Workload for it yet")
        text = f"it waits in queue {queue}, and Kueue has created no Workload for it"
        return Cause(
            "NoQueue",
            text,
            f"check that Kueue is running and that its configuration lists {job['kind']}s in integrations.frameworks.",
        )
    return _of_workload(workload, queue, position, now)


def _of_workload(workload: Json, queue: str, position: Position | None, now: datetime) -> Cause | None:
    name = workload["metadata"]["name"]
    if (workload.get("spec") or {}).get("active") is False:
        why = _message(workload, "Evicted") or _message(workload, "DeactivationTarget")
        namespace = workload["metadata"].get("namespace", "")
        patch = '{"spec":{"active":true}}'
        command = f"kubectl patch workloads.kueue.x-k8s.io {name} -n {namespace} --type=merge -p '{patch}'"
        text = f"Workload {name} in queue {queue} is deactivated{f': {why}' if why else ''}"
        return Cause("Deactivated", text, f"activate it with: {command}")
    if _is_true(workload, "Admitted"):
        return None
    if _is_true(workload, "QuotaReserved"):
        states = workload.get("status", {}).get("admissionChecks") or []
        checks = [_check(state) for state in states if state.get("state") != "Ready"]
        text = f"queue {queue} has reserved quota for it; admission checks: {', '.join(checks) or 'not all done'}"
        return Cause("WaitingForAdmissionCheck", text)
    condition = stored_condition(workload, "QuotaReserved")
    said = str(condition.get("message", "")).strip() or "Kueue has not reported a reason yet"
    text = f"it waits in queue {queue}{_position_text(position)}: {said}{_requeue_text(workload, now)}"
    return Cause(_word(condition), text)


def _check(state: Json) -> str:
    message = f" ({state['message']})" if state.get("message") else ""
    return f"{state.get('name')} is {state.get('state')}{message}"


def _word(condition: Json) -> str:
    reason, message = condition.get("reason", ""), condition.get("message", "")
    if "maximum capacity" in message:
        return "QuotaTooSmall"
    if "insufficient" in message or reason == "WaitingForQuota" or "borrowing limit" in message:
        return "WaitingForQuota"
    return "Inadmissible" if reason == "Inadmissible" else "Queued"


def _position_text(position: Position | None) -> str:
    if position is None:
        return ""
    return f" (number {position.in_queue} in it, number {position.in_cluster_queue} in its ClusterQueue)"


def _requeue_text(workload: Json, now: datetime) -> str:
    """A sentence: the job was evicted and requeued, and when it is considered again."""
    text = ""
    if _is_true(workload, "Evicted") and (why := _message(workload, "Preempted") or _message(workload, "Evicted")):
        text += f". It was requeued: {why}"
    again = moment((workload.get("status", {}).get("requeueState") or {}).get("requeueAt"))
    if again is not None and again > now:
        text += f". It is considered again at {again.strftime('%H:%M:%S')}Z"
    return text


def _is_true(workload: Json, type: str) -> bool:
    return stored_condition(workload, type).get("status") == "True"


def _message(workload: Json, type: str) -> str:
    return str(stored_condition(workload, type).get("message", "")).strip()
