"""Reads files that other commands wrote with `-o json`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import typer

from shunter.errors import InputError

T = TypeVar("T")

ComparisonsOption = Annotated[
    list[Path] | None, typer.Option("--comparison", help="Output of `compare -o json` for a job's runs; repeatable.")
]


def saved_output(path: Path, flag: str, form: type[T]) -> T:
    """The content of a file written by the command that the flag names. InputError if it is something else."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=form)
    except OSError as error:
        raise InputError(f"{flag} {path}: {error.strerror}.") from error
    except (msgspec.MsgspecError, RecursionError) as error:
        verb = flag.removeprefix("--").replace("comparison", "compare JOB").replace("assessment", "assess")
        raise InputError(f"{flag} {path}: {error}.", f"Write one: shunter migrate {verb} -o json > FILE") from error
