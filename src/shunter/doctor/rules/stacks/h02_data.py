"""H02: a rank waits for its DataLoader while the others wait for the rank. Does not blame the storage."""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule
from shunter.doctor.rules.stacks.h01_hung import hung, may_go_on, needs, verdict
from shunter.doctor.verdicts import Verdict
from shunter.doctor.waiting import place


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the same evidence as H01, if a rank that others wait for waits for its DataLoader: which rank, and the
    line of a worker process."""
    found = hung(case)
    if found is None:
        return []
    ranks, odd = found
    late = [rank for rank in odd if rank.doing == "data"]
    if not late:
        return []
    others = [rank.rank for rank in ranks.ranks if rank not in odd]
    one = len(late) == 1
    text = f"{rank_list([rank.rank for rank in late])} {'waits' if one else 'wait'} for a DataLoader worker"
    text += " that is busy or stuck; " if may_go_on(late) else "; "
    text += (
        f"{rank_list(others)} {'waits' if len(others) == 1 else 'wait'} for {'it' if len(odd) > 1 else rank_list([late[0].rank])}"
    )
    frames = [place(child.frames) for rank in late for child in rank.children]
    frame = next((frame for frame in frames if frame is not None), late[0].place)
    at = f"{frame.file.rsplit('/', 1)[-1]}:{frame.line}" if frame is not None else "its dataset"
    return [verdict(case, "H02", ranks, odd, text=text, remedy=f"Check what {at} reads on rank {late[0].rank}.")]


RULE = Rule("H02", judge, needs)
