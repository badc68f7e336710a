"""Applies the suppressions of `migration.yaml`, for every command that prints findings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from shunter.migrate.conversion import suppression
from shunter.migrate.conversion.batch import Batch
from shunter.migrate.conversion.suppression import Entry
from shunter.migrate.findings import Finding

ConfigurationOption = Annotated[
    Path | None,
    typer.Option("--config", help="File of suppressed findings with reasons [default: ./migration.yaml, if it exists]."),
]


def entries(configuration: Path | None) -> tuple[Entry, ...]:
    """The suppressions of the file; none if no file is named and the default does not exist."""
    path = configuration or Path("migration.yaml")
    if configuration is None and not path.exists():
        return ()
    return suppression.read(path)


def suppressed_findings(batch: Batch, faults: list[Finding], configuration: Path | None) -> tuple[Batch, list[Finding]]:
    """A batch and other findings, with those that the file suppresses marked, and findings about the file itself."""
    known = entries(configuration)
    if not known:
        return batch, faults
    return suppression.suppressed(batch, faults, known, datetime.now(UTC).date())


def faults_of(known: tuple[Entry, ...]) -> list[Finding]:
    """What is wrong with the entries themselves, whatever a run finds; for commands that have only some of all findings."""
    if not known:
        return []
    found = suppression.faults((), known, datetime.now(UTC).date())
    return [fault for fault in found if fault.topic is not suppression.UNUSED]


def marked(findings: Iterable[Finding], known: tuple[Entry, ...]) -> tuple[Finding, ...]:
    """Findings that belong to no batch, with the reasons of their suppressions."""
    if not known:
        return tuple(findings)
    return suppression.marked(findings, known, datetime.now(UTC).date())
