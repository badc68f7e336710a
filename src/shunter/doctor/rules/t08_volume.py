"""T08: a file cannot be written: the volume is full, read-only, or not the user's. Names the path and the volume mounted there.

Does not claim that a node's disk is full when the path is on a claim.
"""

from __future__ import annotations

import re

from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.endings import Ending
from shunter.doctor.places import rank_list
from shunter.doctor.rules.rule import Rule, logs_of_failures, ranks_of
from shunter.doctor.rules.texts import said, verdict
from shunter.doctor.verdicts import Verdict

_TEXT = re.compile(
    r"(No space left on device|Read-only file system|Permission denied|Disk quota exceeded)(?:[^'\"/]*['\"]?(/[^'\"\s]*))?"
)
TITLES = {
    "No space left on device": ("VOLUME FULL", "is full", "Free space there, or make the volume larger."),
    "Disk quota exceeded": ("VOLUME FULL", "has no quota left", "Free space there, or raise the quota."),
    "Read-only file system": ("NOT WRITABLE", "is read-only", "Write elsewhere, or mount the volume without readOnly."),
    "Permission denied": (
        "NOT PERMITTED",
        "does not let the program's user in",
        "Set securityContext.fsGroup or runAsUser, or change who owns the path.",
    ),
}


def judge(case: Case) -> list[Verdict]:
    groups: dict[tuple[str, str], list[Ending]] = {}
    for ending in case.reasons:
        # The exception itself: a library's message about a path that it does without stands elsewhere in the log.
        if match := _TEXT.search(ending.text):
            groups.setdefault((match[1], match[2] or _path(ending)), []).append(ending)
    return [_verdict(case, what, path, ones) for (what, path), ones in groups.items()]


def _verdict(case: Case, what: str, path: str, ones: list[Ending]) -> Verdict:
    title, is_so, remedy = TITLES[what]
    where = f" at {path}" if path else ""
    volume = _volume(case, ones[0], path)
    text = f"{rank_list(ranks_of(ones))} cannot write{where}: {volume} {is_so}"
    return verdict(
        case, "T08", title, text, ones, confidence="certain", evidence=[said(one, one.text) for one in ones], remedy=remedy
    )


def _path(ending: Ending) -> str:
    """A path that the traceback's lines name."""
    match = re.search(r"['\"](/[\w./-]+)['\"]", "\n".join(line for line in ending.whole.splitlines() if 'File "' not in line))
    return match[1] if match else ""


def _volume(case: Case, ending: Ending, path: str) -> str:
    """What is mounted at the path, in words."""
    if not path:
        return "the volume"
    mounts = case.container(ending.pod, ending.container).get("volumeMounts") or ()
    under = [mount for mount in mounts if f"{path}/".startswith(f"{mount['mountPath'].rstrip('/')}/")]
    if not under:
        return "the container's own file system"
    mount = max(under, key=lambda one: len(one["mountPath"]))
    volumes: list[Json] = case.pod(ending.pod).get("spec", {}).get("volumes") or []
    volume = next((one for one in volumes if one["name"] == mount["name"]), {})
    if claim := volume.get("persistentVolumeClaim"):
        return f"PersistentVolumeClaim {claim['claimName']} (mounted at {mount['mountPath']})"
    if mount.get("readOnly"):
        return f"volume {mount['name']} (mounted at {mount['mountPath']} with readOnly)"
    kind = next((key for key in volume if key != "name"), "volume")
    return f"{kind} {mount['name']} (mounted at {mount['mountPath']})"


RULE = Rule("T08", judge, logs_of_failures, explains=True)
