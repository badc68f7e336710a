"""The inventory as Markdown: figures, then a table of the jobs."""

from __future__ import annotations

from shunter import __version__
from shunter.migrate.survey.inventory.classes import CLASSES
from shunter.migrate.survey.inventory.fleet import Fleet
from shunter.migrate.survey.report.markdown import table


def written(fleet: Fleet) -> str:
    """The whole text; ends in a line break."""
    lines = ["# Inventory of v1 jobs", "", *table(("", ""), figures(fleet)), "", "## Classes", ""]
    lines += table(("class", "jobs", "means"), [(name, fleet.classes[name], means) for name, means in CLASSES.items()])
    if fleet.blockers:
        lines += [
            "",
            "## Top blockers",
            "",
            *table(("id", "jobs", "about"), [(id, jobs, title) for id, title, jobs in fleet.blockers]),
        ]
    lines += ["", "## Oldest Trainer that runs the results", "", *table(("release", "jobs"), fleet.releases.items())]
    lines += ["", "## Namespaces", "", *table(("namespace", "jobs", "GPU-hours", "effort"), _parts(fleet))]
    lines += [
        "",
        "## Jobs",
        "",
        *table(("job", "class", "why", "effort", "release", "GPU-hours", "owner", "place"), _rows(fleet)),
    ]
    return "\n".join([*lines, "", f"Written by shunter {__version__}."]) + "\n"


def figures(fleet: Fleet) -> list[tuple[str, str]]:
    """Names and values, in reading order."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in fleet.kinds.items())
    return [
        ("Jobs", f"{fleet.jobs} ({kinds})" if kinds else "0"),
        ("GPU-hours used", f"{fleet.gpu_hours:,.1f}"),
        ("GPUs asked for by unfinished jobs", f"{fleet.gpus:,g}"),
        ("Effort", f"{fleet.effort} points, {fleet.topics} different topics"),
    ]


def _parts(fleet: Fleet) -> list[tuple[str, int, str, int]]:
    return [(part.name, part.jobs, f"{part.gpu_hours:,.1f}", part.effort) for part in fleet.namespaces]


def _rows(fleet: Fleet) -> list[tuple[object, ...]]:
    return [
        (row.title, row.job_class, row.reasons[0].why, row.effort, row.release, f"{row.gpu_hours:,.1f}", row.owner, row.place)
        for row in fleet.entries
    ]
