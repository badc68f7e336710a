"""The inventory as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.migrate.survey.inventory.classes import CLASSES, RULES, JobClass
from shunter.migrate.survey.inventory.fleet import Fleet, Part
from shunter.migrate.survey.inventory.row import Row
from shunter.migrate.survey.report.page import Html, badge, bars, cards, element, page, table

TONES: dict[JobClass, str] = {
    "finished": "",
    "owned": "mild",
    "blocked": "bad",
    "complex": "mild",
    "standard": "good",
    "simple": "good",
}


def written(fleet: Fleet) -> str:
    """The whole page."""
    return page(
        "Inventory of v1 jobs",
        figures(fleet),
        element("h2", "Classes"),
        classes(fleet),
        *blockers(fleet),
        element("h2", "Oldest Trainer that runs the results"),
        bars([(release, jobs, "") for release, jobs in fleet.releases.items()]),
        element("h2", "Namespaces"),
        parts("namespace", fleet.namespaces),
        *([element("h2", "Owners"), parts("owner", fleet.owners)] if fleet.owners else []),
        element("h2", "Jobs"),
        table(
            ("job", "class", "why", "effort", "release", "GPUs", "GPU-hours", "owner"),
            [_row(row) for row in fleet.entries],
            numbers=[3, 5, 6],
        ),
        element("h2", "Rules"),
        table(("rule", "class", "holds when"), [(rule.id, rule.job_class, rule.explanation) for rule in RULES]),
    )


def figures(fleet: Fleet) -> Html:
    """Six of them in large type, for the top of a page."""
    return cards(
        [
            ("jobs", f"{fleet.jobs:,}", ""),
            ("ready to move (simple, standard)", f"{fleet.count('simple', 'standard'):,}", "good"),
            ("to review (complex)", f"{fleet.count('complex'):,}", "mild"),
            ("blocked", f"{fleet.count('blocked'):,}", "bad" if fleet.count("blocked") else ""),
            ("effort points", f"{fleet.effort:,}", ""),
            ("GPU-hours used", f"{fleet.gpu_hours:,.0f}", ""),
        ]
    )


def classes(fleet: Fleet) -> Html:
    """How many jobs each class has, and what each means."""
    return element(
        "div",
        bars([(name, fleet.classes[name], TONES[name]) for name in CLASSES]),
        table(("class", "means"), CLASSES.items()),
    )


def parts(heading: str, listed: Sequence[Part]) -> Html:
    """The jobs of each namespace, or of each owner."""
    rows = [(part.name, part.jobs, f"{part.gpu_hours:,.1f}", part.effort) for part in listed]
    return table((heading, "jobs", "GPU-hours", "effort"), rows, numbers=[1, 2, 3])


def blockers(fleet: Fleet) -> list[Html]:
    """The topics that block jobs, those of most jobs first, below a heading; nothing where no job is blocked."""
    if not fleet.blockers:
        return []
    rows = [(element("code", id), jobs, title) for id, title, jobs in fleet.blockers]
    return [element("h2", "Top blockers"), table(("id", "jobs", "about"), rows, numbers=[1])]


def _row(row: Row) -> tuple[object, ...]:
    name = element("div", element("b", row.title), element("div", row.inside or row.place, class_="faint"))
    return (
        name,
        badge(row.job_class, TONES[row.job_class]),
        row.reasons[0].why,
        row.effort,
        row.release,
        f"{row.gpus:g}",
        f"{row.gpu_hours:,.1f}",
        row.owner,
    )
