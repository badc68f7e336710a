"""S01: one rank keeps the others waiting at each step: they are in a collective in most samples, it hardly ever.

Does not say that its hardware is at fault. Taking samples slows ranks a little itself.
"""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.evidence import Frame
from shunter.doctor.rules.rule import Rule
from shunter.doctor.rules.stacks.h01_hung import hung, needs
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.doctor.waiting import doing, place, rank_of, trainers, where

SAMPLES = 12
"""Fewer say nothing."""
LOWEST, NEXT = 0.2, 0.5


def judge(case: Case) -> list[Verdict]:
    if len(case.evidence.samples) < SAMPLES or hung(case) is not None:
        return []
    seen: dict[int, list[bool]] = {}
    places: dict[int, list[Frame]] = {}
    for sample in case.evidence.samples:
        for process in trainers(sample):
            rank = rank_of(case, process, sample)
            if rank is None or not process.frames or doing(process.frames) == "starting":
                continue
            waits = doing(process.frames) == "collective"
            seen.setdefault(rank, []).append(waits)
            if not waits and (frame := place(process.frames)) is not None:
                places.setdefault(rank, []).append(frame)
    shares = {rank: sum(waits) / len(waits) for rank, waits in seen.items() if len(waits) >= SAMPLES}
    if set(shares) < set(case.all_ranks) or len(shares) < 2:
        return []
    lowest, following = sorted(shares, key=lambda rank: shares[rank])[:2]
    if shares[lowest] >= LOWEST or shares[following] <= NEXT:
        return []
    frames = places.get(lowest, [])
    frame = max(frames, key=frames.count) if frames else None
    at = f", mostly in {where(frame)}" if frame is not None else ""
    return [
        Verdict(
            id="S01",
            title="STRAGGLER",
            cause=f"rank {lowest} keeps the others waiting{at}",
            confidence="likely",
            ranks=(lowest,),
            evidence=tuple(
                Excerpt(source="stack", text=f"in a collective in {sum(waits)} of {len(waits)} samples", rank=rank)
                for rank, waits in sorted(seen.items())
            ),
            remedy=f"Compare what rank {lowest} does, and its node, with the others.",
            victims=tuple(rank for rank in sorted(shares) if rank != lowest),
        )
    ]


RULE = Rule("S01", judge, needs)
