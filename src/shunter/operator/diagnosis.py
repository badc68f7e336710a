"""What went wrong with a job, read off its pods: which pod, which container, and in whose words. Pure; input is plain JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timedelta

import msgspec

from shunter.api.core import STARTING, TerminatedState, container_statuses
from shunter.api.formats.counts import count
from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json, ObjectMeta, Struct, stored_condition
from shunter.operator.deleted_pods import is_ended_by_deletion, is_stopped
from shunter.operator.overview import moment

RANK_FAILED = "RankFailed"
"""Reason of the event with the fault of a pod that may soon be deleted, and the last lines of its log."""


def recorded_failure(event: Json) -> tuple[str, list[str]]:
    """The fault that an event RankFailed reports, and the last lines of the pod's log, if it could be read in time."""
    fault, _, words = str(event.get("message", "")).strip().partition(". Last log lines:\n")
    return fault, words.splitlines()


class Fault(Struct, frozen=True):
    """One container that ended badly or cannot start; no container when it is the pod as a whole."""

    pod: str
    reason: str
    container: str = ""
    exit_code: int | None = None
    message: str = ""
    restarts: int = 0
    is_waiting: bool = False
    """True when it has not started again: its output is in the `previous` log."""
    runs_again: bool = False
    """True when it has been restarted and runs: it is hardly the cause of a later failure."""
    is_by_deletion: bool = False
    """True when it ended because its pod had been deleted."""
    ended: str = ""
    """When it went wrong (RFC 3339); empty when its status does not say."""

    @property
    def short(self) -> str:
        """How it ended or why it waits, without where."""
        code = f"exit code {self.exit_code}{meaning(self.exit_code)}" if self.exit_code is not None else ""
        return ", ".join(part for part in (self.reason if self.reason != "Error" or not code else "", code) if part)

    def __str__(self) -> str:
        code = f", exit code {self.exit_code}{meaning(self.exit_code)}" if self.exit_code is not None else ""
        again = f" after {count(self.restarts, 'restart')}" if self.restarts else ""
        text = f": {self.message.strip()}" if self.message.strip() else ""
        where = f"pod {self.pod}, container {self.container}" if self.container else f"pod {self.pod}"
        return f"{where}: {self.reason}{code}{again}{text}"


def faults(pods: Sequence[Json]) -> list[Fault]:
    """Containers of these pods that failed or cannot start, the first to fail first, as later ones are often its victims;
    those that run again last."""
    found: list[tuple[str, Fault]] = []
    for pod in pods:
        status = pod.get("status", {})
        name = pod["metadata"]["name"]
        containers = container_statuses(pod)
        if status.get("phase") == "Failed" and status.get("reason"):
            # Its node ended it (evicted, past its deadline): how its containers took that says nothing.
            ended = max(map(when, containers), default="")
            found.append((ended, Fault(pod=name, reason=status["reason"], message=status.get("message", ""))))
            continue
        found.extend((when(container), fault) for container in containers if (fault := _of_container(pod, container)))
        if unscheduled := unschedulable(status):
            found.append(("", Fault(pod=name, reason="Unschedulable", message=unscheduled, is_waiting=True)))
    # Times have whole seconds: in the second of a failure those that were stopped are its victims.
    found.sort(key=lambda pair: (pair[1].runs_again, pair[0] or "9", is_stopped(pair[1].exit_code, pair[1].reason)))
    return [msgspec.structs.replace(fault, ended=ended) for ended, fault in found]


def _of_container(pod: Json, container: Json) -> Fault | None:
    fault = container_fault(pod["metadata"]["name"], container)
    if fault is None or "deletionTimestamp" not in pod["metadata"]:
        return fault
    ended = failed(container.get("state", {})) or failed(container.get("lastState", {}))
    deletion = {name: value for name, value in pod["metadata"].items() if name.startswith("deletion")}
    is_by_deletion = ended is not None and is_ended_by_deletion(
        msgspec.convert(deletion, ObjectMeta), msgspec.convert(ended, TerminatedState)
    )
    return msgspec.structs.replace(fault, is_by_deletion=is_by_deletion)


VICTIM = late_pattern(
    r"connection (was )?(reset|closed|aborted) by (remote )?peer|broken pipe|socket closed|remote process exited|ChildFailedError"
    r"|failed to recv, got 0 bytes|NCCL.*(remote error|unhandled system error)"
    r"|recvValue failed|received signal 15|SignalException.*15",
    re.IGNORECASE,
)
"""Matches the last line of a process that ended because another one did."""
TOGETHER = timedelta(seconds=10)
"""Ranks that fail within this time of the first may be its causes as well as its victims: times have whole seconds."""
_SIGTERM = 143


_SIGTERM_WORDS = late_pattern(r"SignalException|received signal 15|stopped by SIGTERM", re.IGNORECASE)
"""What torchrun, and programs that say so, write after a SIGTERM. torchrun then ends with exit code 1, whatever else."""
_STOPPED = late_pattern(r"stopped by SIGTERM\b.*", re.IGNORECASE)


