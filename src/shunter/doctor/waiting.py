"""What each rank does, by the stacks of two samples: starting, waiting for others, waiting for data, or its own work. Pure.

A wait for the GPU does not show in a Python stack: CUDA waits in C, and keeps a CPU busy. So does a wait in a call of MPI, which
polls for messages. `Rank.spins` covers both.

One sample is not enough: a rank that is still importing looks idle, and so does a straggler. So a rank counts only if it does the
same in two samples, and the group only if it made no progress between them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple

from shunter.doctor.case import Case
from shunter.doctor.evidence import Frame, Process, Sample
from shunter.doctor.redaction import short_command
from shunter.kube.pods.log_times import time_of
from shunter.operator.overview import moment
from shunter.operator.program_logs.lines import Line, is_warning

Doing = Literal["starting", "rendezvous", "collective", "data", "own"]

_SIGNS = {
    "starting": re.compile(r"importlib|_find_and_load|<frozen zipimport>|^site\.py"),
    "rendezvous": re.compile(
        r"_create_c10d_store|rendezvous|init_process_group|init_device_mesh|jax/_src/distributed\.py|_store_based_barrier|TCPStore"
    ),
    "collective": re.compile(
        r"torch/distributed/|_engine_run_backward|torch/cuda/(?:__init__|streams)\.py|horovod/|xgboost/(?:collective|rabit)"
        r"|block_until_ready|jax/experimental/multihost_utils|mpi4py|deepspeed/comm/|tensorflow/python/distribute"
        r"|paddle/distributed/(?!launch)"
    ),
    "computes or waits": re.compile(
        r"xgboost/core\.py|tensorflow/python/eager/execute\.py|jax/_src/(?:pmap|pjit|array|dispatch|interpreters/pxla)\.py"
    ),
    "cuda wait": re.compile(r"\b(?:synchronize|wait_event|wait_stream)\b"),
    "data": re.compile(r"torch/utils/data/"),
    "loader": re.compile(r"_MultiProcessingDataLoaderIter"),
    "exits": re.compile(r"threading\.py _shutdown$|multiprocessing/util\.py _exit_function$"),
    "next data": re.compile(r"_next_data"),
    "takes long": re.compile(r"torch/(?:_inductor|_dynamo|serialization)|triton/|safetensors"),
    "agent": re.compile(
        r"torch/distributed/(?:run|launcher|elastic)|bin/torchrun|accelerate/commands/launch|deepspeed/launcher|mpirun"
        r"|paddle/distributed/launch"
    ),
}
"""What a call is a sign of, by its file and function."""
_MONITORS = re.compile(
    r"wandb-(?:core|service|xpu).*|gpu_stats|nvidia-smi|nvtop|nvitop|gpustat|dcgm.*|nv-hostengine|rocm-smi|amd-smi"
    r"|fluent-bit|fluentd|filebeat|vector|promtail|telegraf|node_exporter|tensorboard|htop|top|vmstat|iostat|mpstat|pidstat"
)
"""Programs that wake all the time and run as long as the rank: that they wake does not show that the rank goes on. Not mlflow
and wandb themselves, which also copy files."""
INNERMOST = 4
"""The innermost calls, one of which must be the wait: outer ones only show where the work was started."""
BUSY = 0.3
"""Share of the time between samples on a CPU from which a rank works, or is stuck in a loop."""
IDLE = 0.05
"""Share up to which a process counts as idle: its other threads may run now and then."""
MESSAGE_SECONDS = 0.05
"""Lines closer than this are one message."""
QUIET_GAPS = 3
"""Median gaps between log lines that silence must last to count,"""
LEAST_SILENCE = 15.0
"""and seconds: one rank may be saving a checkpoint while the others wait."""
UNBROKEN = 0.9
"""Share of the time between samples on a CPU from which a process ran all the time, as one does that waits for its GPU."""
STOPPED = "T"
"""State of a process that a signal has stopped, in /proc/PID/stat."""
LEAST_AGE = 90.0
"""Seconds that ranks must have run if they have logged nothing."""
LEAST_START = 300.0
"""Seconds that ranks must have run before one that imports may count as one that does not go on."""


class Rank(NamedTuple):
    """What one rank does in both samples."""

    rank: int
    pod: str
    doing: Doing
    first: Process
    last: Process
    children: tuple[Process, ...]
    """Its child processes, in the last sample."""
    is_same: bool
    """Whether it did the same in both."""
    spins: bool = False
    """Whether it was at one line of its own code in both and ran all the time, as a rank does that waits for its GPU, or in a
    call of MPI. A long computation looks the same. False for a process that has loaded neither."""
    may_go_on: bool = False
    """Whether it may go on by itself: it or a descendant uses a CPU or a disk, or wakes often, as in a download, or it compiles
    or saves. Of monitors it does not count that they wake. False for ranks that wait: in the rendezvous they wake to poll."""

    @property
    def place(self) -> Frame | None:
        """The program's innermost call."""
        return place(self.last.frames)

    @property
    def is_asleep(self) -> bool:
        """Whether it slept in both samples, or waits for its GPU. A process that runs or waits for a disk waits for no rank."""
        return self.first.state == self.last.state == "S" or _has("cuda wait", self.last.frames[:2])

    @property
    def is_stopped(self) -> bool:
        """Whether a signal (SIGSTOP) had stopped it in both samples."""
        return self.first.state == self.last.state == STOPPED

    @property
    def cpu_seconds(self) -> float:
        """Between the samples."""
        return self.last.cpu_seconds - self.first.cpu_seconds

    def was_woken(self, seconds: float) -> bool:
        """Whether it was woken between the samples, which are so many seconds apart, more often than they wake it themselves."""
        return _was_woken(self.first, self.last, seconds)


