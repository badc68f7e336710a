"""Removes credentials from evidence, before any of it is shown, recorded or serialized. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

import msgspec

from shunter.api.meta import LAST_APPLIED, Json
from shunter.api.secrets.masking import HIDDEN, SHORTEST, credentials, masked_log, named_values
from shunter.api.secrets.names import is_credential
from shunter.doctor.evidence import Evidence, Sample
from shunter.doctor.verdicts import Verdict

NOISE = ("managedFields", LAST_APPLIED)
OBJECTS = ("job", "pods", "events", "children", "workloads", "nodes", "neighbours", "claims", "policies")
"""The fields of evidence that hold objects of the API server."""
WITH_SUBCOMMANDS = frozenset(
    [
        "aws",
        "az",
        "azcopy",
        "dvc",
        "gcloud",
        "git",
        "gsutil",
        "hf",
        "huggingface-cli",
        "kubectl",
        "mc",
        "rclone",
        "restic",
        "s3cmd",
        "s5cmd",
        "wandb",
    ]
)
"""Programs whose first argument, if it is no option, is a subcommand: never a credential."""
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9-]{,19}")
_SCRIPT = re.compile(r"[\w./-]+\.(?:py|sh)")


def redacted(evidence: Evidence, secrets: Collection[str] = ()) -> Evidence:
    """The evidence without credentials; `secrets` are those that it does not name itself: `credentials_in` of what was read
    before. Fields that no rule reads and that may repeat credentials (managedFields, kubectl's last applied configuration) are
    left out."""
    known = credentials_in(evidence, secrets)

    # Pods of a job repeat nearly all of their texts.
    @cache
    def hidden(text: str) -> str:
        return masked_log(text, known)

    def commands(sample: Sample) -> Sample:
        processes = (msgspec.structs.replace(one, command=hidden(short_command(one.command))) for one in sample.processes)
        return msgspec.structs.replace(sample, processes=tuple(processes))

    return msgspec.structs.replace(
        evidence,
        **{name: _walked(getattr(evidence, name), hidden) for name in OBJECTS},
        logs=tuple(msgspec.structs.replace(log, text=masked_log(log.text, known)) for log in evidence.logs),
        samples=tuple(map(commands, evidence.samples)),
        missing=tuple(msgspec.structs.replace(one, why=hidden(one.why)) for one in evidence.missing),
    )


def short_command(command: str) -> str:
    """The name of a process's program, with its subcommand or script: `aws s3`, `python train.py`, `rsync`. Other arguments are
    left out, as any may be a password (`sshpass -p`, `curl -u`, `mc alias set`)."""
    name, *arguments = command.split() or [""]
    name = name.rpartition("/")[2]
    first = next((one for one in arguments if not one.startswith("-")), "")
    is_subcommand = name in WITH_SUBCOMMANDS and first in arguments[:1] and _SUBCOMMAND.fullmatch(first)
    return f"{name} {first}" if is_subcommand or _SCRIPT.fullmatch(first) else name


def masked_verdicts(verdicts: Sequence[Verdict], evidence: Evidence) -> tuple[Verdict, ...]:
    """Verdicts without the credentials in the job and its pods: evidence from other callers may not be redacted."""
    known = credentials([evidence.job, *evidence.pods]) if verdicts else set()

    # Ranks that wait for another have the same texts.
    @cache
    def hidden(text: str) -> str:
        return masked_log(text, known)

    return tuple(
        msgspec.structs.replace(
            verdict,
            cause=hidden(verdict.cause),
            remedy=hidden(verdict.remedy),
            evidence=tuple(msgspec.structs.replace(one, text=hidden(one.text)) for one in verdict.evidence),
        )
        for verdict in verdicts
    )


def credentials_in(evidence: Evidence, secrets: Collection[str] = ()) -> set[str]:
    """Credentials by value, also line by line: those of Secrets, and those in fields and variables of the objects."""
    known = set[str]()
    for value in (*credentials([evidence.job, *evidence.pods, *evidence.children]), *secrets):
        known.update(part for part in (value, *value.splitlines()) if len(part) >= SHORTEST)
    return known


def _walked(value: Any, hidden: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hidden(value)
    if isinstance(value, dict):
        return _object(value, hidden)
    if isinstance(value, list | tuple):
        return type(value)(_walked(part, hidden) for part in value)
    return value


def _object(value: Json, hidden: Callable[[str], str]) -> Json:
    found = {name: _walked(part, hidden) for name, part in value.items() if name not in NOISE}
    texts = [field for field, part in value.items() if isinstance(part, str)]
    for field, (name, given) in zip(texts, named_values(value), strict=True):
        if field in found and is_credential(name, given):
            found[field] = HIDDEN
    return found
