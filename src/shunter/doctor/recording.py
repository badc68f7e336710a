"""Evidence as a directory, and back: what --record writes, without credentials, and --from reads. Logs are files of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from shunter.doctor.evidence import Evidence, Log
from shunter.errors import InputError

EVIDENCE = "evidence.json"
LOGS = "logs"
_LOG = re.compile(r"(.+)\.([^.]+)\.(current|previous)\.log")


def write(evidence: Evidence, directory: Path) -> None:
    """Writes evidence, which must have been redacted, into a directory that is empty or not there; InputError for another."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"{directory} exists and is not empty.", "Name a directory that does not exist yet.")
    (directory / LOGS).mkdir(parents=True)
    bare = msgspec.structs.replace(evidence, logs=())
    (directory / EVIDENCE).write_bytes(msgspec.json.format(msgspec.json.encode(bare), indent=1) + b"\n")
    for log in evidence.logs:
        # As bytes: a text file would lose the carriage returns of progress bars.
        run = "previous" if log.is_previous else "current"
        (directory / LOGS / f"{log.pod}.{log.container}.{run}.log").write_bytes(log.text.encode())


def read(directory: Path) -> Evidence:
    """The evidence of a directory that `write` made; InputError for another."""
    path = directory / EVIDENCE
    try:
        evidence = msgspec.json.decode(path.read_bytes(), type=Evidence)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.", "Name a directory that shunter doctor --record wrote.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{path}: {error}.", "Name a directory that shunter doctor --record wrote.") from error
    return msgspec.structs.replace(evidence, logs=tuple(_logs(directory / LOGS)))


def _logs(directory: Path) -> Iterator[Log]:
    for path in sorted(directory.glob("*.log")):
        if found := _LOG.fullmatch(path.name):
            text = path.read_bytes().decode(errors="replace")
            yield Log(pod=found[1], container=found[2], text=text, is_previous=found[3] == "previous")
