"""H01: some ranks wait in a collective or the rendezvous, and others do not join: each the same in two samples, without progress.

No verdict while a rank imports, unless it rests there minutes after its start (then only possible), or if anything shows
progress. Calls a rank that may go on by itself (`Rank.may_go_on`) `busy or stuck`, as rank 0 of a healthy job that evaluates or
saves alone. What a rank does inside C code is unknown.

Ranks that wait for their GPUs seem to work (`Rank.spins`). They count as waiting only if they are at one line, logs are silent
and the other ranks rest: a rank that computes on its CPU gets no verdict. For ranks that have loaded only MPI this is never more
than `possible`: a stack does not show calls of MPI, and ranks that compute at one line on their CPUs while another rests in MPI
look the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rank_texts import call, frame_text, position_text, read_at
from shunter.doctor.redaction import short_command
from shunter.doctor.rules.logs import t14_timeout
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict
from shunter.doctor.waiting import BUSY, UNBROKEN, Group, Rank, group, has_ended, may_start, place, progress, writes_at_pace
from shunter.operator.program_logs.ends import reason

MAY_BE_WELL = "If it evaluates, saves or prepares data there, this is normal: the others wait until it has finished."


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the stacks of two samples, and logs: the ranks that others wait for in a collective or the rendezvous.
    None if one of them waits for data (H02) or to exit (H05), or T14 names the same ranks as more than possible."""
    found = hung(case)
    if found is None:
        return []
    ranks, odd = found
    if any(rank.doing == "data" or has_ended(rank) for rank in odd):
        return []  # H02 and H05 say more.
    timeouts = [one for one in t14_timeout.judge(case) if one.confidence != "possible"]
    if any(set(one.ranks) == {rank.rank for rank in odd} for one in timeouts):
        return []  # So does T14, with this stack.
    remedy = read_at(odd[0])
    if may_go_on(odd) and remedy:
        remedy = f"{remedy} {MAY_BE_WELL}"
    return [verdict(case, "H01", ranks, odd, text=_text(ranks, odd), remedy=remedy)]


def hung(case: Case) -> tuple[Group, list[Rank]] | None:
    """All ranks, and those that the others wait for; None if no rank is shown to hang."""
    return case.once(_hung)


def _hung(case: Case) -> tuple[Group, list[Rank]] | None:
    ranks = group(case)
    if ranks is None or not ranks.is_whole or may_start(case, ranks) or not all(rank.is_same for rank in ranks.ranks):
        return None
    waiting, odd = ranks.doing("collective", "rendezvous"), ranks.doing("own", "data", "starting")
    if ranks.doing("rendezvous") and ranks.doing("collective"):
        # A rank that has left the rendezvous is in a group that the others have not joined.
        odd = odd or ranks.doing("rendezvous")
        waiting = ranks.doing("collective")
    made = progress(case, ranks)
    if for_gpu := _waiting_for_gpu(ranks, odd) if made.is_comparable else []:
        waiting, odd = [*waiting, *for_gpu], [rank for rank in odd if rank not in for_gpu]
    if not waiting or not odd or made.is_made:
        return None
    return ranks, odd


def _waiting_for_gpu(ranks: Group, odd: list[Rank]) -> list[Rank]:
    """The ranks that seem to wait for their GPUs: all that run in their own code, at one line, while the others rest."""
    run = [rank for rank in odd if rank.spins]
    rest = [rank for rank in odd if not rank.spins]
    idle = all(rank.first.state == rank.last.state == "S" and rank.cpu_seconds < BUSY * ranks.seconds for rank in rest)
    return run if idle and len(run) >= len(rest) > 0 and len({(rank.place, rank.last.frames[0]) for rank in run}) == 1 else []


