"""Which ranks are in which pod. A pod may hold several: a launcher starts one process for each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shunter.api.core import variables_of
from shunter.api.formats.counts import joined, noun
from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import gpus_of
from shunter.api.trainer.runtime import LAUNCHER
from shunter.doctor.launcher import launcher_trains
from shunter.jobs.commands.launches import launchers_in
from shunter.jobs.pods_up import requested_ranks
from shunter.jobs.training_pods import pods_by_rank, training_container, training_pods
from shunter.operator.overview import is_pod_of, is_v1, is_v2
from shunter.operator.pod_places import Places
from shunter.operator.training.frameworks.pytorch import processes_per_node

NPROC_VARIABLE = "PET_NPROC_PER_NODE"
"""The number of processes that torchrun starts without an option."""
NO_RANKS = (LAUNCHER, "ps", "evaluator")
"""Roles of pods without ranks: launchers that start ranks in other pods (mpirun), and tasks of TensorFlow that take part in no
collective and never end by themselves."""
_OF_OTHER_LAUNCHER = late_pattern(
    r"(?:\btune run|\bpaddle\.distributed\.(?:launch|run)|\bcolossalai run)\b[^;&|]{0,2000}?\s--nproc[-_]per[-_]node[\s=]+(\d+)\b"
)
"""The option of torchrun in launchers that are read no further: torchtune's, Paddle's and ColossalAI's."""
GPU_WORDS = ("auto", "gpu", "xpu")
"""For which torchrun counts devices (torch.distributed.run)."""


def ranks_by_pod(
    job: Json, pods: Sequence[Json], jobset: Json | None = None, hosts: Sequence[str] | None = None
) -> dict[str, tuple[int, ...]]:
    """The ranks of each pod that trains, by the pod's name; a replacement has the ranks of the pod that it replaces. `hosts` are
    the nodes of a TrainJob with MPI. If it is unknown whether the launcher is one of them, pods whose ranks depend on that are
    left out."""
    own = [pod for pod in pods if is_pod_of(job, pod)]
    trains = launcher_trains(job, own, jobset, hosts)
    if trains is not None:
        return _ranks_by_pod(job, own, _without_ranks(trains))
    with_it = _ranks_by_pod(job, own, _without_ranks(True))
    return {name: ranks for name, ranks in _ranks_by_pod(job, own, NO_RANKS).items() if with_it.get(name) == ranks}


def _ranks_by_pod(job: Json, own: Sequence[Json], without: Sequence[str]) -> dict[str, tuple[int, ...]]:
    its = Places(job)
    newest = training_pods(job, own)
    trains = [pod for pod in newest if its.of(pod).role not in without] or newest
    numbers = _v2_numbers(job, own, trains) if is_v2(job) else _numbers(job, trains)
    by_label = {its.of(pod).label: number for pod, number in zip(trains, numbers, strict=True)}
    slots = _slots(job)
    found = {}
    for pod in own:
        number = by_label.get(its.of(pod).label)
        if number is None:
            continue
        size = processes(pod) if slots is None else slots
        found[pod["metadata"]["name"]] = tuple(range(number * size, (number + 1) * size))
    return found


def ranks_of_number(job: Json, numbered: Mapping[int, tuple[int, ...]], number: int) -> tuple[int, ...]:
    """The ranks of the pod with this number, which may be gone: those of its replacement, else as many as the other pods have.
    `numbered` are the ranks of the pods that exist, by their numbers; without any the job's own number of processes counts."""
    if number in numbered:
        return numbered[number]
    if ranked := [other for other, ranks in numbered.items() if ranks]:
        nearest = min(ranked, key=lambda other: abs(other - number))
        size = len(numbered[nearest])
        first = numbered[nearest][0] + (number - nearest) * size
        return tuple(range(first, first + size)) if first >= 0 else ()
    spec = job.get("spec", {})
    if (slots := _slots(job)) is not None:
        size, number = slots, number - 1  # behind the launcher, which has none
    else:
        size = (spec.get("trainer") or {}).get("numProcPerNode") or processes_per_node(spec.get("nprocPerNode"))
    return tuple(range(number * size, (number + 1) * size)) if number >= 0 else ()


