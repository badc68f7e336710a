"""The content of every form of a report: objects with their findings, as plain values. The JSON form is exactly this.

`SCHEMA` is a guarantee: fields may be added under the same name; any other change gets a new name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from shunter import __version__
from shunter.api.grouping import grouped_by
from shunter.migrate.conversion.batch import Batch, Outcome
from shunter.migrate.findings import Change, Finding, Grade, Impact, Place, Severity, worst

SCHEMA: Literal["shunter.migrate.report/v1"] = "shunter.migrate.report/v1"
About = Literal["conversion", "scan"]


class _Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Every field is always written, so that readers need no defaults."""


class ReportedFinding(_Struct, frozen=True):
    """One finding."""

    id: Annotated[str, Meta(description="Stable id of the topic, as in `shunter migrate explain ID`.")]
    title: Annotated[str, Meta(description="What the topic is about, half a sentence.")]
    severity: Severity
    impact: Annotated[Impact, Meta(description="blocking: the result must not be used until someone has decided.")]
    change: Annotated[Change, Meta(description="What becomes of the meaning.")]
    grade: Annotated[Grade, Meta(description="E exact, Q equivalent, D degraded, L lossy, N not expressible.")]
    source: Annotated[str, Meta(description="File, or object of a cluster with its field.")]
    line: Annotated[int, Meta(description="From 1; 0 when the source has no lines.")]
    column: Annotated[int, Meta(description="From 1; 0 when the source has no lines.")]
    field: Annotated[str, Meta(description="Path of the field in the object; empty when it is about all of it.")]
    message: Annotated[str, Meta(description="What was found, with names and values.")]
    remedy: Annotated[str, Meta(description="What to do about it.")]
    target: Annotated[str, Meta(description="Field of the result; empty when there is none.")]
    effort: Annotated[int, Meta(description="Points: 0 nothing to do, 1 a glance, 3, 5, 7, 13 a project.")]
    upstream: Annotated[str, Meta(description="Issue upstream; may be empty.")]
    suppressed: Annotated[str, Meta(description="Why it was suppressed; empty for a finding that is not suppressed.")]

    @property
    def is_blocking(self) -> bool:
        """Whether the result must not be used until something is changed or the finding is suppressed."""
        return self.impact == "blocking" and not self.suppressed

    @property
    def place(self) -> str:
        """`jobs/bert.yaml:12:7`; of an object of a cluster the source alone."""
        return str(Place(self.source, self.line, self.column))


class Item(_Struct, frozen=True):
    """One object, or one file of a scan, with what was found in it."""

    title: Annotated[str, Meta(description="`PyTorchJob team/bert`, or the file's path.")]
    kind: str
    namespace: str
    name: str
    source: str
    line: int
    outcome: Annotated[
        Literal["converted", "blocked", "unreadable", "found"],
        Meta(description="converted, blocked and unreadable: of an object; found: of a file."),
    ]
    profile: Annotated[str, Meta(description="P1, P2 or P3; empty when nothing was converted.")]
    reason: Annotated[str, Meta(description="Why this profile.")]
    grade: Annotated[Grade, Meta(description="That of the worst finding.")]
    carried: Annotated[int, Meta(description="Leaves of the source that are in the result.")]
    defaulted: Annotated[int, Meta(description="Leaves that the result needs not say.")]
    reported: Annotated[int, Meta(description="Leaves that are in findings only.")]
    findings: tuple[ReportedFinding, ...]

    @property
    def standing(self) -> list[ReportedFinding]:
        """The findings that are not suppressed."""
        return [finding for finding in self.findings if not finding.suppressed]


class Summary(_Struct, frozen=True):
    """The numbers of objects by outcome, and of findings by severity."""

    objects: int
    converted: int
    blocked: int
    unreadable: int
    errors: Annotated[int, Meta(description="Findings that are not suppressed, by severity.")]
    warnings: int
    infos: int
    suppressed: Annotated[int, Meta(description="Findings that were suppressed.")]
    effort: Annotated[int, Meta(description="Points of all objects; each topic counts once an object.")]


