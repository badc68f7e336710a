"""Ranks that rest, too soon after their start or their last line to tell a hang from a wait. Pure.

Rules about hangs have no verdict then. That is no sign that the job trains.
"""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.verdicts import NotChecked
from shunter.doctor.waiting import IDLE, Rank, age, group, is_silent, quiet


def too_early(case: Case) -> NotChecked | None:
    """What cannot be known yet, if all ranks slept at the same line in both samples without a sign of progress; None if anything
    shows that one goes on, and without stacks of all of them. For cases in which no rule has a verdict."""
    ranks = group(case)
    if ranks is None or not ranks.is_whole or not case.is_running_in_full or not is_silent(case):
        return None
    if not all(_rests(rank, ranks.seconds) for rank in ranks.ranks):
        return None
    silence, _ = quiet(case, case.now)
    seconds = int(age(case, case.now) if silence is None else silence)
    since = "since their start" if silence is None else "since their last line"
    why = f"all ranks rest, but only {seconds} s have passed {since}: run shunter doctor again in a few minutes"
    rules = ("H01", "H03", "S02") if len(ranks.ranks) > 1 else ("S02",)
    return NotChecked(what="progress", why=why, rules=rules, is_refused=False)


def _rests(rank: Rank, seconds: float) -> bool:
    """Whether it slept at one line. In the rendezvous a rank wakes to poll; one that waits for its GPU may go on."""
    is_asleep = rank.first.state == rank.last.state == "S" and rank.cpu_seconds <= IDLE * seconds
    goes_on = rank.may_go_on or (rank.doing != "rendezvous" and rank.was_woken(seconds))
    return rank.is_same and is_asleep and not goes_on
