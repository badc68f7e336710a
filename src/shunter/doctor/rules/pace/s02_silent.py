"""S02: no rank has written a line for long, and none uses its CPU. Not of silence alone: evaluating and compiling are silent."""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.evidence import NO_EXEC
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.doctor.waiting import quiet

GAPS = 10
LEAST_SECONDS = 120
IDLE_CORES = 0.05


def judge(case: Case) -> list[Verdict]:
    names = [pod["metadata"]["name"] for pod in case.ranked]
    if case.overview.state != "Running" or not names or any(case.evidence.cpu.get(name, 1.0) > IDLE_CORES for name in names):
        return []
    silence, gap = quiet(case, case.now)
    if silence is None or gap is None or silence < max(GAPS * gap, LEAST_SECONDS):
        return []
    return [
        Verdict(
            id="S02",
            title="NO PROGRESS",
            cause=f"no rank has written a line for {int(silence)} s although lines came every {gap:.0f} s before; all are idle",
            confidence="possible",
            ranks=case.all_ranks,
            pods=tuple(names),
            evidence=tuple(Excerpt(source="metrics", text=f"{case.evidence.cpu[name]:.2f} cores", pod=name) for name in names),
            remedy=_remedy(case, names[0]),
        )
    ]


def _remedy(case: Case, pod: str) -> str:
    was_asked = any(one.what == "stacks" and one.why != NO_EXEC for one in case.evidence.missing)
    if was_asked or case.evidence.samples:
        return f"Look at what the processes do, from inside a pod: kubectl exec -it -n {case.overview.namespace} {pod} -- sh"
    return "Run shunter doctor without --no-exec, so that it can take stacks."


def needs(case: Case) -> tuple[str, ...]:
    is_running = case.overview.state == "Running" and case.runs_in_full
    return ("metrics", "logs") if is_running else ()


RULE = Rule("S02", judge, needs)
