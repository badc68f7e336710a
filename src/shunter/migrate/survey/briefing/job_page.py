"""The page of one job: decisions with reasons, proof, findings, next commands, and both manifests side by side."""

from __future__ import annotations

from shunter.api.secrets.masking import HIDDEN
from shunter.migrate.conversion.emit.job import SEPARATOR
from shunter.migrate.proof.proving import STAGES
from shunter.migrate.survey.briefing.facts import Facts, Job
from shunter.migrate.survey.briefing.job_commands import commands
from shunter.migrate.survey.inventory.classes import CLASSES
from shunter.migrate.survey.inventory.forms.html import TONES
from shunter.migrate.survey.report.contents import reported_finding
from shunter.migrate.survey.report.html import finding_box
from shunter.migrate.survey.report.page import Html, badge, code, element, page, table

MASKED = (
    f"Hidden as {HIDDEN}: values of variables and arguments whose names contain TOKEN, SECRET, PASSWORD, CREDENTIAL or similar,"
    " passwords in addresses, and tokens with a known prefix."
    " The manifest and the output of convert contain them; store them in a Secret instead."
)


def html(job: Job, facts: Facts) -> str:
    """The page; its file is in a directory below the front page."""
    row = job.entry
    return page(
        row.title,
        element("p", element("a", "All jobs", href="../index.html"), " - ", row.inside or row.place, class_="faint"),
        element(
            "div",
            badge(row.job_class, TONES[row.job_class]),
            element("span", CLASSES[row.job_class]),
            class_=f"verdict {TONES[row.job_class]}",
        ),
        element("h2", "Decision"),
        table(("", ""), _decision(job)),
        *_proof(job),
        element("h2", "Findings"),
        *(finding_box(reported_finding(found)) for found in job.outcome.findings),
        *([] if job.outcome.findings else [element("p", "None: nothing changes its meaning.")]),
        element("h2", "Commands"),
        code("\n".join(commands(job, is_live=facts.is_live))),
        element("h2", "Side by side"),
        _sides(job),
    )


def _decision(job: Job) -> list[tuple[object, object]]:
    row, conversion = job.entry, job.outcome.conversion
    listed: list[tuple[object, object]] = [(element("b", "Class"), _reasons(job))]
    if conversion is not None:
        listed += [
            (element("b", "Profile"), f"{conversion.profile}: {conversion.reason}"),
            (element("b", "Runtime"), conversion.runtime_title),
            (element("b", "Needs"), f"Trainer {row.release} or newer"),
        ]
    if row.state:
        listed.append((element("b", "State"), row.state))
    if row.owner:
        listed.append((element("b", "Owner"), row.owner))
    listed.append((element("b", "Asks for"), f"{row.gpus:g} GPUs; used {row.gpu_hours:,.1f} GPU-hours"))
    listed.append((element("b", "Effort"), f"{row.effort} points"))
    return listed


def _reasons(job: Job) -> Html:
    return element("div", *(element("div", reason.why) for reason in job.entry.reasons))


def _proof(job: Job) -> list[Html]:
    if job.proof is None:
        return []
    tried = {result.stage: result for result in job.proof.results}
    rows = []
    for stage, means in STAGES.items():
        result = tried.get(stage)
        if result is None or not result.was_tried:
            state = badge("skipped")
        else:
            state = badge("holds", "good") if result.holds else badge("does not hold", "bad")
        rows.append((stage, state, means, result.note if result else ""))
    findings = [finding_box(reported_finding(found)) for found in job.proof.findings]
    return [element("h2", "Proof"), table(("stage", "", "means", "seen"), rows), *findings]


def _sides(job: Job) -> Html:
    after = SEPARATOR.join(part for part in (job.runtime, job.train_job) if part) or "# Nothing: see the findings.\n"
    sides = element(
        "div",
        element("div", element("h3", "v1"), code(job.before)),
        element("div", element("h3", "v2"), code(after)),
        class_="sides",
    )
    return element("div", element("p", MASKED), sides) if job.is_masked else sides
