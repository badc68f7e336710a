"""S02: no rank has logged a line for long, and none uses its CPU. Not by silence alone: evaluating and compiling are silent.

If lines show no pace, a program may log only at its start and at its end: then the silence must be longer, unless two samples
show that all ranks rest at the same line of their own code, with all their children. A program that waits on purpose looks the
same, so this is never more than possible.
"""

from __future__ import annotations

from collections.abc import Iterator

from shunter.doctor.case import Case
from shunter.doctor.evidence import NO_EXEC
from shunter.doctor.rank_texts import position_text, read_at
from shunter.doctor.rules.rule import Rule
from shunter.doctor.rules.stacks import h03_all_wait, h05_exit
from shunter.doctor.rules.stacks.h01_hung import hung
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.doctor.waiting import Rank, age, group, may_start, progress, quiet

GAPS = 10
LEAST_SECONDS = 120
LEAST_WITHOUT_PACE = 600
IDLE_CORES = 0.05


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the silence of all logs, and idle CPUs or resting stacks. Never more than possible; none if stacks show a
    hang (H01, H03, H05), or no log could be read."""
    names = [pod["metadata"]["name"] for pod in case.ranked]
    if (
        not (case.overview.is_running or case.is_running_in_full)
        or not names
        or hung(case) is not None
        or h03_all_wait.judge(case)
        or h05_exit.judge(case)
    ):
        return []
    resting = _resting(case)
    if not resting and any(case.evidence.cpu.get(name, 1.0) > IDLE_CORES for name in names):
        return []
    silence, gap = quiet(case, case.now)
    if silence is None and any(one.what == "logs" for one in case.evidence.missing):
        return []
    seconds = age(case, case.now) if silence is None else silence
    # A rank that waits for a long computation on its GPU may rest as well.
    is_proved = bool(resting) and all(rank.last.uses_cuda is False for rank in resting)
    if seconds < _least_seconds(gap, LEAST_SECONDS if is_proved else LEAST_WITHOUT_PACE):
        return []
    only_warnings = "but warnings " if any(case.last_lines.values()) else ""
    since = f"{only_warnings}since they started, " if silence is None else ""
    pace = f" although lines came every {gap:.0f} s before" if gap is not None else ""
    return [
        Verdict(
            id="S02",
            title="NO PROGRESS",
            cause=f"no rank has written a line {since}for {int(seconds)} s{pace}; their CPUs are idle",
            confidence="possible",
            ranks=case.all_ranks,
            pods=tuple(names),
            evidence=(*_stacks(resting), *_usage(case, names)),
            remedy=(read_at(resting[0]) if resting else "") or _remedy(case, names[0]),
        )
    ]


def _least_seconds(gap: float | None, without_pace: int) -> float:
    """How long logs must be silent, by the median gap between lines; `without_pace` if that is not known."""
    return without_pace if gap is None else max(GAPS * gap, LEAST_SECONDS)


def _resting(case: Case) -> tuple[Rank, ...]:
    """The ranks, if all rest in their own code or an import, or wait for data, at the same line in both samples, with all their
    children."""
    ranks = group(case)
    if ranks is None or not ranks.is_whole or len(ranks.doing("own", "data", "starting")) != len(ranks.ranks):
        return ()
    if may_start(case, ranks):
        return ()
    rest = all(rank.is_same and rank.is_asleep and not rank.may_go_on for rank in ranks.ranks)
    return ranks.ranks if rest and not progress(case, ranks).is_made else ()


def _stacks(ranks: tuple[Rank, ...]) -> Iterator[Excerpt]:
    for rank in ranks:
        yield Excerpt(source="stack", text=position_text(rank), pod=rank.pod, rank=rank.rank)


def _usage(case: Case, names: list[str]) -> Iterator[Excerpt]:
    for name in names:
        if name in case.evidence.cpu:
            yield Excerpt(source="metrics", text=f"{case.evidence.cpu[name]:.2f} cores", pod=name)


def _remedy(case: Case, pod: str) -> str:
    was_asked = any(one.what == "stacks" and one.why != NO_EXEC for one in case.evidence.missing)
    if was_asked or case.evidence.samples:
        return f"Inspect the processes from inside a pod: kubectl exec -it -n {case.overview.namespace} {pod} -- sh"
    return "Run shunter doctor without --no-exec, so that it can sample stacks."


def needs(case: Case) -> tuple[str, ...]:
    """Logs, for a job that runs in full, and metrics, if these have been silent for long enough."""
    if not case.is_running_in_full:
        return ()
    silence, gap = quiet(case, case.now)
    seconds = age(case, case.now) if silence is None else silence
    return ("logs",) if seconds < _least_seconds(gap, LEAST_SECONDS) else ("metrics", "logs")


RULE = Rule("S02", judge, needs)
