"""H05: a rank has reached the end of its program, and the interpreter waits for a thread or a child process that does not end.

Python joins all threads that are no daemons, and all processes of `multiprocessing`, before it exits. No verdict while the thread
or process works or anything is logged: it may save or upload.
"""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rank_texts import frame_text
from shunter.doctor.rules.rule import Rule
from shunter.doctor.rules.stacks.h01_hung import needs, verdict
from shunter.doctor.verdicts import Verdict
from shunter.doctor.waiting import group, has_ended, place, progress

_REMEDIES = {
    "thread": "End the thread before the program does, or start it with daemon=True.",
    "child process": "End the child process before the program does (terminate, join), or start it with daemon=True.",
}


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on stacks that are the same in two samples, without progress: the ranks that do not exit, and the line at
    which the thread or process of the first of them is."""
    ranks = group(case)
    late = [rank for rank in ranks.ranks if rank.is_same and has_ended(rank)] if ranks is not None else []
    if ranks is None or not late or progress(case, ranks).is_made:
        return []
    first, one = late[0], len(late) == 1
    what = "thread" if any(frame.function == "_shutdown" for frame in first.last.frames) else "child process"
    places = [first.place, *(place(child.frames) for child in first.children)]
    at = next((frame for frame in places if frame is not None), None)
    text = f"{rank_list([rank.rank for rank in late])} {'has' if one else 'have'} reached the end of the program, and "
    text += f"{'waits' if one else 'wait'} for a {what} that does not end"
    text += f": {frame_text(at)}" if at is not None else ""
    return [verdict(case, "H05", ranks, late, text=text, remedy=_REMEDIES[what])]


RULE = Rule("H05", judge, needs)
