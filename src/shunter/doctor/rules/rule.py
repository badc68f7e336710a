"""A rule: an id, the sources that it needs, and a pure function from a case to its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from shunter.doctor.case import Case
from shunter.doctor.endings import Ending
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.verdicts import Excerpt, Verdict


def nothing(case: Case) -> tuple[str, ...]:
    """No source: the rule uses what there is, and is never listed as not checked."""
    return ()


def pods_and_events(case: Case) -> tuple[str, ...]:
    """For faults of jobs that do not run in full; without events if the pods suffice."""
    if case.overview.is_finished or (case.runs_in_full and not case.crash_loops):
        return ("pods",) if case.evidence.lacks("pods") else ()
    return ("pods", "events")


def logs_of_failures(case: Case) -> tuple[str, ...]:
    """For messages in the last lines of a container that failed."""
    return ("pods", "logs") if case.overview.state == "Failed" or case.failures else ("pods",)


class Rule(NamedTuple):
    """One rule."""

    id: str
    judge: Callable[[Case], Sequence[Verdict]]
    needs: Callable[[Case], tuple[str, ...]] = nothing
    """The sources without which it cannot be judged in this case."""
    yields: bool = False
    """Whether it only says how containers ended: left out for pods if another rule says why."""
    explains: bool = False
    """Whether its verdicts say why the containers of their pods ended."""
    decides: bool = True
    """Whether a job may not train although no other rule has a verdict; False for rules about slow ranks and wrong values."""


def of_pods(source: str, text: str, pods: Sequence[str]) -> tuple[Excerpt, ...]:
    """One excerpt of this source and text for each pod."""
    return tuple(Excerpt(source=source, text=text, pod=pod) for pod in pods)


def of_error(ending: Ending) -> Excerpt:
    """How a container ended, as one line of its log, else of its status."""
    rank = ending.failed_ranks[0] if len(ending.failed_ranks) == 1 else None
    if ending.error is not None:
        return Excerpt(
            source="log", text=ending.error.text, pod=ending.pod, container=ending.container, at=ending.error.at, rank=rank
        )
    code = f"{ending.reason}, exit code {ending.exit_code}"
    return Excerpt(source="pod", text=code, pod=ending.pod, container=ending.container, at=ending.at, rank=rank)


def logs_command(case: Case, ending: Ending, *options: str) -> str:
    """The command that shows the log of a container that ended. Its `--rank` is the pod's, which may have several ranks. Of a pod
    that is gone, the last lines are in the job's record, which `describe` shows: `logs` would show those of its successor."""
    pod = case.pod(ending.pod)
    if not pod:
        return f"shunter describe {case.overview.name} -n {case.overview.namespace}"
    number = case.members.of(pod).rank
    rank = ("--rank", str(number)) if number is not None else ()
    return " ".join(("shunter logs", case.overview.name, "-n", case.overview.namespace, *rank, *options))


def ranks_of(endings: Sequence[Ending]) -> tuple[int, ...]:
    """The ranks that failed, sorted, each once; empty if no container has a rank."""
    return tuple(sorted({rank for one in endings for rank in one.failed_ranks}))


def ranks_text(endings: Sequence[Ending]) -> str:
    """The ranks of containers, as `ranks 0 and 2`; for containers without a rank, as a launcher's or a sidecar's, the first with
    its pod."""
    ranks = ranks_of(endings)
    if ranks:
        return rank_list(ranks)
    return f"container {endings[0].container} of pod {endings[0].pod}"


def pods_of(endings: Sequence[Ending]) -> tuple[str, ...]:
    """The names of their pods, each once, in the order of the endings."""
    return tuple(dict.fromkeys(one.pod for one in endings))
