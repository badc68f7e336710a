"""What kubectl get shows of a custom object."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shunter.api.resources import Resource
from shunter.cluster.apiserver.kinds import Column, Kind, Schema
from shunter.cluster.apiserver.printers.custom import custom_printer

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("text", ["soon", "9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00"])
def test_what_is_no_date_on_any_calendar_is_shown_as_invalid(text: str) -> None:
    def no_schema() -> Schema:
        raise AssertionError("printing needs none")

    thing = Kind(
        resource=Resource("x.io", "v1", "Thing", "things"), schema=no_schema, columns=(Column("When", "date", ".spec.when"),)
    )
    cells = custom_printer(thing).cells({"metadata": {"name": "a"}, "spec": {"when": text}}, NOW)
    assert cells == ["a", "<invalid>"]
