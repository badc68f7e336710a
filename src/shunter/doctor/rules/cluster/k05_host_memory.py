"""K05: a container exceeded its memory limit.

Does not say which process used it, nor that GPU memory is short. Exit code 137 alone proves nothing: `kill -9` and evictions have
it too.
"""

from __future__ import annotations

from shunter.api.grouping import grouped_by
from shunter.doctor.case import Case
from shunter.doctor.endings import Ending
from shunter.doctor.rules.rule import Rule, pods_and_events, pods_of, ranks_of, ranks_text
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.kube.pods.log_times import time_of

REASON = "OOMKilled"


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the reason OOMKilled alone: one verdict for each memory limit that containers exceeded. Never which
    process used it."""
    groups = grouped_by((ending for ending in case.failures if ending.reason == REASON), lambda ending: _limit(case, ending))
    return [_verdict(limit, ones) for limit, ones in groups.items()]


def _verdict(limit: str, ones: list[Ending]) -> Verdict:
    ranks = ranks_of(ones)
    many = len(ranks) > 1
    text = f"{ranks_text(ones)} exceeded {'their' if many else 'its'} memory limit{f' of {limit}' if limit else ''}"
    return Verdict(
        id="K05",
        title="OUT OF MEMORY (host)",
        cause=text,
        confidence="certain",
        ranks=ranks,
        pods=pods_of(ones),
        evidence=tuple(_excerpt(one) for one in ones),
        remedy="Raise resources.limits.memory, or lower num_workers. This is not GPU memory.",
    )


def _excerpt(ending: Ending) -> Excerpt:
    began, ended = (time_of(text) if text else None for text in (ending.started, ending.at))
    after = f", {int((ended - began).total_seconds())} s after start" if began and ended else ""
    text = f"OOMKilled, exit code {ending.exit_code}{after}"
    return Excerpt(source="pod", text=text, pod=ending.pod, container=ending.container, at=ending.at)


def _limit(case: Case, ending: Ending) -> str:
    limits = (case.container(ending.pod, ending.container).get("resources") or {}).get("limits") or {}
    return str(limits.get("memory") or "")


RULE = Rule("K05", judge, pods_and_events, explains=True)
