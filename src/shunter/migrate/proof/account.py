"""Checks the conversion's ledger: carried fields must be in the result, with the value of the source."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from shunter.api.secrets.masking import credentials, masked_values
from shunter.migrate.conversion.ledger import Row
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.excerpts import excerpt
from shunter.migrate.paths import MISSING, value_at


def faults(conversion: Conversion) -> Iterator[tuple[Row, str]]:
    """The carried fields that are missing or have another value. Rows with a note, which describes a changed value, are
    skipped."""
    for row in conversion.rows:
        if row.outcome != "carried" or row.target is None or row.note:
            continue
        manifest = conversion.train_job if row.target.manifest == "TrainJob" else conversion.runtime
        present = value_at(manifest, row.target.path)
        given = value_at(conversion.source.value, row.path)
        if present is MISSING and given not in ({}, [], None, ""):
            yield row, "is missing there"
        elif present is not MISSING and present != given:
            secrets = credentials([conversion.source.value, manifest])
            yield row, f"is {_shown(present, secrets)} there and {_shown(given, secrets)} in v1"


def _shown(value: Any, secrets: Collection[str]) -> str:
    return excerpt(repr(masked_values(value, secrets)))
