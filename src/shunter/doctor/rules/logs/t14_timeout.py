"""T14: a collective timed out, and nothing else says why.

Names a rank only by the ranks' own messages: NCCL's watchdog logs the call of each rank, and how many calls it had enqueued. The
process may continue, so logs of running ranks count like those of ranks that ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from shunter.api.grouping import grouped_by
from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rank_texts import position_text, read_at
from shunter.doctor.rules.logs.texts import line, log_excerpt, matching
from shunter.doctor.rules.rule import Rule, logs_of_failures
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict
from shunter.doctor.waiting import group
from shunter.kube.pods.log_times import time_of
from shunter.operator.program_logs.lines import Line, is_step, is_warning

_MARK = "Watchdog caught collective operation timeout"
_TEXT = re.compile(
    rf"(?:{_MARK}: WorkNCCL\((?P<work>[^)]*)\)"
    r"|Timed out waiting (?P<gloo>\d+)ms for (?:recv|send))"
)
_CALL = re.compile(r"SeqNum=(\d+), OpType=(\w+)")
_MADE = re.compile(r"[Ll]ast enqueued (?:NCCL )?work: (-?\d+), last completed (?:NCCL )?work: -?\d+")
_LIMIT = re.compile(r"Timeout\(ms\)=(\d+)")
_RESTARTED = re.compile(r"will restart worker group|failed \(exitcode: -?\d+\) local_rank|Sending process \d+ closing signal")
"""What torchrun logs when it stops ranks; its pod keeps running only if it restarts them."""
_OF_TORCH = re.compile(r"\[[EFI]\d{4} |#\d+ ")
"""Errors of torch's C++ code, and the stack of the call."""
_FAILED_AT = re.compile(r"(?:SeqNum=|watchdog at work(?: sequence id)?: )(\d+)")
_GROUP = re.compile(r"\[PG ID \d+ PG GUID (?P<id>[^\s(]+)(?:\((?P<name>[^)]*)\))? Rank \d+\]")

Lines = Sequence[tuple[str, Line]]
"""Lines with the pod that wrote each."""


class Wait(NamedTuple):
    """A collective that ranks waited for until it timed out."""

    ranks: tuple[int, ...]
    pod: str
    excerpt: Excerpt
    number: int = 0
    """The number of the call in its process group; 0 if unknown."""
    name: str = ""
    group: tuple[str, str] | None = None
    """The process group's id, and its name or an empty one; None if unknown."""


