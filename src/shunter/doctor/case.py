"""One job's evidence with what follows from it, the input of rules. Pure; each part is computed once, when a rule needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from shunter.api.meta import Json
from shunter.doctor.endings import Ending, endings
from shunter.doctor.evidence import Evidence
from shunter.doctor.launcher import hosts_in
from shunter.doctor.rank_locations import ranks_by_pod, ranks_of_number
from shunter.jobs.training_pods import training_container, training_pods
from shunter.operator.causes import Cause, cause, runs_in_full
from shunter.operator.causes.blocked_pod import BlockedPod
from shunter.operator.causes.pods import blocked_pods, crash_loops
from shunter.operator.native_jobs import is_native
from shunter.operator.overview import Overview, is_pod_of, overview
from shunter.operator.pod_places import Members, first_ranks, place, recorded_rank
from shunter.operator.program_logs.lines import Line, parsed

LAST_LINES = 50
T = TypeVar("T")


class Case:
    """The input of rules."""

    def __init__(self, evidence: Evidence, now: datetime) -> None:
        self.evidence = evidence
        self.now = now
        self.job = evidence.job
        self._found: dict[Callable[[Case], Any], Any] = {}

    def once(self, work: Callable[[Case], T]) -> T:
        """The result of this function for the case, computed once for all rules."""
        if work not in self._found:
            self._found[work] = work(self)
        found: T = self._found[work]
        return found

    @cached_property
    def overview(self) -> Overview:
        """Its row in `shunter jobs`, by the job object alone: the state may lag behind the pods."""
        return overview(self.job)

    @cached_property
    def pods(self) -> list[Json]:
        """The pods of this job, not of an earlier one of its name."""
        return [pod for pod in self.evidence.pods if is_pod_of(self.job, pod)]

    @cached_property
    def ranked(self) -> list[Json]:
        """The pods that train, in the order of their ranks; of a pod and its replacements the last."""
        return training_pods(self.job, self.pods)

    @cached_property
    def runs_in_full(self) -> bool:
        """Whether all its pods exist and run or have succeeded; False if no pod was read."""
        return runs_in_full(self.job, self.pods)

    @property
    def is_running_in_full(self) -> bool:
        """Whether the job runs with all its pods: the state in which hangs and slow ranks are looked for. A Job of Kubernetes
        whose pods run, but are not ready, is Created."""
        states = ("Running", "Created") if is_native(self.job) else ("Running",)
        return self.overview.state in states and self.runs_in_full

    @cached_property
    def ranks(self) -> dict[str, tuple[int, ...]]:
        """The ranks in each pod, by its name."""
        return ranks_by_pod(self.job, self.evidence.pods, self.jobset, self.hosts)

    @cached_property
    def jobset(self) -> Json | None:
        """The JobSet of a TrainJob, if it was read."""
        return next((child for child in self.evidence.children if child.get("kind") == "JobSet"), None)

    @cached_property
    def hosts(self) -> tuple[str, ...] | None:
        """The nodes of a TrainJob with MPI by its hostfile, if that was read."""
        return hosts_in(self.job, self.evidence.children)

    @cached_property
    def all_ranks(self) -> tuple[int, ...]:
        """The ranks of the pods that were read, sorted: fewer than the world size where pods are missing."""
        return tuple(sorted({rank for ranks in self.ranks.values() for rank in ranks}))

    @cached_property
    def log_ranks(self) -> dict[int, int]:
        """For each rank the number of its pod, by which `shunter logs --rank` and the page show its log: of 8 ranks a pod, that
        of rank 99 is 12. Only of pods that exist."""
        return {rank: number for number, ranks in self._numbered.items() for rank in ranks}

    @cached_property
    def _numbered(self) -> dict[int, tuple[int, ...]]:
        """The ranks of each pod that exists, by its number."""
        numbers = ((self.members.of(pod).rank, self.ranks.get(pod["metadata"]["name"], ())) for pod in self.pods)
        return {number: ranks for number, ranks in numbers if number is not None}

    def ranks_of_number(self, number: int) -> tuple[int, ...]:
        """The ranks of the pod with this number in the job, also if it is gone."""
        return ranks_of_number(self.job, self._numbered, number)

    def ranks_of_recorded(self, pod: str, number: int) -> tuple[int, ...]:
        """The ranks of a pod that may be gone, of which this number is recorded."""
        return self.ranks_of_number(recorded_rank(self.job, pod, number, self._first))

    @cached_property
    def _first(self) -> dict[str, int]:
        ranked = ((self.members.of(pod).rank, place(self.job, pod)) for pod in self.pods)
        return first_ranks((rank, found) for rank, found in ranked if rank is not None)

    def ranks_of(self, pods: Iterable[str]) -> tuple[int, ...]:
        """The ranks of the pods of these names, sorted, each once; a pod without a rank adds none."""
        return tuple(sorted({rank for pod in pods for rank in self.ranks.get(pod, ())}))

    @cached_property
    def by_label(self) -> dict[str, list[str]]:
        """The names of the pods by their label (`Worker 1`): a pod and its replacements have the same one."""
        found: dict[str, list[str]] = {}
        for pod in self.pods:
            found.setdefault(self.members.of(pod).label, []).append(pod["metadata"]["name"])
        return found

    @cached_property
    def members(self) -> Members:
        """The place of each pod in the job, with its rank in `shunter logs --rank`: a pod may hold several of `ranks`."""
        return Members(self.job, self.pods)

    def pod(self, name: str) -> Json:
        """The pod of this name; empty if it is gone."""
        return next((pod for pod in self.pods if pod["metadata"]["name"] == name), {})

    def container(self, pod: str, name: str) -> Json:
        """The container's spec; empty if its pod is gone."""
        spec = self.pod(pod).get("spec", {})
        both = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        found: Json = next((one for one in both if one["name"] == name), {})
        return found

    @cached_property
    def logs(self) -> dict[tuple[str, str, bool], str]:
        """The logs by pod, container, and whether they are of the previous run."""
        return {(log.pod, log.container, log.is_previous): log.text for log in self.evidence.logs}

    @cached_property
    def rank_logs(self) -> dict[str, str]:
        """The log of the current run of each pod that trains."""
        found = {}
        for pod in self.ranked:
            text = self.logs.get((pod["metadata"]["name"], training_container(pod), False))
            if text is not None:
                found[pod["metadata"]["name"]] = text
        return found

    @cached_property
    def rank_lines(self) -> dict[str, list[Line]]:
        """The lines of `rank_logs`. Parsing them is most of the work for a large job: prefer `last_lines`."""
        return {pod: parsed(text) for pod, text in self.rank_logs.items()}

    @cached_property
    def last_lines(self) -> dict[str, list[Line]]:
        """The last LAST_LINES lines of each of `rank_logs`."""
        return {pod: parsed(_end(text)) for pod, text in self.rank_logs.items()}

    @cached_property
    def endings(self) -> list[Ending]:
        """How containers of the job ended, causes first; empty for a job that has succeeded."""
        if self.overview.state == "Succeeded":
            return []
        return endings(self.job, self.pods, self.evidence.events, self.logs, self.ranks, self.ranks_of_recorded)

    @cached_property
    def failures(self) -> list[Ending]:
        """The endings that matter now; of a job that runs in full, those of containers that fail repeatedly, and of training
        that failed while other containers keep its pod running."""
        is_over = self.runs_in_full and not self.overview.is_finished

        def matters(one: Ending) -> bool:
            return not one.runs_again and (not is_over or self._is_kept_running(one))

        return [one for one in self.endings if self.is_looping(one) or matters(one)]

    def _is_kept_running(self, ending: Ending) -> bool:
        """Whether it is of the container that trains, of a pod that runs on and does not restart it."""
        pod = self.pod(ending.pod)
        if pod.get("status", {}).get("phase") != "Running" or pod["spec"].get("restartPolicy") != "Never":
            return False
        return ending.container == training_container(pod)

    @cached_property
    def reasons(self) -> list[Ending]:
        """The failures that no other failure caused."""
        return [one for one in self.failures if not one.is_victim]

    @cached_property
    def victims(self) -> tuple[int, ...]:
        """The ranks that failed because another did, sorted: those that `reasons` leaves out."""
        return tuple(sorted({rank for one in self.failures if one.is_victim for rank in one.ranks}))

    @cached_property
    def cause(self) -> Cause | None:
        """Why the job does not train, by `operator.causes`."""
        return cause(self.job, self.evidence.api, self.now)

    @cached_property
    def blocked_pods(self) -> list[BlockedPod]:
        """The pods that do not run, each with the reason, by `operator.causes`."""
        return [] if self.overview.is_finished else blocked_pods(self.job, self.pods, self.evidence.events, self.now)

    @cached_property
    def crash_loops(self) -> list[BlockedPod]:
        """Ranks that fail repeatedly."""
        return [] if self.overview.is_finished else crash_loops(self.job, self.pods, self.blocked_pods, self.now)

    @cached_property
    def looping_pods(self) -> set[str]:
        """The pods of the ranks in `crash_loops`."""
        return {pod for loop in self.crash_loops for pod in self.by_label.get(loop.label, ())}

    def is_looping(self, ending: Ending) -> bool:
        """Whether it is of a rank in `crash_loops`: of its pod, or of one that is gone, as all are after a JobSet's restart."""
        if ending.pod in self.looping_pods:
            return True
        return not self.pod(ending.pod) and not set(ending.ranks).isdisjoint(self.ranks_of(self.looping_pods))

    def pods_blocked_by(self, words: Sequence[str]) -> dict[tuple[str, str, str], list[str]]:
        """The pods that these causes block, by word, text and remedy."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for one in self.blocked_pods:
            if one.word in words and not one.is_loop:
                found.setdefault((one.word, one.text, one.remedy), []).extend(self.by_label.get(one.label, ()))
        return found


def _end(text: str) -> str:
    """The last LAST_LINES lines, each of them whole."""
    pieces = text.rsplit("\n", LAST_LINES + 1)
    return text if len(pieces) <= LAST_LINES + 1 else "\n".join(pieces[1:])