class Group(NamedTuple):
    """All ranks, in two samples."""

    ranks: tuple[Rank, ...]
    seconds: float
    """Between the samples."""
    is_whole: bool
    """Whether there is a stack of each rank of the job in both."""

    def doing(self, *what: Doing) -> list[Rank]:
        """The ranks that do one of `what`, in their order."""
        return [rank for rank in self.ranks if rank.doing in what]


def group(case: Case) -> Group | None:
    """The ranks by the first and the last of the blocking samples; None without two samples."""
    return case.once(_group)


def _group(case: Case) -> Group | None:
    if len(case.evidence.samples) < 2:
        return None
    first, last = case.evidence.samples[0], case.evidence.samples[1]
    before = {(process.pod, process.pid): process for process in trainers(first)}
    before_of = {(process.pod, process.pid): process for process in first.processes}
    started: dict[tuple[str, int], list[Process]] = defaultdict(list)
    for process in last.processes:
        started[process.pod, process.parent].append(process)
    found = []
    for rank, process in ranked(case):
        earlier = before.get((process.pod, process.pid))
        if earlier is None or not process.frames or not earlier.frames:
            continue
        children = tuple(started.get((process.pod, process.pid), ()))
        seconds = (last.at - first.at).total_seconds()
        same = process.frames == earlier.frames or _point(process.frames) == _point(earlier.frames)
        does: Doing = "collective" if same and _waits_in_library(earlier, process, seconds) else doing(process.frames)
        if earlier.state == process.state == STOPPED:
            does = "own"  # wherever it was then
        spins = same and does == "own" and _spins(earlier, process, seconds)
        may_go_on = False
        # Not needed of waiting ranks, of which there may be thousands with eight processes each.
        if does in ("own", "data", "starting"):
            own = [(process, False)]
            for one, monitors in own:
                own += ((child, monitors or _is_monitor(child)) for child in started.get((one.pod, one.pid), ()))
            active = any(_is_active(before_of.get((one.pod, one.pid)), one, seconds, monitors=monitors) for one, monitors in own)
            may_go_on = active or _has("takes long", process.frames[:INNERMOST])
        found.append(Rank(rank, process.pod, does, earlier, process, children, same, spins, may_go_on))
    whole = {rank.rank for rank in found} >= set(case.all_ranks) and len(found) == len({rank.rank for rank in found})
    return Group(tuple(sorted(found)), (last.at - first.at).total_seconds(), whole and bool(found) and bool(case.all_ranks))


def trainers(sample: Sample) -> list[Process]:
    """The processes that are ranks: those that are no launcher, and whose parent is a launcher or unknown."""
    python = [one for one in sample.processes if one.is_python]
    by_pid = {(one.pod, one.pid): one for one in python}
    known: dict[int, bool] = {}

    def is_rank(one: Process) -> bool:
        found = known.get(id(one))
        if found is None:
            found = known[id(one)] = not is_agent(one)
        return found

    found = []
    for one in python:
        above = by_pid.get((one.pod, one.parent))
        if (above is None or not is_rank(above)) and is_rank(one):
            found.append(one)
    return found


def is_agent(process: Process) -> bool:
    """Whether it is a launcher that waits for the ranks that it started."""
    return _has("agent", process.frames)


def ranked(case: Case) -> list[tuple[int, Process]]:
    """The ranks of the second sample, each with its number; without those whose number is unknown."""
    return case.once(_ranked)


