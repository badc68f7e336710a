"""T16: the last line of a running MPIJob is an exception: the rank that raised it waits for the others before it exits.

Python finalizes MPI at exit, which waits for all ranks; these wait for this one in a collective. The launcher's log does not show
which rank it is. No verdict while lines are logged, or if anything follows the exception.
"""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.doctor.waiting import LEAST_SILENCE, quiet
from shunter.operator.program_logs.ends import reason


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on an exception as the last line of an MPIJob's logs, and the silence since. Only likely; names the rank
    only if the line's prefix does."""
    if case.job.get("kind") != "MPIJob" or not case.is_running_in_full:
        return []
    silence, _ = quiet(case, case.now)
    if silence is None or silence < LEAST_SILENCE:
        return []
    found = []
    for pod, lines in case.last_lines.items():
        error = reason(lines)
        if error is not None and error.frames and error.text == lines[-1].text.strip():
            found.append(
                Verdict(
                    id="T16",
                    title="FAILED, AND DOES NOT END",
                    cause=f"a rank ended with {error.text}, and MPI waits for the others before it exits; none writes a line",
                    confidence="likely",
                    ranks=(error.rank,) if error.rank is not None else (),
                    pods=(pod,),
                    evidence=(
                        Excerpt(source="log", text=error.text, pod=pod, at=error.at),
                        Excerpt(source="log", text=f"no rank has written a line for {int(silence)} s", pod=pod),
                    ),
                    remedy="Start the ranks with python -m mpi4py: an exception of one then ends the job.",
                )
            )
    return found


def needs(case: Case) -> tuple[str, ...]:
    """Logs, for an MPIJob that runs."""
    return ("logs",) if case.job.get("kind") == "MPIJob" and case.overview.state == "Running" else ()


RULE = Rule("T16", judge, needs)