def verdict(case: Case, id: str, ranks: Group, odd: list[Rank], *, text: str, remedy: str) -> Verdict:
    """The verdict about ranks that others wait for."""
    made = progress(case, ranks)
    waiting = [rank for rank in ranks.ranks if rank not in odd]
    # One rank that runs while another rests may compute what that one waits for, and so may ranks without CUDA.
    spinning = [rank for rank in waiting if rank.spins]
    for_gpu = all(rank.last.uses_cuda and rank.cpu_seconds >= UNBROKEN * ranks.seconds for rank in spinning)
    is_unsure = bool(spinning) and (len(waiting) <= len(odd) or not for_gpu)
    is_unsure = is_unsure or any(rank.doing == "starting" for rank in odd)
    confidence: Confidence = "likely" if made.is_comparable and not is_unsure and not may_go_on(odd) else "possible"
    twice = f"same in 2 samples, {ranks.seconds:.0f} s apart"
    evidence = [item for rank in odd for item in _stack(rank, twice)]
    evidence += [Excerpt(source="stack", text=call(rank), pod=rank.pod, rank=rank.rank) for rank in waiting]
    evidence.append(Excerpt(source="log", text=made.text))
    evidence += [item for rank in odd for item in _raised(case, rank)]
    return Verdict(
        id=id,
        title="MAY BE HUNG" if confidence == "possible" else "HUNG",
        cause=text,
        confidence=confidence,
        ranks=tuple(rank.rank for rank in odd),
        pods=tuple(dict.fromkeys(rank.pod for rank in odd)),
        evidence=tuple(evidence),
        remedy=remedy,
        victims=tuple(rank.rank for rank in waiting),
    )


def may_go_on(odd: Sequence[Rank]) -> bool:
    """Whether one of these ranks may go on by itself: then a hang is only possible."""
    return any(rank.may_go_on for rank in odd)


def _stack(rank: Rank, twice: str) -> list[Excerpt]:
    found = [Excerpt(source="stack", text=f"{position_text(rank)}; {twice}", pod=rank.pod, rank=rank.rank)]
    for child in rank.children:
        frame = place(child.frames)
        if not child.is_python:
            text = f"its child process {child.pid}: {short_command(child.command)}"
            found.append(Excerpt(source="stack", text=text, pod=rank.pod, rank=rank.rank))
        elif (rank.doing == "data" or has_ended(rank)) and frame is not None:
            text = f"its worker process {child.pid}: {frame_text(frame)}"
            found.append(Excerpt(source="stack", text=text, pod=rank.pod, rank=rank.rank))
    return found


def _raised(case: Case, rank: Rank) -> list[Excerpt]:
    """The last exception that the rank logged without a step after it: one in a thread does not end the process."""
    found = reason([line for line in case.last_lines.get(rank.pod, []) if line.rank in (None, rank.rank)])
    if found is None or (found.rank is None and len(case.ranks.get(rank.pod, ())) != 1):
        return []
    return [Excerpt(source="log", text=found.text, pod=rank.pod, rank=rank.rank, at=found.at)]


def _text(ranks: Group, odd: list[Rank]) -> str:
    numbers = [rank.rank for rank in odd]
    waiting = [rank for rank in ranks.ranks if rank not in odd]
    do = "does" if len(numbers) == 1 else "do"
    others = rank_list([rank.rank for rank in waiting])
    wait = "waits" if len(waiting) == 1 else "wait"
    if any(rank.doing == "rendezvous" for rank in waiting):
        text = f"{rank_list(numbers)} {do} not join the rendezvous in which {others} {wait}"
    elif all(rank.spins for rank in waiting):
        what = "in calls of MPI" if all(rank.last.uses_mpi for rank in waiting) else "for their GPUs"
        text = f"{rank_list(numbers)} {do} not go on while {others} apparently {wait} {what}"
    else:
        text = f"{rank_list(numbers)} {do} not take part in the collective in which {others} {wait}"
    return f"{text}: busy or stuck" if may_go_on(odd) else text


def needs(case: Case) -> tuple[str, ...]:
    """Stacks, for a job that runs in full, unless its ranks write lines at their pace: then there is no verdict."""
    return ("stacks",) if case.is_running_in_full and not writes_at_pace(case) else ()


RULE = Rule("H01", judge, needs)