def _ranked(case: Case) -> list[tuple[int, Process]]:
    found = trainers(case.evidence.samples[1])
    in_pod = Counter(one.pod for one in found)
    numbers = [_rank_of(case, one, is_alone=in_pod[one.pod] == 1) for one in found]
    return [(rank, one) for rank, one in zip(numbers, found, strict=True) if rank is not None]


def _rank_of(case: Case, process: Process, *, is_alone: bool) -> int | None:
    """The rank by the process's own environment, else by its pod, if it is the only rank there. Not by the pod with MPI: mpirun
    decides where each rank runs."""
    own = case.ranks.get(process.pod, ())
    if process.rank is not None and (process.rank in own or not own or not is_alone or process.uses_mpi):
        return process.rank
    return own[0] if len(own) == 1 and is_alone else process.rank


@lru_cache(maxsize=2**12)
def doing(frames: tuple[Frame, ...]) -> Doing:
    """What a process does, by its stack with the innermost call first. Cached, as most ranks of a job have the same."""
    near = frames[:INNERMOST]
    if _has("starting", frames):
        return "starting"
    if _has("rendezvous", frames):
        return "rendezvous"
    if _has("data", near) or _has("loader", frames):
        return "data"
    if _has("collective", near) or _has("cuda wait", near[:2]):
        return "collective"
    return "data" if any(_signs(frame.file, frame.function) >= {"data", "next data"} for frame in frames) else "own"


@lru_cache(maxsize=2**12)
def _has(sign: str, frames: tuple[Frame, ...]) -> bool:
    return any(sign in _signs(frame.file, frame.function) for frame in frames)


@lru_cache(maxsize=2**14)
def _signs(file: str, function: str) -> frozenset[str]:
    return frozenset(sign for sign, pattern in _SIGNS.items() if pattern.search(f"{file} {function}"))


def place(frames: Sequence[Frame]) -> Frame | None:
    """The program's innermost call, of a stack with the innermost call first; None if it has none."""
    return next((frame for frame in frames if frame.is_own), None)


def _point(frames: tuple[Frame, ...]) -> object:
    """Where a process is: what it does, its innermost calls, and the line of its own code."""
    return doing(frames), place(frames), [(frame.file, frame.function) for frame in frames[:INNERMOST]]


def _waits_in_library(first: Process, last: Process, seconds: float) -> bool:
    """Whether a process rests in a call in which its framework computes or waits for other ranks: XGBoost, TensorFlow and JAX
    communicate in there, without a Python call of its own."""
    is_in_call = _has("computes or waits", last.frames[:1])
    return is_in_call and first.state == last.state == "S" and last.cpu_seconds - first.cpu_seconds <= IDLE * seconds


def _spins(first: Process, last: Process, seconds: float) -> bool:
    """Whether a process ran from one sample to the other without leaving its innermost line, or giving up its CPU more than
    the samples themselves make it. With MPI a machine often has more ranks than CPUs: then each of them runs part of the time."""
    return (
        (last.uses_cuda is not False or last.uses_mpi)
        and first.frames == last.frames
        and first.state == last.state == "R"
        and last.cpu_seconds - first.cpu_seconds >= (IDLE if last.uses_mpi else UNBROKEN) * seconds
        and not _was_woken(first, last, seconds)
    )


def _is_active(first: Process | None, last: Process, seconds: float, *, monitors: bool) -> bool:
    """Whether a process did anything between the samples, or has started since the first. Of one that monitors, or was started
    by a monitor, it does not count that it wakes."""
    return (
        first is None
        or "D" in (first.state, last.state)
        or last.cpu_seconds - first.cpu_seconds > IDLE * seconds
        or (not monitors and _was_woken(first, last, seconds))
    )


def _is_monitor(process: Process) -> bool:
    """Whether it is one of `_MONITORS`, by its name, or by that of the script that Python runs."""
    names = [short_command(process.command).partition(" ")[0]]
    if process.is_python and process.frames:
        names.append(process.frames[-1].file.rpartition("/")[2])
    return any(_MONITORS.fullmatch(name) for name in names)


def _was_woken(first: Process, last: Process, seconds: float) -> bool:
    return last.switches - first.switches > seconds


def has_ended(rank: Rank) -> bool:
    """Whether its program has ended and the interpreter waits for threads or child processes."""
    return _has("exits", rank.last.frames)


def may_start(case: Case, ranks: Group) -> bool:
    """Whether a rank imports that may go on: it does something, or has not run for long. An import that only rests is none."""
    starting = ranks.doing("starting")
    if not starting:
        return False
    rest = all(rank.is_same and rank.is_asleep and not rank.may_go_on for rank in starting)
    return not rest or age(case, case.evidence.samples[1].at) < LEAST_START