def stopped(pod: Json, fault: Fault, lines: Sequence[str]) -> str:
    """`stopped by SIGTERM`, or what the program says of it (`stopped by SIGTERM, saved step 13`), when that is how the container
    ended: its pod was deleted or disrupted, and exit code or log (`lines`) tell of the signal. Else empty: a pod that had failed
    before may have been deleted since."""
    is_taken_away = disruption(pod) is not None or "deletionTimestamp" in pod["metadata"]
    if fault.exit_code is None or not is_taken_away:
        return ""
    if said := stop_words(lines):
        return said
    is_signalled = fault.exit_code == _SIGTERM or any(_SIGTERM_WORDS.search(line) for line in lines)
    return "stopped by SIGTERM" if is_signalled else ""


def disruption(pod: Json) -> str | None:
    """Why Kubernetes takes the pod away (an eviction, a preemption, a taint, a node that is shut down), as its condition
    DisruptionTarget says; None when it does not."""
    condition = stored_condition(pod, "DisruptionTarget")
    is_true = condition.get("status") == "True"
    return str(condition.get("message") or condition.get("reason") or "no reason is given") if is_true else None


def stop_words(lines: Sequence[str]) -> str:
    """What a program wrote last of being stopped, `stopped by SIGTERM, saved step 13`; empty when it did not."""
    said = [match[0].strip() for line in lines if (match := _STOPPED.search(line))]
    return said[-1] if said else ""


def together(found: Sequence[Fault]) -> list[Fault]:
    """The faults within `TOGETHER` of the first: one of them is the cause of the others."""
    first = moment(found[0].ended) if found else None
    if first is None:
        return list(found[:1])
    return [fault for fault in found if (at := moment(fault.ended)) is not None and at - first <= TOGETHER]


def by_cause(found: Sequence[Fault], last_line: Callable[[Fault], str]) -> list[Fault]:
    """The faults, the likely cause first: the first to fail whose last line does not say that it lost a peer or was stopped."""
    near = together(found)
    cause = next((fault for fault in near if not is_victim(fault, last_line(fault))), found[0] if found else None)
    return [] if cause is None else [cause, *(fault for fault in found if fault is not cause)]


def is_victim(fault: Fault, last_line: str) -> bool:
    """Whether the fault's container ended because of another: by the deletion of its pod, with the exit code of SIGTERM, or with
    last words that match `VICTIM`. What ran out of memory is no victim whatever its last words."""
    if fault.is_by_deletion or fault.exit_code == _SIGTERM:
        return True
    return fault.reason != "OOMKilled" and VICTIM.search(last_line) is not None


def container_fault(pod: str, container: Json) -> Fault | None:
    """How a container failed, this time or else the time before; or why it waits. None where it does neither: what is only
    `STARTING` counts with a message alone. `ended` is left to `faults`."""
    state, last = container.get("state", {}), container.get("lastState", {})
    waiting = state.get("waiting")
    ended = failed(state) or failed(last)
    if ended:
        return Fault(
            pod=pod,
            container=container["name"],
            reason=ended.get("reason", "Error"),
            exit_code=ended["exitCode"],
            message=ended.get("message", ""),
            restarts=container.get("restartCount", 0),
            is_waiting=failed(state) is None,
            runs_again="running" in state,
        )
    if waiting and (waiting.get("reason", "") not in STARTING or waiting.get("message")):
        return Fault(
            pod=pod,
            container=container["name"],
            reason=waiting.get("reason", "Waiting"),
            exit_code=None,
            message=waiting.get("message", ""),
            restarts=container.get("restartCount", 0),
            is_waiting=True,
        )
    return None


def failed(state: Json) -> Json | None:
    """The terminated state of a container that ended with an error."""
    ended: Json | None = state.get("terminated")
    return ended if ended and ended.get("exitCode", 0) != 0 else None


def when(container: Json) -> str:
    """When the container first went wrong, as far as its status still says; sorts as text."""
    for state in (container.get("lastState", {}), container.get("state", {})):
        if finished := state.get("terminated", {}).get("finishedAt"):
            return str(finished)
    return ""


def unschedulable(status: Json) -> str:
    """What the condition PodScheduled of a pod's status says while it is False; empty otherwise."""
    for condition in status.get("conditions", []):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("message", ""))
    return ""


SIGNALS = {
    130: "SIGINT",
    132: "illegal instruction",
    134: "SIGABRT",
    135: "SIGBUS",
    136: "SIGFPE",
    137: "SIGKILL",
    139: "segmentation fault",
    143: "SIGTERM",
}


def meaning(exit_code: int) -> str:
    """What the shell's exit code convention says, where it says something."""
    return f" ({SIGNALS[exit_code]})" if exit_code in SIGNALS else ""
