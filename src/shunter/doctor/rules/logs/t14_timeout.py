"""T14: a collective timed out, and nothing else says why.

Names a rank only by the ranks' own messages: NCCL's watchdog says which call each of them was in, and how many each had made. Its
process may go on all the same, so logs of running ranks count as those of ranks that ended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from shunter.doctor.case import Case
from shunter.doctor.lines import Line, is_step
from shunter.doctor.places import rank_list
from shunter.doctor.rules.logs.texts import line, matching, said
from shunter.doctor.rules.rule import Rule, logs_of_failures
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict
from shunter.doctor.waiting import group, read_at, stands
from shunter.kube.pods.log_times import time_of

_MARK = "Watchdog caught collective operation timeout"
_TEXT = re.compile(
    rf"(?:{_MARK}: WorkNCCL\((?P<work>[^)]*)\)"
    r"|Timed out waiting (?P<gloo>\d+)ms for (?:recv|send))"
)
_CALL = re.compile(r"SeqNum=(\d+), OpType=(\w+)")
_MADE = re.compile(r"[Ll]ast enqueued (?:NCCL )?work: (-?\d+), last completed (?:NCCL )?work: -?\d+")
_GROUP = re.compile(r"\[PG ID \d+ PG GUID (?P<id>[^\s(]+)(?:\((?P<name>[^)]*)\))? Rank \d+\]")


class Wait(NamedTuple):
    """A collective that ranks waited for until it timed out."""

    ranks: tuple[int, ...]
    pod: str
    excerpt: Excerpt
    number: int = 0
    """Of the call in its process group; 0 where it is not said."""
    name: str = ""


class Made(NamedTuple):
    """How many calls a rank had made in a process group when another timed out."""

    number: int
    excerpt: Excerpt


def judge(case: Case) -> list[Verdict]:
    waits = _waits(case)
    if not waits:
        return []
    by_call: dict[tuple[int, str], list[int]] = {}
    for wait in sorted(waits, key=lambda one: one.ranks):
        if wait.name:
            by_call.setdefault((wait.number, wait.name), []).extend(wait.ranks)
    waited = tuple(sorted({rank for one in waits for rank in one.ranks}))
    if len(by_call) > 1:
        rarest, *others = sorted(by_call, key=lambda one: len(by_call[one]))
        parts = [f"{rank_list(by_call[one])} in {one[1]} (call number {one[0]})" for one in (rarest, *others)]
        ranks = tuple(by_call[rarest]) if len(by_call[rarest]) < len(by_call[others[0]]) else waited
        text = f"ranks timed out in different collectives: {', '.join(parts)}"
        return [_verdict(case, text, ranks, waits, confidence="likely")]
    if behind := _behind(case, waits, waited):
        return [behind]
    absent = tuple(rank for rank in case.all_ranks if rank not in waited)
    text = f"{rank_list(waited)} waited in a collective until it timed out"
    if absent and len(absent) < len(case.all_ranks):
        text += f"; {rank_list(absent)} did not report it"
    return [_verdict(case, text, waited, waits, confidence="possible")]


def _behind(case: Case, waits: Sequence[Wait], waited: Sequence[int]) -> Verdict | None:
    """That ranks have not made the call that timed out on others, by their own count; None where none of them says so."""
    number, name = waits[0].number, waits[0].name
    made = _made(case)
    groups = {of_group for rank, of_group in made if rank in waited and made[rank, of_group].number >= number}
    if not name or len(groups) != 1:
        return None
    (of_group,) = groups
    late = {
        rank: one for (rank, theirs), one in made.items() if theirs == of_group and rank not in waited and one.number < number
    }
    if not late:
        return None
    ranks = tuple(sorted(late))
    has, where = "has" if len(ranks) == 1 else "have", of_group[1] or of_group[0]
    text = f"{rank_list(ranks)} {has} not called {name} (call number {number} of {where}), in which {rank_list(waited)} timed out"
    found = group(case)
    here = [one for one in found.ranks if one.rank in late and one.is_same] if found is not None else []
    evidence = [Excerpt(source="stack", text=f"{stands(one)}; same in 2 samples", pod=one.pod, rank=one.rank) for one in here]
    evidence += [one.excerpt for one in late.values()]
    remedy = read_at(here[0]) if here else REMEDY
    return _verdict(case, text, ranks, waits, confidence="likely", remedy=remedy, evidence=evidence, victims=waited)


def _waits(case: Case) -> list[Wait]:
    """By the errors of ranks that ended, and by the logs of those of which these say nothing."""
    found = [
        Wait(ending.failed_ranks, ending.pod, said(ending, line(match)), *_call(match)) for ending, match in matching(case, _TEXT)
    ]
    if not any(_MARK in text for text in case.logs.values()):
        return found
    known = {rank for one in found for rank in one.ranks}
    for pod, one in _last_lines(case):
        if (
            (match := _TEXT.search(one.text))
            and match["work"]
            and (rank := _rank(case, pod, one)) is not None
            and rank not in known
        ):
            known.add(rank)
            excerpt = Excerpt(source="log", text=one.text[match.start() :], pod=pod, at=one.at, rank=rank)
            found.append(Wait((rank,), pod, excerpt, *_call(match)))
    return found


def _call(match: re.Match[str]) -> tuple[int, str]:
    call = _CALL.search(match["work"] or "")
    return (int(call[1]), call[2].lower()) if call is not None else (0, "")


def _made(case: Case) -> dict[tuple[int, tuple[str, str]], Made]:
    """The last that each rank says of its calls, by rank and process group: its id, and its name if it has one."""
    found = {}
    for pod, one in _last_lines(case):
        rank, of_group, match = _rank(case, pod, one), _GROUP.search(one.text), _MADE.search(one.text)
        if rank is not None and of_group is not None and match is not None:
            excerpt = Excerpt(source="log", text=match[0], pod=pod, at=one.at, rank=rank)
            found[rank, (of_group["id"], of_group["name"] or "")] = Made(int(match[1]), excerpt)
    return found


def _last_lines(case: Case) -> list[tuple[str, Line]]:
    """What ranks have written since the last step but one of any: a job that has made two steps went on. One may be of a rank
    that is late."""
    before = [
        next(islice((one.at for one in reversed(lines) if is_step(one.text)), 1, None), "") for lines in case.rank_lines.values()
    ]
    since = max((at for text in before if text and (at := time_of(text)) is not None), default=None)
    return [
        (pod, one)
        for pod, lines in case.rank_lines.items()
        for one in lines
        if since is None or not one.at or ((at := time_of(one.at)) is not None and at > since)
    ]


def _rank(case: Case, pod: str, one: Line) -> int | None:
    """The rank that wrote a line: by its prefix, else by its pod, when that holds one."""
    ranks = case.ranks.get(pod, ())
    return one.rank if one.rank is not None else ranks[0] if len(ranks) == 1 else None


REMEDY = (
    "Run shunter doctor while the job hangs: it then compares the stacks of all ranks. TORCH_DISTRIBUTED_DEBUG=DETAIL, set "
    "before torch is imported, names calls that differ."
)


def _verdict(
    case: Case,
    text: str,
    ranks: tuple[int, ...],
    waits: Sequence[Wait],
    *,
    confidence: Confidence,
    remedy: str = REMEDY,
    evidence: Sequence[Excerpt] = (),
    victims: Sequence[int] = (),
) -> Verdict:
    return Verdict(
        id="T14",
        title="COLLECTIVE TIMED OUT",
        cause=text,
        confidence=confidence,
        ranks=ranks,
        pods=tuple(dict.fromkeys(one.pod for one in waits)),
        evidence=(*evidence, *(one.excerpt for one in waits)),
        remedy=remedy,
        victims=tuple(sorted({*case.victims, *victims} - set(ranks))),
    )


def needs(case: Case) -> tuple[str, ...]:
    """Logs, also of a job that runs: its ranks may have gone on after the watchdog spoke."""
    return ("pods", "logs") if case.overview.state == "Running" else logs_of_failures(case)


RULE = Rule("T14", judge, needs, yields=True, explains=True)