def rank_count(
    job: Json,
    found: Mapping[str, tuple[int, ...]],
    jobset: Json | None = None,
    hosts: Sequence[str] | None = None,
    pods: Sequence[Json] = (),
) -> int:
    """How many ranks the job has once all its pods exist, by those that `ranks_by_pod` found; one per pod if it found none. 0
    if that is not known."""
    size = max(map(len, found.values()), default=_slots(job) or 1)
    trains = launcher_trains(job, [pod for pod in pods if is_pod_of(job, pod)], jobset, hosts)
    if hosts:
        nodes = len(hosts)
    elif trains is None:
        # A job of one node may have two pods that train.
        nodes = number if (number := (job["spec"].get("trainer") or {}).get("numNodes") or 0) > 1 else 0
        if not nodes:
            return 0
    else:
        nodes = requested_ranks(job, jobset, without=_without_ranks(trains)) or requested_ranks(job, jobset) or 0
    return max(len({rank for ranks in found.values() for rank in ranks}), nodes * size)


def _slots(job: Json) -> int | None:
    """The ranks of each worker of an MPIJob; None if it does not say, and for other jobs."""
    slots = job.get("spec", {}).get("slotsPerWorker") if job.get("kind") == "MPIJob" else None
    return slots if isinstance(slots, int) else None


def _without_ranks(launcher_trains: bool) -> tuple[str, ...]:
    """The roles of pods without ranks."""
    return tuple(role for role in NO_RANKS if role != LAUNCHER or not launcher_trains)


def _v2_numbers(job: Json, own: Sequence[Json], trains: Sequence[Json]) -> list[int]:
    """The place of each pod of a TrainJob: its rank, less the pods without ranks before it."""
    ranks = {pod["metadata"]["name"]: rank for rank, pod in pods_by_rank(job, own).items()}
    found = [ranks[pod["metadata"]["name"]] for pod in trains]
    others = set(ranks.values()) - set(found)
    return [rank - sum(one < rank for one in others) for rank in found]


def _numbers(job: Json, trains: Sequence[Json]) -> list[int]:
    """The place of each pod of a v1 job, or of a Job, among those that hold ranks."""
    its = Places(job)
    found = [its.of(pod) for pod in trains]
    has_launcher = is_v1(job) and job.get("kind") == "MPIJob" and all(one.role not in NO_RANKS for one in found)
    return [one.pod - has_launcher for one in found]


def processes(pod: Json) -> int:
    """How many ranks the launcher in the pod starts; 1 by default."""
    container = next(one for one in pod["spec"]["containers"] if one["name"] == training_container(pod))
    words = (*(container.get("command") or ()), *(container.get("args") or ()))
    started = {one.launcher: one for one in reversed(launchers_in(words))}
    gpus = gpus_of({"containers": [container]})
    if "torchrun" in started or not words:
        value = (started["torchrun"].option("nproc-per-node") or "") if words else ""
        if not (value.isdecimal() or value in GPU_WORDS):
            value = variables_of(container).get(NPROC_VARIABLE, "")
        number = int(value) if value.isdecimal() else gpus if value in GPU_WORDS else 1
    elif launcher := started.get("accelerate"):
        number = (launcher.number("num-processes") or gpus) // (launcher.number("num-machines") or 1)
    elif launcher := started.get("deepspeed"):
        number = launcher.number("num-gpus") or gpus
    else:
        found = None if started else _OF_OTHER_LAUNCHER.search(" ".join(map(str, words)).replace("\\\n", " "))
        number = int(found[1]) if found else 1
    return max(1, number)


def rank_list(ranks: Sequence[int]) -> str:
    """`rank 1`, `ranks 0 and 2`, `ranks 0-3 and 7`."""
    if not ranks:
        return "no rank"
    return f"{noun(len(set(ranks)), 'rank')} {joined(spans(ranks))}"


def spans(ranks: Sequence[int]) -> list[str]:
    """Numbers in order, three or more neighbours as a span: 0, 2, 4-7."""
    found: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if found and rank == found[-1][-1] + 1:
            found[-1].append(rank)
        else:
            found.append([rank])
    return [text for run in found for text in ([f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run))]