def has_gpu_waits(ranks: Group) -> bool:
    """Whether ranks that use CUDA ran all the time between the samples while others mostly rested: they may wait for their GPUs,
    and so for the others, at any line."""
    runs = any(one.last.uses_cuda and one.cpu_seconds >= UNBROKEN * ranks.seconds for one in ranks.ranks)
    return runs and any(one.cpu_seconds < BUSY * ranks.seconds for one in ranks.ranks)


class Progress(NamedTuple):
    """Whether the job made progress between the samples."""

    is_made: bool
    is_comparable: bool
    """Whether logs would have shown it: ranks that never logged a line show nothing."""
    text: str
    """The evidence that there was none."""


def progress(case: Case, ranks: Group) -> Progress:
    """Whether the ranks make progress, from new log lines, the silence of logs, and whether ranks in a collective were woken.
    Ranks that have only just started or logged a line count as making progress."""
    last = case.evidence.samples[1]
    if wrote_between_samples(case):
        return Progress(True, True, "")
    # A collective that completes wakes its ranks. In the rendezvous they poll.
    woken = [rank for rank in ranks.doing("collective") if rank.was_woken(ranks.seconds)]
    silence, gap = quiet(case, last.at)
    if silence is None:
        # On a busy machine a start takes minutes, in which ranks that load libraries are at the same line in both samples.
        starts = age(case, last.at) < LEAST_AGE or not all(rank.is_asleep for rank in ranks.doing("collective", "rendezvous"))
        return Progress(bool(woken) or starts, False, "no rank has written anything that could be compared")
    if silence < _least_silence(gap):
        return Progress(True, True, "")
    return Progress(False, True, f"no rank has written a line for {int(silence)} s")


def wrote_between_samples(case: Case) -> bool:
    """Whether a rank wrote a line between the first two samples; False without two."""
    samples = case.evidence.samples
    return len(samples) > 1 and any(at != samples[0].last_lines.get(pod) for pod, at in samples[1].last_lines.items())


def writes_at_pace(case: Case) -> bool:
    """Whether a rank has written a line so recently that stacks would show no hang (see `progress`)."""
    if wrote_between_samples(case):
        return True
    silence, gap = quiet(case, case.now)
    return silence is not None and silence < _least_silence(gap)


def is_silent(case: Case) -> bool:
    """Whether no rank wrote a line between the samples, nor writes lines at a known pace: of a single line none is known."""
    _, gap = quiet(case, case.now)
    return not wrote_between_samples(case) and (gap is None or not writes_at_pace(case))


def _least_silence(gap: float | None) -> float:
    """Seconds that logs must be silent to count, by the median gap between lines."""
    return max(LEAST_SILENCE, QUIET_GAPS * (gap or 0))


def _times(lines: Sequence[Line]) -> list[datetime]:
    """The times of the lines that are no warnings."""
    return [at for line in lines if line.at and not is_warning(line.text) and (at := time_of(line.at)) is not None]


def age(case: Case, now: datetime) -> float:
    """Seconds since the last of the ranks' containers started."""
    starts = [
        started
        for pod in case.ranked
        for status in pod.get("status", {}).get("containerStatuses") or ()
        if (started := moment((status.get("state", {}).get("running") or {}).get("startedAt"))) is not None
    ]
    return (now - max(starts)).total_seconds() if starts else 0.0


def quiet(case: Case, now: datetime) -> tuple[float | None, float | None]:
    """Seconds since any rank logged a line that is no warning, and the median gap between the lines of the rank that logs least
    often; None if unknown."""
    last, gap = case.once(_pace)
    return None if last is None else (now - last).total_seconds(), gap


def _pace(case: Case) -> tuple[datetime | None, float | None]:
    """When a rank last logged a line that is no warning, and the median gap: by the last lines of each log, or by all if those
    are only warnings, or one message (a table of layers, for example), which show no pace."""
    last, gaps = None, []
    for pod, lines in case.last_lines.items():
        times = _times(lines)
        steps = _steps(times)
        if not steps:
            times = _times(case.rank_lines[pod])
            steps = _steps(times)
        if times:
            last = max(last or times[-1], times[-1])
        if steps:
            gaps.append(median(steps))
    return last, max(gaps, default=None)


def _steps(times: Sequence[datetime]) -> list[float]:
    """The seconds between messages; the lines of one message come at once."""
    return [seconds for one, other in pairwise(times) if (seconds := (other - one).total_seconds()) > MESSAGE_SECONDS]