class Contents(_Struct, frozen=True):
    """The whole document."""

    schema: Annotated[Literal["shunter.migrate.report/v1"], Meta(description="Version of this document's form.")]
    tool: Annotated[str, Meta(description="`shunter VERSION`")]
    about: About
    summary: Summary
    items: tuple[Item, ...]

    @property
    def findings(self) -> list[tuple[Item, ReportedFinding]]:
        """All findings, including suppressed ones, each with its object or file."""
        return [(item, finding) for item in self.items for finding in item.findings]


def of_batch(batch: Batch, faults: Iterable[Finding] = ()) -> Contents:
    """The report about a batch: its objects in order, then the findings about no object, by source."""
    return contents("conversion", [*map(_item, batch.outcomes), *by_source(faults)])


def contents(about: About, items: Sequence[Item]) -> Contents:
    """The document with these items and their summary. Files of a scan do not count as objects, suppressed findings only as
    suppressed."""
    standing = [finding for item in items for finding in item.standing]
    outcomes = [item.outcome for item in items]
    summary = Summary(
        objects=sum(outcome != "found" for outcome in outcomes),
        converted=outcomes.count("converted"),
        blocked=outcomes.count("blocked"),
        unreadable=outcomes.count("unreadable"),
        errors=sum(finding.severity == "error" for finding in standing),
        warnings=sum(finding.severity == "warning" for finding in standing),
        infos=sum(finding.severity == "info" for finding in standing),
        suppressed=sum(len(item.findings) - len(item.standing) for item in items),
        effort=sum(effort_of(item.standing) for item in items),
    )
    return Contents(schema=SCHEMA, tool=f"shunter {__version__}", about=about, summary=summary, items=tuple(items))


def effort_of(findings: Iterable[ReportedFinding]) -> int:
    """The points of one object; each topic counts once."""
    return sum({finding.id: finding.effort for finding in findings}.values())


def by_source(findings: Iterable[Finding]) -> list[Item]:
    """Findings that are about no v1 job: one item for each source, in order."""
    found = grouped_by(findings, lambda finding: finding.place.source)
    return [
        Item(
            title=source,
            kind="",
            namespace="",
            name="",
            source=source,
            line=0,
            outcome="found",
            profile="",
            reason="",
            grade=worst([finding.topic.grade for finding in some if not finding.suppressed]),
            carried=0,
            defaulted=0,
            reported=0,
            findings=tuple(map(reported_finding, some)),
        )
        for source, some in found.items()
    ]


def reported_finding(finding: Finding) -> ReportedFinding:
    """The finding as plain values, with the remedy of its topic if it has none itself."""
    topic = finding.topic
    return ReportedFinding(
        id=topic.id,
        title=topic.title,
        severity=topic.severity,
        impact=topic.impact,
        change=topic.change,
        grade=topic.grade,
        source=finding.place.source,
        line=finding.place.line,
        column=finding.place.column,
        field=finding.field,
        message=finding.message,
        remedy=finding.advice,
        target=finding.target,
        effort=topic.effort,
        upstream=topic.upstream,
        suppressed=finding.suppressed,
    )


def _item(outcome: Outcome) -> Item:
    source, conversion = outcome.source, outcome.conversion
    place = source.place()
    outcomes = [row.outcome for row in conversion.rows] if conversion else []
    return Item(
        title=source.title,
        kind=source.kind,
        namespace=source.namespace,
        name=source.name,
        source=place.source if place.line else source.source,
        line=place.line,
        outcome="unreadable" if conversion is None else "blocked" if outcome.is_blocked else "converted",
        profile=conversion.profile if conversion else "",
        reason=conversion.reason if conversion else "",
        grade=worst([finding.topic.grade for finding in outcome.findings]),
        carried=outcomes.count("carried"),
        defaulted=outcomes.count("defaulted"),
        reported=outcomes.count("reported"),
        findings=tuple(map(reported_finding, outcome.findings)),
    )
