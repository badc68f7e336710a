"""The summary page, for decision-makers, as Markdown: for a repository's wiki, or an issue."""

from __future__ import annotations

from shunter import __version__
from shunter.api.grouping import grouped_by
from shunter.migrate.findings import Finding
from shunter.migrate.survey.briefing.decision import checklist, metrics, verdict, waves
from shunter.migrate.survey.briefing.facts import Facts
from shunter.migrate.survey.briefing.front_page import FAULTS_TITLE, LISTED_FAULTS, TITLE, proof_of
from shunter.migrate.survey.inventory.classes import CLASSES
from shunter.migrate.survey.report.markdown import inline, table


def markdown(facts: Facts) -> str:
    """The whole page; ends in a line break."""
    overall, fleet = verdict(facts), facts.fleet
    lines = [f"# {TITLE}", "", f"**{overall.word}.** {inline(overall.sentence)}", *_faults(facts), "", "## Success metrics", ""]
    lines += table(("metric", "target", "now"), [(metric.name, metric.target, metric.now) for metric in metrics(facts)])
    lines += ["", "## Work by class", ""]
    lines += table(("class", "jobs", "means"), [(name, fleet.classes[name], means) for name, means in CLASSES.items()])
    lines += ["", "## Waves", ""]
    lines += table(
        ("wave", "jobs", "effort", "GPUs", "why"),
        [(f"{wave.number}. {wave.name}", wave.jobs, wave.effort, f"{wave.gpus:g}", wave.why) for wave in waves(facts)],
    )
    if fleet.blockers:
        lines += [
            "",
            "## Top blockers",
            "",
            *table(("id", "jobs", "about"), [(id, jobs, title) for id, title, jobs in fleet.blockers]),
        ]
    lines += ["", "## Checklist"]
    for phase, points in grouped_by(checklist(facts), lambda point: point.phase).items():
        lines += ["", f"### {phase}", ""]
        lines += [f"- [{'x' if point.is_done else ' '}] {inline(point.text)}: {point.figure}" for point in points]
    lines += ["", "## Jobs", ""]
    lines += table(
        ("job", "class", "proof", "effort", "GPU-hours", "why"),
        [
            (row.title, row.job_class, proof_of(job), row.effort, f"{row.gpu_hours:,.1f}", row.reasons[0].why)
            for job in facts.jobs
            for row in [job.entry]
        ],
    )
    return "\n".join([*lines, "", f"As of {facts.made:%Y-%m-%d %H:%M} UTC, written by shunter {__version__}."]) + "\n"


def _faults(facts: Facts) -> list[str]:
    faults = facts.standing_faults
    if not faults:
        return []
    left = len(faults) - LISTED_FAULTS
    rest = [f"- And {left} more: standard error of `shunter migrate report` has each."] if left > 0 else []
    return ["", f"## {FAULTS_TITLE}", "", *(_fault(fault) for fault in faults[:LISTED_FAULTS]), *rest]


def _fault(fault: Finding) -> str:
    severity = "**blocking**" if fault.is_blocking else fault.topic.severity
    return f"- {inline(str(fault.place))}: {severity} {fault.topic.id} {inline(fault.message)} {inline(fault.advice)}"
