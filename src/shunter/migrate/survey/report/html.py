"""The report as one HTML page."""

from __future__ import annotations

from shunter.api.formats.counts import count
from shunter.migrate.survey.report.contents import Contents, Item, ReportedFinding
from shunter.migrate.survey.report.page import Html, badge, cards, element, page, prose, table
from shunter.migrate.survey.report.summary import figures, topic_counts

TONES = {"error": "bad", "warning": "mild", "info": ""}
_CARD_TONES = {"Converted": "good", "Blocked": "bad", "Unreadable": "bad", "Errors": "bad", "Warnings": "mild"}


def written(contents: Contents) -> str:
    """The whole page. Sections are open unless there are more than 20."""
    numbers = [(name, value, "" if value == "0" else _CARD_TONES.get(name, "")) for name, value in figures(contents)]
    counts = [
        (element("code", id), badge(severity, TONES[severity]), impact, number, title)
        for id, severity, impact, number, title in topic_counts(contents)
    ]
    with_findings = [item for item in contents.items if item.findings]
    quiet = [item.title for item in contents.items if not item.findings]
    return page(
        f"Migration report: {contents.about}",
        cards(numbers),
        *(
            [element("h2", "Topics"), table(("id", "severity", "impact", "findings", "about"), counts, numbers=[3])]
            if counts
            else []
        ),
        element("h2", "Files" if contents.about == "scan" else "Jobs"),
        *(_section(item, opened=len(with_findings) <= 20) for item in with_findings),
        *([element("h2", "No findings"), element("ul", *(element("li", title) for title in quiet))] if quiet else []),
    )


def _section(item: Item, *, opened: bool) -> Html:
    standing = item.standing
    tone = "bad" if any(finding.is_blocking for finding in standing) else "mild" if standing else "good"
    place = f"{item.source}:{item.line}" if item.line else item.source
    says = badge(count(len(standing), "finding") if item.outcome == "found" else item.outcome, tone)
    summary = element("summary", element("b", item.title), " ", says, " ", element("span", place, class_="faint"))
    if item.outcome == "found":
        summary = element("summary", element("b", item.title), " ", says)
    about = (
        element("p", f"Profile {item.profile}: {item.reason}. Grade {item.grade}. ", _fields(item), class_="faint")
        if item.profile
        else None
    )
    body = [about, *map(finding_box, item.findings)]
    return element("details", summary, *body, open="open" if opened else "")


def _fields(item: Item) -> str:
    return f"Fields: {item.carried} carried, {item.defaulted} left to defaults, {item.reported} in findings."


def finding_box(finding: ReportedFinding) -> Html:
    """One finding as a box; pages about single objects show it as well."""
    where = f"{finding.line}:{finding.column}" if finding.line else finding.field or finding.source
    blocking = badge("blocking", "bad") if finding.is_blocking else None
    field = element("code", finding.field) if finding.field and finding.line else None
    upstream = element("p", f"Upstream: {finding.upstream}", class_="faint") if finding.upstream else None
    suppressed = element("p", f"Suppressed: {finding.suppressed}", class_="faint") if finding.suppressed else None
    target = element("p", "In the result: ", element("code", finding.target), class_="faint") if finding.target else None
    return element(
        "div",
        element(
            "p",
            element("b", finding.id),
            " ",
            badge(finding.severity, TONES[finding.severity]),
            " ",
            blocking,
            " ",
            element("span", where, class_="faint"),
            " ",
            field,
        ),
        element("p", prose(finding.message)),
        element("p", prose(finding.remedy)) if finding.remedy else None,
        target,
        upstream,
        suppressed,
        class_=f"finding {'suppressed' if finding.suppressed else finding.severity}",
    )
