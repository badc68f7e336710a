"""S01: one rank keeps the others waiting at each step: they are in a collective in most samples, it hardly ever.

Does not say that its hardware is at fault. Taking samples slows ranks a little itself.

Ranks that wait for their GPUs run, at one line: where all others run there in most samples, and one hardly ever runs at all, that
one keeps them waiting. A rank that is busy on its CPU, or whose GPU is slow, runs as well: of it nothing is said. One rank that
runs while one rests may as well compute what that one waits for.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from shunter.doctor.case import Case
from shunter.doctor.evidence import Frame, Process
from shunter.doctor.rules.rule import Rule
from shunter.doctor.rules.stacks.h01_hung import hung, needs
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.doctor.waiting import Doing, doing, place, ranked, where

SAMPLES = 12
"""Fewer say nothing."""
LOWEST, NEXT = 0.2, 0.5


class Look(NamedTuple):
    """What a rank does in one sample."""

    does: Doing
    place: Frame | None
    runs: bool

    def waits(self, line: Frame | None) -> bool:
        """Whether it is in a collective, or runs at the line at which ranks wait for their GPUs."""
        return self.does == "collective" or (self.runs and line is not None and self.place == line)


def judge(case: Case) -> list[Verdict]:
    if len(case.evidence.samples) < SAMPLES or hung(case) is not None:
        return []
    seen: dict[int, list[Look]] = {}
    for sample in case.evidence.samples:
        for rank, process in ranked(case, sample):
            if process.frames and (does := doing(process.frames)) != "starting":
                seen.setdefault(rank, []).append(Look(does, place(process.frames), _runs(process, does)))
    run_at = Counter(one.place for own in seen.values() for one in own if one.runs)
    line = run_at.most_common(1)[0][0] if run_at else None
    waits = {rank: [one.waits(line) for one in own] for rank, own in seen.items()}
    shares = {rank: sum(own) / len(own) for rank, own in waits.items() if len(own) >= SAMPLES}
    if set(shares) < set(case.all_ranks) or len(shares) < 2:
        return []
    lowest, following = sorted(shares, key=lambda rank: shares[rank])[:2]
    if max(shares[lowest], sum(one.runs for one in seen[lowest]) / len(seen[lowest])) >= LOWEST or shares[following] <= NEXT:
        return []
    frames = [one.place for one in seen[lowest] if not one.waits(line) and one.place is not None]
    frame = max(frames, key=frames.count) if frames else None
    at = f", mostly in {where(frame)}" if frame is not None else ""
    what = (
        f"in a collective, or running at {where(line)} as one that waits for its GPU," if line is not None else "in a collective"
    )
    return [
        Verdict(
            id="S01",
            title="STRAGGLER",
            cause=f"rank {lowest} keeps the others waiting{at}",
            confidence="possible" if line is not None and len(shares) == 2 else "likely",
            ranks=(lowest,),
            evidence=tuple(
                Excerpt(source="stack", text=f"{what} in {sum(own)} of {len(own)} samples", rank=rank)
                for rank, own in sorted(waits.items())
            ),
            remedy=f"Compare what rank {lowest} does, and its node, with the others.",
            victims=tuple(rank for rank in sorted(shares) if rank != lowest),
        )
    ]


def _runs(process: Process, does: Doing) -> bool:
    """Whether it runs its own code and uses CUDA: it may wait for its GPU, or compute."""
    return bool(process.uses_cuda) and process.state == "R" and does == "own"


RULE = Rule("S01", judge, needs)
