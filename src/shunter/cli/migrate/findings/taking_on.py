"""What people have taken on with reasons: `migration.yaml`, for every verb that tells findings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shunter.migrate.conversion.batch import Batch
    from shunter.migrate.conversion.suppression import Entry
    from shunter.migrate.findings import Finding

ConfigurationOption = Annotated[
    Path | None,
    typer.Option("--config", help="File of suppressed findings with reasons [default: ./migration.yaml, if it exists]."),
]


def entries(configuration: Path | None) -> tuple[Entry, ...]:
    """What the file takes on; nothing where none is named and none is there."""
    path = configuration or Path("migration.yaml")
    if configuration is None and not path.exists():
        return ()
    from shunter.migrate.conversion import suppression

    return suppression.read(path)


def taken_on(batch: Batch, faults: list[Finding], configuration: Path | None) -> tuple[Batch, list[Finding]]:
    """A batch, and what else there is to tell, with all marked that is taken on; told as well is what is wrong with the file."""
    known = entries(configuration)
    if not known:
        return batch, faults
    from datetime import UTC, datetime

    from shunter.migrate.conversion import suppression

    return suppression.taken_on(batch, faults, known, datetime.now(UTC).date())


def faults_of(known: tuple[Entry, ...]) -> list[Finding]:
    """What is wrong with the entries themselves, whatever a run finds; for verbs that make only some of all findings."""
    if not known:
        return []
    from datetime import UTC, datetime

    from shunter.migrate.conversion import suppression

    told = suppression.faults((), known, datetime.now(UTC).date())
    return [fault for fault in told if fault.topic is not suppression.UNUSED]


def marked(findings: Iterable[Finding], known: tuple[Entry, ...]) -> tuple[Finding, ...]:
    """Findings that are no batch's, those that are taken on with the reason."""
    if not known:
        return tuple(findings)
    from datetime import UTC, datetime

    from shunter.migrate.conversion import suppression

    return suppression.marked(findings, known, datetime.now(UTC).date())
