"""K06: a bus error, mostly because /dev/shm is too small.

Does not blame shared memory if a volume is mounted at /dev/shm and no message says so.
"""

from __future__ import annotations

import re

from shunter.doctor.case import Case
from shunter.doctor.endings import Ending
from shunter.doctor.rules.rule import Rule, of_error, pods_and_events, pods_of, ranks_of, ranks_text
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict

SIGBUS = 135
_SHORT = re.compile(
    r"out of shared memory|insufficient shared memory|killed by signal: Bus error"
    r"|No space left on device: '/dev/shm/|creating shared memory segment /dev/shm/\S+ \(size \d+\)(?!, error: (?!No space left))"
    r"|unable to (?:allocate|resize|write to|mmap)[^\n]{0,60}</torch_[^\n]{0,60}(?:No space left|Cannot allocate)",
    re.IGNORECASE,
)
SHM = "/dev/shm"
REMEDY = "Mount an emptyDir with medium Memory at /dev/shm; it counts against limits.memory."


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the last message of torch, NCCL or Python, exit code 135, and the mounts at /dev/shm. Certain only if a
    message says so; only possible if none does and a volume is mounted there."""
    groups: dict[tuple[bool, bool], list[Ending]] = {}
    for ending in case.reasons:
        says_so = lacks_shared_memory(ending)
        if says_so or ending.exit_code == SIGBUS:
            groups.setdefault((says_so, _has_shm(case, ending)), []).append(ending)
    return [_verdict(ones, says_so=says_so, has_shm=has_shm) for (says_so, has_shm), ones in groups.items()]


def lacks_shared_memory(ending: Ending) -> bool:
    """Whether a message says so at the end. Torch names its files in /dev/shm without the directory."""
    return _SHORT.search("\n".join((ending.whole, *ending.last_lines))) is not None


def _verdict(ones: list[Ending], *, says_so: bool, has_shm: bool) -> Verdict:
    ranks, confidence = ranks_of(ones), _confidence(says_so, has_shm)
    text = f"{ranks_text(ones)} {'ran out of shared memory' if says_so else f'ended with SIGBUS (exit code {SIGBUS})'}"
    mounts = (
        "a volume is mounted at /dev/shm"
        if has_shm
        else "no volume is mounted at /dev/shm: the container has the runtime's default (64M usually)"
    )
    remedy = REMEDY if not has_shm else "Raise the sizeLimit of the volume at /dev/shm, or lower num_workers." if says_so else ""
    return Verdict(
        id="K06",
        title="BUS ERROR",
        cause=text,
        confidence=confidence,
        ranks=ranks,
        pods=pods_of(ones),
        evidence=tuple(item for one in ones for item in (of_error(one), Excerpt(source="pod", text=mounts, pod=one.pod))),
        remedy=remedy,
    )


def _confidence(says_so: bool, has_shm: bool) -> Confidence:
    if says_so:
        return "certain"
    return "possible" if has_shm else "likely"


def _has_shm(case: Case, ending: Ending) -> bool:
    mounts = case.container(ending.pod, ending.container).get("volumeMounts") or ()
    return any(str(mount.get("mountPath", "")).rstrip("/") == SHM for mount in mounts)


RULE = Rule("K06", judge, pods_and_events, explains=True)
