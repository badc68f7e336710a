"""H04: the ranks' flight recorders differ: from the first such call on the job hangs, or computes wrong results.

NCCL silently pairs calls that differ, if it can: such a job continues, with wrong values. A rank is called behind only if the job
makes no progress and ranks still wait in its last call: recorders are read one after another.

Compares only groups of all ranks, and only calls that all recorders still hold: older ones are overwritten. gloo's entries stay
`scheduled` forever, so calls are compared by number and name, and ranks by the last call that they enqueued. Sizes are not
compared if ranks may pass tensors of different sizes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shunter.api.grouping import grouped_by
from shunter.doctor.case import Case
from shunter.doctor.evidence import Collective, Recording
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.doctor.waiting import group, progress

_UNEVEN = re.compile(r"all_?to_?all|scatter$|all_?gather$|_v(?:_|$)|coalesced", re.IGNORECASE)
REMEDY = "Look for a collective under `if rank == ...`. TORCH_DISTRIBUTED_DEBUG=DETAIL prints both call sites."


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the flight recorders of groups of all ranks, one verdict for each: the first call that differs in name or
    sizes, or the ranks that are behind."""
    groups = grouped_by(case.evidence.recordings, lambda recording: (recording.group, recording.id))
    if not groups:
        return []
    ranks = group(case)
    goes_on = ranks is not None and (progress(case, ranks).is_made or not all(rank.is_same for rank in ranks.ranks))
    found = []
    for (name, _), recordings in groups.items():
        if {one.rank for one in recordings} >= set(case.all_ranks) and len(recordings) > 1:
            found += _of_group(name, sorted(recordings, key=lambda one: one.rank), goes_on=goes_on)
    return found


def _of_group(group: str, recordings: Sequence[Recording], *, goes_on: bool) -> list[Verdict]:
    calls = [{entry.number: entry for entry in one.entries} for one in recordings]
    oldest = max(min(numbers) for numbers in calls if numbers) if all(calls) else 0
    for number in sorted({number for numbers in calls for number in numbers if number >= oldest}):
        made = [numbers.get(number) for numbers in calls]
        for label in (_name, _with_sizes):
            names = [label(entry) if entry is not None else None for entry in made]
            if len({name for name in names if name is not None}) > 1:
                return [_mismatch(group, number, recordings, names)]
    lasts = [max(numbers, default=0) for numbers in calls]
    is_done = any(numbers[max(lasts)].is_retired for numbers in calls if max(lasts) in numbers)
    return [_behind(group, recordings, lasts, calls)] if len(set(lasts)) > 1 and not (goes_on or is_done) else []


def _name(entry: Collective) -> str:
    return entry.name


def _with_sizes(entry: Collective) -> str:
    return entry.name if _UNEVEN.search(entry.name) else f"{entry.name} of {entry.sizes}"


def _mismatch(group: str, number: int, recordings: Sequence[Recording], names: Sequence[str | None]) -> Verdict:
    by_name: dict[str, list[int]] = {}
    for recording, name in zip(recordings, names, strict=True):
        if name is not None:
            by_name.setdefault(name, []).append(recording.rank)
    few, *others = sorted(by_name, key=lambda name: len(by_name[name]))
    one = len(by_name[few]) == 1
    text = f"{rank_list(by_name[few])} {'calls' if one else 'call'} {few} where "
    text += ", ".join(f"{rank_list(by_name[name])} {'calls' if len(by_name[name]) == 1 else 'call'} {name}" for name in others)
    return _verdict(f"{text} (call number {number} of {group})", "MISMATCH", by_name[few], number, recordings, names)


def _behind(group: str, recordings: Sequence[Recording], lasts: Sequence[int], calls: Sequence[dict[int, Collective]]) -> Verdict:
    most = max(lasts)
    behind = [one.rank for one, last in zip(recordings, lasts, strict=True) if last < most]
    others = [one.rank for one in recordings if one.rank not in behind]
    name = next(numbers[most].name for numbers in calls if most in numbers)
    has = "has" if len(behind) == 1 else "have"
    text = f"{rank_list(behind)} {has} not called {name} (call number {most} of {group}), in which {rank_list(others)} wait"
    return _verdict(
        text, "HUNG", behind, most, recordings, [numbers[most].name if most in numbers else None for numbers in calls]
    )


def _verdict(
    text: str, title: str, ranks: Sequence[int], number: int, recordings: Sequence[Recording], names: Sequence[str | None]
) -> Verdict:
    return Verdict(
        id="H04",
        title=title,
        cause=text,
        confidence="certain",
        ranks=tuple(ranks),
        evidence=tuple(
            Excerpt(
                source="flight recorder",
                text=f"{number} {name}" if name else f"last call {max((entry.number for entry in one.entries), default=0)}",
                rank=one.rank,
            )
            for one, name in zip(recordings, names, strict=True)
        ),
        remedy=REMEDY,
        victims=tuple(one.rank for one in recordings if one.rank not in ranks),
    )


def needs(case: Case) -> tuple[str, ...]:
    """The flight recorders, for a job that runs."""
    return ("flight recorder",) if case.is_running_in_full else ()


RULE = Rule("H04", judge, needs, decides=False)
