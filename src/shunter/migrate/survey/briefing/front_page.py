"""The summary page, for decision-makers, as HTML."""

from __future__ import annotations

from collections.abc import Callable

from shunter.api.grouping import grouped_by
from shunter.migrate.findings import Finding
from shunter.migrate.proof.stages.runs import worst
from shunter.migrate.survey.briefing.decision import Point, checklist, metrics, verdict, waves
from shunter.migrate.survey.briefing.facts import Facts, Job
from shunter.migrate.survey.inventory.forms.html import TONES, blockers, classes, parts
from shunter.migrate.survey.report.page import Html, badge, bars, cards, element, page, prose, table

TITLE = "Migration to Kubeflow Trainer v2"
FAULTS_TITLE = "Findings about the input"
LISTED_FAULTS = 40
_LISTED_REFERENCES = 12


def html(facts: Facts, path_of: Callable[[Job], str]) -> str:
    """`path_of` says where the page of a job is, relative to this one."""
    overall = verdict(facts)
    return page(
        TITLE,
        element("div", element("b", overall.word), element("span", overall.sentence), class_=f"verdict {overall.tone}"),
        *_faults(facts),
        _figures(facts),
        element("h2", "Success metrics"),
        table(
            ("metric", "target", "now"),
            [(element("b", metric.name), metric.target, _now(metric.now, metric.tone)) for metric in metrics(facts)],
        ),
        *_next_steps(facts),
        element("h2", "Work by class"),
        classes(facts.fleet),
        element("h2", "Waves"),
        table(
            ("wave", "jobs", "effort", "GPUs", "why"),
            [(f"{wave.number}. {wave.name}", wave.jobs, wave.effort, f"{wave.gpus:g}", wave.why) for wave in waves(facts)],
            numbers=[1, 2, 3],
        ),
        *blockers(facts.fleet),
        *_releases(facts),
        element("h2", "Checklist"),
        *(
            part
            for phase, points in grouped_by(checklist(facts), lambda point: point.phase).items()
            for part in (element("h3", phase), _points(points))
        ),
        element("h2", "Namespaces"),
        parts("namespace", facts.fleet.namespaces),
        *([element("h2", "Owners"), parts("owner", facts.fleet.owners)] if facts.fleet.owners else []),
        *_references(facts),
        element("h2", "Jobs"),
        table(
            ("job", "class", "proof", "effort", "GPU-hours", "why"),
            [_row(job, path_of(job)) for job in facts.jobs],
            numbers=[3, 4],
        ),
        element("p", "Programs: ", element("a", "how each call of the v1 SDK is made with that of v2", href="sdk.html"), "."),
        element("p", f"As of {facts.made:%Y-%m-%d %H:%M} UTC.", class_="faint"),
    )


def proof_of(job: Job) -> str:
    """How far a job was proved, in a few words."""
    if job.proof is None:
        return "not converted"
    if job.outcome.is_blocked:
        return "not to be used"
    runs = f", runs {worst(job.runs).verdict}" if job.runs else ""
    if job.is_proved:
        return f"pods compared{runs}"
    if job.unproved and not job.is_refuted:
        return f"pods compared, not what programs read{runs}"
    held = f"{job.proof.reached} holds" if job.proof.reached else "nothing holds"
    return f"{held}{', not the next stage' if job.proof.is_refuted else ''}{runs}"


def _faults(facts: Facts) -> list[Html]:
    faults = facts.standing_faults
    if not faults:
        return []
    left = len(faults) - LISTED_FAULTS
    rest = [element("p", prose(f"And {left} more: standard error of `shunter migrate report` has each."))] if left > 0 else []
    rows = [_fault(fault) for fault in faults[:LISTED_FAULTS]]
    return [element("h2", FAULTS_TITLE), table(("where", "id", "", "what"), rows), *rest]


def _fault(fault: Finding) -> tuple[object, ...]:
    severity = badge("blocking", "bad") if fault.is_blocking else badge(fault.topic.severity, "mild")
    what = element("div", element("div", prose(fault.message)), element("div", prose(fault.advice), class_="faint"))
    return element("code", str(fault.place)), fault.topic.id, severity, what


def _figures(facts: Facts) -> Html:
    fleet, converted = facts.fleet, facts.converted
    proved = sum(job.is_proved for job in converted)
    return cards(
        [
            ("v1 jobs", f"{fleet.jobs:,}", ""),
            ("unfinished", f"{len(facts.unfinished):,}", ""),
            ("with a usable result", f"{len(converted):,}", "good" if len(converted) == len(facts.unfinished) else "mild"),
            ("of these proved pod by pod", f"{proved:,}", "good" if proved == len(converted) else "mild"),
            ("blocked", f"{fleet.count('blocked'):,}", "bad" if fleet.count("blocked") else "good"),
            ("effort points", f"{fleet.effort:,}", ""),
            ("different topics", f"{fleet.topics:,}", ""),
            *([("GPU-hours used", f"{fleet.gpu_hours:,.0f}", "")] if facts.is_live else []),
        ]
    )


def _now(text: str, tone: str) -> Html:
    return element(
        "span", badge({"good": "met", "mild": "open", "bad": "not met"}[tone], tone) if tone else None, " ", prose(text)
    )


def _points(points: list[Point]) -> Html:
    states = {True: "done", False: "open", None: ""}
    return element(
        "ul",
        *(
            element("li", point.text, " ", element("span", prose(point.figure), class_="faint"), class_=states[point.is_done])
            for point in points
        ),
        class_="checks",
    )


def _next_steps(facts: Facts) -> list[Html]:
    if facts.readiness is None or not facts.readiness.next:
        return []
    return [element("h2", "First, on the cluster"), element("ol", *(element("li", prose(step)) for step in facts.readiness.next))]


def _releases(facts: Facts) -> list[Html]:
    if not facts.fleet.releases:
        return []
    listed = [(f"Trainer {release}", jobs, "") for release, jobs in facts.fleet.releases.items()]
    return [element("h2", "Oldest Trainer that runs the results"), bars(listed)]


def _references(facts: Facts) -> list[Html]:
    if not facts.references:
        return []
    by_topic: dict[str, tuple[str, int]] = {}
    for finding in facts.references:
        title, count = by_topic.get(finding.topic.id, (finding.topic.title, 0))
        by_topic[finding.topic.id] = title, count + 1
    rows = sorted(((element("code", id), count, title) for id, (title, count) in by_topic.items()), key=lambda row: -row[1])
    return [
        element("h2", "Other references to v1"),
        table(("id", "places", "about"), rows[:_LISTED_REFERENCES], numbers=[1]),
        element("p", "Each with its line: ", element("a", "references.html", href="references.html"), "."),
    ]


def _row(job: Job, path: str) -> tuple[object, ...]:
    row = job.entry
    name = element("div", element("a", row.title, href=path), element("div", row.inside or row.place, class_="faint"))
    is_bad = job.proof is None or job.outcome.is_blocked or (job.is_proved and job.is_refuted)
    tone = "bad" if is_bad else "good" if job.is_proved else "mild"
    return (
        name,
        badge(row.job_class, TONES[row.job_class]),
        badge(proof_of(job), tone),
        row.effort,
        f"{row.gpu_hours:,.1f}",
        row.reasons[0].why,
    )
