"""T08: a file cannot be used: its volume is full or read-only, or the program's user has no permission. Names the path and the
volume mounted there.

Does not claim that a node's disk is full if the path is on a PersistentVolumeClaim, nor that a volume is at fault if the message
names no path, nor that a file is meant if permission may be missing for a port, a device or a program.
"""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from shunter.api.formats.counts import listed
from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.endings import Ending
from shunter.doctor.rules.cluster.k06_bus_error import lacks_shared_memory
from shunter.doctor.rules.logs.texts import log_excerpt, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures, ranks_of, ranks_text
from shunter.doctor.verdicts import Confidence, Verdict
from shunter.operator.remedies import remedy_for

DENIED = "Permission denied"
_TEXT = re.compile(r"(No space left on device|Read-only file system|Disk quota exceeded)(?:[^'\"/]*['\"]?(/[^'\"\s]*))?")
# Python's own message, that of safetensors, and that of torch.save, which names no path. Python names none for a port.
_DENIED = re.compile(
    rf"\[Errno 13\] {DENIED}: b?['\"]([^'\"]+)|{DENIED} \(os error 13\) at path \"([^\"]+)"
    rf"|open file failed with strerror: {DENIED}"
)
CUT_OFF = "cut off"
# torch.save's message if the last write of a file fails, without the reason.
_CUT_OFF = re.compile(r"inline_container\.cc:\d+\] \. unexpected pos \d+ vs \d+|PytorchStreamWriter failed writing")
_STARTS_A_PROGRAM = ("_execute_child", "execv", "execve", "execvp", "execvpe")
_QUOTED = re.compile(r"['\"](/[\w./-]+)['\"]")
_SAVED = re.compile(r"\bsave\w*\([^'\"]*['\"](/[\w./-]+)['\"]")
_OF_THE_KERNEL = ("/dev/", "/proc/", "/sys/")
TITLES = {
    "No space left on device": ("VOLUME FULL", "is full", "Free space there, or make the volume larger."),
    CUT_OFF: (
        "VOLUME FULL",
        "is probably full: torch.save could not finish the file",
        "Free space there, or make the volume larger.",
    ),
    "Disk quota exceeded": ("VOLUME FULL", "has no quota left", "Free space there, or raise the quota."),
    "Read-only file system": ("NOT WRITABLE", "is read-only", "Write to another path, or mount the volume without readOnly."),
}
_OWNER = "Set securityContext.runAsUser to the owner of the path, or change its owner or mode"
WITHOUT_GROUP = ("hostPath", "nfs")
"""Types of volumes whose owner Kubernetes never changes to fsGroup."""
MOST_PATHS = 2


class Fault(NamedTuple):
    """What is wrong with files of one place."""

    what: str
    place: str
    """What is mounted there, in words; empty if no absolute path is known."""
    kind: str
    """The volume's type, as `hostPath`; empty if the path is on no volume, or unknown."""


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the exceptions of containers that are no victims, and their mounts: one verdict for each fault and
    volume. Only likely if torch.save does not say what went wrong."""
    groups: dict[Fault, dict[str, list[Ending]]] = {}
    for ending in case.reasons:
        # Only the exception counts: a library may log an error about a path that it can do without.
        if not lacks_shared_memory(ending) and (found := _file_error(case, ending)):
            what, path = found
            groups.setdefault(Fault(what, *_place(case, ending, path)), {}).setdefault(path, []).append(ending)
    return [_verdict(case, fault, ones) for fault, ones in groups.items()]


def _file_error(case: Case, ending: Ending) -> tuple[str, str] | None:
    """The fault of a file in the exception, and the file's path: empty if none is named, relative if the container has no
    workingDir."""
    if match := _TEXT.search(ending.text):
        return match[1], match[2] or _path(ending, _QUOTED)
    if _CUT_OFF.search(ending.text):
        return CUT_OFF, _path(ending, _SAVED)
    match = _DENIED.search(ending.text)
    if match is None or ending.error is None or any(frame[2] in _STARTS_A_PROGRAM for frame in ending.error.frames):
        return None
    path = match[1] or match[2] or _path(ending, _SAVED)
    if path.startswith(_OF_THE_KERNEL) and not _mounts(case, ending, path):
        return None
    directory = case.container(ending.pod, ending.container).get("workingDir") or ""
    return DENIED, posixpath.join(directory, path) if path else ""


def _verdict(case: Case, fault: Fault, by_path: dict[str, list[Ending]]) -> Verdict:
    ones = [one for group in by_path.values() for one in group]
    paths = listed([path for path in by_path if path], MOST_PATHS)
    if fault.what == DENIED:
        title, remedy = "NOT PERMITTED", _remedy(fault)
        be = "are" if len(ranks_of(ones)) > 1 else "is"
        text = f"{ranks_text(ones)} {be} denied access to {paths or 'a file'}{f' on {fault.place}' if fault.place else ''}"
    else:
        title, is_so, known = TITLES[fault.what]
        remedy = known if fault.place else remedy_for(ones[0].text) or known
        place = fault.place or "a file system that is not named"
        text = f"{ranks_text(ones)} cannot write{f' at {paths}' if paths else ''}: {place} {is_so}"
    evidence = [log_excerpt(one, one.text) for one in ones]
    confidence: Confidence = "likely" if fault.what == CUT_OFF else "certain"
    return verdict(case, "T08", title, text, ones, confidence=confidence, evidence=evidence, remedy=remedy)


def _remedy(fault: Fault) -> str:
    """How to give the program's user access to the path."""
    if fault.kind in WITHOUT_GROUP:
        return f"{_OWNER}. fsGroup does not change who owns a {fault.kind} volume."
    return f"{_OWNER}{', or set fsGroup if the volume supports it' if fault.kind else ''}."


def _path(ending: Ending, pattern: re.Pattern[str]) -> str:
    """A path in the traceback's lines of source."""
    match = pattern.search("\n".join(line for line in ending.whole.splitlines() if 'File "' not in line))
    return match[1] if match else ""


def _place(case: Case, ending: Ending, path: str) -> tuple[str, str]:
    """What is mounted at the path, in words, and the type of the volume."""
    if not path.startswith("/"):
        return "", ""
    under = _mounts(case, ending, path)
    if not under:
        return "the container's own file system", ""
    mount = max(under, key=lambda one: len(one["mountPath"]))
    volumes: list[Json] = case.pod(ending.pod).get("spec", {}).get("volumes") or []
    volume = next((one for one in volumes if one["name"] == mount["name"]), {})
    kind = next((key for key in volume if key != "name"), "volume")
    if claim := volume.get("persistentVolumeClaim"):
        return f"PersistentVolumeClaim {claim['claimName']} (mounted at {mount['mountPath']})", kind
    if mount.get("readOnly"):
        return f"volume {mount['name']} (mounted at {mount['mountPath']} with readOnly)", kind
    return f"{kind} {mount['name']} (mounted at {mount['mountPath']})", kind


def _mounts(case: Case, ending: Ending, path: str) -> list[Json]:
    """The container's mounts that hold the path."""
    mounts: list[Json] = case.container(ending.pod, ending.container).get("volumeMounts") or []
    return [mount for mount in mounts if f"{path}/".startswith(f"{mount['mountPath'].rstrip('/')}/")]


RULE = Rule("T08", judge, logs_of_failures, explains=True)
