"""The inventory as CSV (RFC 4180), a line for each job: for spreadsheets."""

from __future__ import annotations

import csv
import io

from shunter.migrate.survey.inventory.fleet import Fleet

COLUMNS = (
    "class", "kind", "namespace", "name", "state", "effort", "profile", "grade", "release", "gpus", "gpu_hours", "owner",
    "inside", "blockers", "topics", "rules", "why", "place",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def written(fleet: Fleet) -> str:
    """Lines end in CRLF. What a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in fleet.entries:
        cells: tuple[object, ...] = (
            row.job_class, row.kind, row.namespace, row.name, row.state, row.effort, row.profile, row.grade, row.release,
            f"{row.gpus:g}", f"{row.gpu_hours:.2f}", row.owner, row.inside, " ".join(row.blockers), " ".join(row.topics),
            " ".join(reason.rule for reason in row.reasons), row.reasons[0].why, row.place,
        )  # fmt: skip
        writer.writerow([_inert(str(cell)) for cell in cells])
    return text.getvalue()


def _inert(cell: str) -> str:
    """Spreadsheets run what looks like a formula; names and messages come from anybody."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
