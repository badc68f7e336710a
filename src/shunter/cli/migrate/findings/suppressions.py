"""What people have suppressed with reasons: `migration.yaml`, for every verb that tells findings."""

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
    """The suppressions of the file; none where no file is named and the default does not exist."""
    path = configuration or Path("migration.yaml")
    if configuration is None and not path.exists():
        return ()

    return suppression.read(path)


def suppressed_findings(batch: Batch, faults: list[Finding], configuration: Path | None) -> tuple[Batch, list[Finding]]:
    """A batch and other findings, with those marked that the file suppresses, and findings about the file itself."""
    known = entries(configuration)
    if not known:
        return batch, faults

    return suppression.suppressed(batch, faults, known, datetime.now(UTC).date())


def faults_of(known: tuple[Entry, ...]) -> list[Finding]:
    """What is wrong with the entries themselves, whatever a run finds; for verbs that make only some of all findings."""
    if not known:
        return []

    told = suppression.faults((), known, datetime.now(UTC).date())
    return [fault for fault in told if fault.topic is not suppression.UNUSED]


def marked(findings: Iterable[Finding], known: tuple[Entry, ...]) -> tuple[Finding, ...]:
    """Findings that are no batch's, those that are suppressed with the reason."""
    if not known:
        return tuple(findings)

    return suppression.marked(findings, known, datetime.now(UTC).date())
