"""S01: one rank keeps the others waiting at each step: they are in a collective in most samples, and it hardly ever is.

Does not say that its hardware is at fault. Sampling itself slows ranks a little.

Ranks that wait for their GPUs run, at one line: if all others run there in most samples, and one hardly ever runs at all, that
one keeps them waiting. A rank that is busy on its CPU, or whose GPU is slow, runs as well: it gets no verdict. Of two ranks, the
one that runs may compute what the other waits for.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from shunter.doctor.case import Case
from shunter.doctor.evidence import Frame
from shunter.doctor.rank_texts import frame_text
from shunter.doctor.rules.rule import Rule
from shunter.doctor.rules.stacks.h01_hung import hung
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.doctor.waiting import Doing, doing, group, place, ranked, wrote_between_samples

SAMPLES = 12
"""Fewer do not show a straggler."""
LOWEST, NEXT = 0.2, 0.5
NEAR = 3
"""Innermost calls that are compared, with the program's innermost call and the depth, to see whether a stack is that of the
sample before. Comparing all calls of 512 ranks in 15 samples takes longer than all other rules."""


class Observation(NamedTuple):
    """What a rank does in one sample."""

    does: Doing
    place: Frame | None
    runs: bool
    """Whether it runs its own code and uses CUDA: it may wait for its GPU, or compute."""

    def waits(self, line: Frame | None) -> bool:
        """Whether it is in a collective, or runs at the line at which ranks wait for their GPUs."""
        return self.does == "collective" or (self.runs and line is not None and self.place == line)


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the stacks of 12 or more samples: the one rank that hardly ever waits or runs while all others mostly
    wait. At most likely, and only possible if the samples show no progress."""
    if len(case.evidence.samples) < SAMPLES or hung(case) is not None:
        return []
    observed = _observations(case)
    run_at = Counter(one.place for own in observed.values() for one in own if one.runs)
    line = run_at.most_common(1)[0][0] if run_at else None
    waits = {rank: sum(one.waits(line) for one in own) for rank, own in observed.items()}
    shares = {rank: waits[rank] / len(own) for rank, own in observed.items() if len(own) >= SAMPLES}
    if set(shares) < set(case.all_ranks) or len(shares) < 2:
        return []
    lowest, following = sorted(shares, key=lambda rank: shares[rank])[:2]
    if (
        max(shares[lowest], sum(one.runs for one in observed[lowest]) / len(observed[lowest])) >= LOWEST
        or shares[following] <= NEXT
    ):
        return []
    goes_on = _goes_on(case)
    frames = [one.place for one in observed[lowest] if not one.waits(line) and one.place is not None]
    frame = max(frames, key=frames.count) if frames else None
    at = f", mostly in {frame_text(frame)}" if frame is not None else ""
    what = (
        f"in a collective, or running at {frame_text(line)} like one that waits for its GPU,"
        if line is not None
        else "in a collective"
    )
    return [
        Verdict(
            id="S01",
            title="STRAGGLER",
            cause=f"rank {lowest} keeps the others waiting{at}{'' if goes_on else '; it is slow, or has just stopped'}",
            confidence="possible" if not goes_on or (line is not None and len(shares) == 2) else "likely",
            ranks=(lowest,),
            evidence=tuple(
                Excerpt(source="stack", text=f"{what} in {waits[rank]} of {len(own)} samples", rank=rank)
                for rank, own in sorted(observed.items())
            ),
            remedy=f"Compare what rank {lowest} does, and its node, with the others."
            if goes_on
            else "Run shunter doctor again in a minute: until then, a rank that hangs looks the same.",
            victims=tuple(rank for rank in sorted(shares) if rank != lowest),
        )
    ]


def _goes_on(case: Case) -> bool:
    """Whether the samples show progress: a line was logged between two of them, or a waiting rank was woken. A hang of seconds
    shows neither."""
    if wrote_between_samples(case):
        return True
    ranks = group(case)
    if ranks is None:
        return False
    return any(one.was_woken(ranks.seconds) for one in ranks.doing("collective"))


def _observations(case: Case) -> dict[int, list[Observation]]:
    """What each rank of the second sample does in all samples, except while it starts."""
    numbers = {(process.pod, process.pid): rank for rank, process in ranked(case)}
    observed: dict[int, list[Observation]] = {rank: [] for rank in numbers.values()}
    known: dict[int, _Stand] = {}
    for sample in case.evidence.samples:
        for process in sample.processes:
            rank = numbers.get((process.pod, process.pid))
            if rank is None or not (frames := process.frames):
                continue
            last = known.get(rank)
            if last is None or not last.holds(frames):
                last = known[rank] = _stand(frames)
            if last.rests.does != "starting":
                observed[rank].append(last.runs if process.uses_cuda and process.state == "R" else last.rests)
    return observed


class _Stand(NamedTuple):
    """A stack of a rank, and what the rank does there."""

    innermost: tuple[Frame, ...]
    depth: int
    own: int | None
    """The index of the program's innermost call."""
    rests: Observation
    runs: Observation

    def holds(self, frames: tuple[Frame, ...]) -> bool:
        """Whether these are the same calls, as far as they are compared."""
        if self.depth != len(frames) or self.innermost != frames[:NEAR]:
            return False
        return self.own is None or frames[self.own] == self.rests.place


def _stand(frames: tuple[Frame, ...]) -> _Stand:
    rests = Observation(doing(frames), own := place(frames), runs=False)
    at = frames.index(own) if own is not None else None
    return _Stand(frames[:NEAR], len(frames), at, rests, rests._replace(runs=rests.does == "own"))


def needs(case: Case) -> tuple[str, ...]:
    """Stacks, for a job of several ranks that runs in full."""
    return ("stacks",) if case.is_running_in_full and len(case.all_ranks) != 1 else ()


RULE = Rule("S01", judge, needs, decides=False)
