"""Evidence as a directory, and back: what --record writes, without credentials, and --from reads. Logs are files of their own."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shunter.doctor.evidence import Evidence, Log
from shunter.errors import InputError

EVIDENCE = "evidence.json"
LOGS = "logs"


def write(evidence: Evidence, directory: Path) -> None:
    """Writes evidence, which must have been redacted, into a directory that is empty or not there; InputError for another."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"{directory} exists and is not empty.", "Name a directory that does not exist yet.")
    (directory / LOGS).mkdir(parents=True)
    bare = msgspec.structs.replace(evidence, logs=())
    (directory / EVIDENCE).write_bytes(msgspec.json.format(msgspec.json.encode(bare), indent=1) + b"\n")
    for log in evidence.logs:
        run = "previous" if log.is_previous else "current"
        (directory / LOGS / f"{log.pod}.{log.container}.{run}.log").write_text(log.text)


def read(directory: Path) -> Evidence:
    """The evidence of a directory that `write` made; InputError for another."""
    path = directory / EVIDENCE
    try:
        evidence = msgspec.json.decode(path.read_bytes(), type=Evidence)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.", "Name a directory that shunter doctor --record wrote.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{path}: {error}.", "Name a directory that shunter doctor --record wrote.") from error
    return msgspec.structs.replace(evidence, logs=tuple(map(_log, sorted((directory / LOGS).glob("*.log")))))


def _log(path: Path) -> Log:
    pod, container, run, _ = path.name.rsplit(".", 3)
    return Log(pod=pod, container=container, text=path.read_text(), is_previous=run == "previous")