class CallCount(NamedTuple):
    """How many calls a rank had enqueued in a process group when another timed out."""

    number: int
    excerpt: Excerpt


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on timeouts of NCCL's watchdog in logs, also of ranks that still run, and of gloo in errors: at most one
    verdict. It names the ranks that have not made the call in which others timed out, by their own count; else calls that differ;
    else only the ranks that waited."""
    lines = _last_lines(case) if any(_MARK in text for text in case.logs.values()) else []
    waits = _waits(case, lines)
    if not waits:
        return []
    waited = tuple(sorted({rank for one in waits for rank in one.ranks}))
    by_group = grouped_by((wait for wait in sorted(waits, key=lambda one: one.ranks) if wait.name), lambda wait: wait.group)
    groups = sorted(by_group, key=lambda one: -len(by_group[one]))
    if behind := _behind(case, lines, {one: by_group[one] for one in groups if one is not None}, waits):
        return [behind]
    for of_group in groups:
        if differ := _differ(case, by_group[of_group], waits):
            return [differ]
    absent = tuple(rank for rank in case.all_ranks if rank not in waited)
    text = f"{rank_list(waited)} waited in a collective until it timed out"
    if absent and len(absent) < len(case.all_ranks):
        text += f"; {rank_list(absent)} did not report it"
    return [_verdict(case, text, waited, waits, confidence="possible")]


def _differ(case: Case, together: Sequence[Wait], waits: Sequence[Wait]) -> Verdict | None:
    """The verdict that ranks timed out in different calls of one process group; only possible if the group is unknown."""
    by_call: dict[tuple[int, str], list[int]] = {}
    for wait in together:
        by_call.setdefault((wait.number, wait.name), []).extend(wait.ranks)
    if len(by_call) < 2:
        return None
    rarest, *others = sorted(by_call, key=lambda one: len(by_call[one]))
    parts = [f"{rank_list(by_call[one])} in {one[1]} (call number {one[0]})" for one in (rarest, *others)]
    every = tuple(sorted(rank for ranks in by_call.values() for rank in ranks))
    ranks = tuple(by_call[rarest]) if len(by_call[rarest]) < len(by_call[others[0]]) else every
    text = f"ranks timed out in different collectives: {', '.join(parts)}"
    return _verdict(case, text, ranks, waits, confidence="likely" if together[0].group is not None else "possible")


def _behind(case: Case, lines: Lines, by_group: dict[tuple[str, str], list[Wait]], waits: Sequence[Wait]) -> Verdict | None:
    """The verdict that ranks have not made the call that timed out on others, by their own count; None if none of them is behind.
    Only possible if different ranks are behind in different process groups."""
    made = _made(case, lines)
    waited = {rank for one in waits for rank in one.ranks}
    late: dict[tuple[int, ...], list[Excerpt]] = {}
    parts = []
    for of_group, together in by_group.items():
        first = min(together, key=lambda one: one.number)
        behind = {
            rank: one.excerpt
            for (rank, theirs), one in sorted(made.items())
            if theirs == of_group and rank not in waited and one.number < first.number
        }
        if behind and tuple(behind) not in late:
            late[tuple(behind)] = list(behind.values())
            has, where = "has" if len(behind) == 1 else "have", of_group[1] or of_group[0]
            peers = rank_list(sorted({rank for one in together if one.number == first.number for rank in one.ranks}))
            call = f"{first.name} (call number {first.number} of {where})"
            parts.append(f"{rank_list(tuple(behind))} {has} not called {call}, in which {peers} timed out")
    if not late:
        return None
    ranks = tuple(sorted({rank for behind in late for rank in behind}))
    found = group(case)
    here = [one for one in found.ranks if one.rank in ranks and one.is_same] if found is not None else []
    evidence = [
        Excerpt(source="stack", text=f"{position_text(one)}; same in 2 samples", pod=one.pod, rank=one.rank) for one in here
    ]
    evidence += [excerpt for excerpts in late.values() for excerpt in excerpts]
    return _verdict(
        case,
        "; ".join(parts),
        ranks,
        waits,
        confidence="likely" if len(late) == 1 else "possible",
        remedy=read_at(here[0]) if here else REMEDY,
        evidence=evidence,
        victims=sorted(waited),
    )


def _waits(case: Case, lines: Lines) -> list[Wait]:
    """The timeouts in the errors of ranks that ended, and in the logs of the other ranks."""
    found = [
        Wait(ending.failed_ranks, ending.pod, log_excerpt(ending, line(match)), *_call(match))
        for ending, match in matching(case, _TEXT)
    ]
    known = {rank for one in found for rank in one.ranks}
    for pod, one in lines:
        if (
            (match := _TEXT.search(one.text))
            and match["work"]
            and (rank := _rank(case, pod, one)) is not None
            and rank not in known
        ):
            known.add(rank)
            excerpt = Excerpt(source="log", text=one.text[match.start() :], pod=pod, at=one.at, rank=rank)
            found.append(Wait((rank,), pod, excerpt, *_call(match)))
    groups = _groups(case, lines)
    return [one._replace(group=groups.get((one.ranks[0], one.number))) if one.ranks else one for one in found]


def _groups(case: Case, lines: Lines) -> dict[tuple[int, int], tuple[str, str]]:
    """The process group of each call that timed out, by rank and number: the line with the call may lack the group."""
    texts = [(_rank(case, pod, one), one.text) for pod, one in lines]
    texts += [(one.failed_ranks[0], text) for one in case.failures if one.failed_ranks for text in one.whole.splitlines()]
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for rank, text in texts:
        of_group, number = _GROUP.search(text), _FAILED_AT.search(text)
        if rank is not None and of_group is not None and number is not None:
            found.setdefault((rank, int(number[1])), (of_group["id"], of_group["name"] or ""))
    return found


def _call(match: re.Match[str]) -> tuple[int, str]:
    call = _CALL.search(match["work"] or "")
    return (int(call[1]), call[2].lower()) if call is not None else (0, "")


def _made(case: Case, lines: Lines) -> dict[tuple[int, tuple[str, str]], CallCount]:
    """The last count of calls that each rank logs, by rank and process group (its id, and its name or an empty one)."""
    found = {}
    for pod, one in lines:
        rank, of_group, match = _rank(case, pod, one), _GROUP.search(one.text), _MADE.search(one.text)
        if rank is not None and of_group is not None and match is not None:
            excerpt = Excerpt(source="log", text=match[0], pod=pod, at=one.at, rank=rank)
            found[rank, (of_group["id"], of_group["name"] or "")] = CallCount(int(match[1]), excerpt)
    return found


def _last_lines(case: Case) -> Lines:
    """The lines since the job last made progress on any rank."""
    is_running = _is_running(case)
    moments = [
        at
        for pod, lines in case.rank_lines.items()
        for at in (_second_last_step(lines), *(_went_on(case, pod) if is_running else ()))
    ]
    since = max((at for at in moments if at is not None), default=None)
    return [
        (pod, one)
        for pod, lines in case.rank_lines.items()
        for one in lines
        if since is None or not one.at or ((at := time_of(one.at)) is not None and at > since)
    ]


def _second_last_step(lines: Sequence[Line]) -> datetime | None:
    """The time of the second last step: a job that made two steps after a timeout made progress."""
    at = next(islice((one.at for one in reversed(lines) if is_step(one.text)), 1, None), "")
    return time_of(at) if at else None


def _went_on(case: Case, pod: str) -> Iterator[datetime]:
    """Times until which the timeouts in a log are over: a restart of the ranks by their launcher, and the end of another such
    timeout if the rank logged more than torch's errors after it."""
    timed_out: dict[int | None, datetime] = {}
    for one in case.rank_lines[pod]:
        at = time_of(one.at) if one.at else None
        if at is None:
            continue
        rank = _rank(case, pod, one)
        if _RESTARTED.search(one.text):
            yield at
        elif (match := _TEXT.search(one.text)) and match["work"] and (limit := _LIMIT.search(one.text)):
            timed_out[rank] = at + timedelta(milliseconds=int(limit[1]))
        elif not is_warning(one.text) and not _OF_TORCH.match(one.text):
            yield from (end for of_rank, end in timed_out.items() if end < at and (rank is None or rank == of_rank))


def _is_running(case: Case) -> bool:
    return case.runs_in_full and not case.overview.is_finished


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
    # Without steps, a job that makes progress without logging looks the same.
    has_steps = any(is_step(one.text) for lines in case.rank_lines.values() for one in lines)
    return Verdict(
        id="T14",
        title="COLLECTIVE TIMED OUT",
        cause=text,
        confidence=confidence if not _is_running(case) or has_steps else "possible",
        ranks=ranks,
        pods=tuple(dict.fromkeys(one.pod for one in waits)),
        evidence=(*evidence, *(one.excerpt for one in waits)),
        remedy=remedy,
        victims=tuple(sorted({*case.victims, *victims} - set(ranks))),
    )


def needs(case: Case) -> tuple[str, ...]:
    """Logs, also for a job that runs: its ranks may have continued after the timeout."""
    return ("pods", "logs") if case.overview.state == "Running" else logs_of_failures(case)


RULE = Rule("T14", judge, needs, yields=True, explains=True)
