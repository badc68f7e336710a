"""Checks the objects of an input that are not converted: their selectors, their references to jobs, and other v1 names (scan)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from shunter.api.batch import COMPLETION_INDEX
from shunter.api.formats.counts import count, listed
from shunter.api.jobset import JOBSET_NAME
from shunter.api.meta import Json
from shunter.api.selectors import notation
from shunter.kube.positions import followed
from shunter.migrate.conversion.batch import Batch
from shunter.migrate.conversion.rules.programs.hosts import IN_A_SCRIPT
from shunter.migrate.conversion.source.deployers import is_patch
from shunter.migrate.conversion.source.documents import Document
from shunter.migrate.conversion.source.kustomization import FILE_NAMES
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.findings import Finding
from shunter.migrate.survey.neighbours import topics
from shunter.migrate.survey.neighbours.changes import Change, Counts, change_of, counts_of, placement_changes
from shunter.migrate.survey.neighbours.job_pods import JobPods, Jobs
from shunter.migrate.survey.neighbours.references import references_to_jobs
from shunter.migrate.survey.neighbours.selections import Selection, selections
from shunter.migrate.survey.neighbours.selector_texts import NotRewrittenError, item_with_selectors, with_selectors
from shunter.migrate.survey.scan.manifests import MONITOR, SELECTOR
from shunter.migrate.survey.scan.references import findings_of
from shunter.migrate.v1_texts.rules import HOST, LABEL, MAYBE_HOST

_MOST_NAMES = 3
_SERVICE = (
    "Use JOB-node-0-INDEX.JOB as host. Where a Service must be named (Ingress, routes), create one that selects "
    f"{JOBSET_NAME} and {COMPLETION_INDEX}."
)
_AS_MANIFEST = "manifest.yaml"
"""The file name with which a document is scanned; the findings get their place afterwards."""
_OF_LABELS = (SELECTOR, MONITOR, LABEL)
"""Topics of the scan about v1's labels; they are not reported for selectors that were evaluated."""


@dataclass
class Neighbours:
    """The findings, and the new texts of documents by the document's id."""

    findings: list[Finding] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)


def neighbours(given: Input, batch: Batch, *, update_selectors: bool = False) -> Neighbours:
    """The findings about everything in the input that is not converted, in order. With `update_selectors`, also the new texts of
    documents whose selectors are rewritten."""
    found = Neighbours()
    names = {other.name: other.metadata.get("labels") for other in given.others if other.kind == "Namespace"}
    jobs = Jobs(batch.outcomes, batch.options, {name: labels for name, labels in names.items() if isinstance(labels, dict)})
    converted = {id(outcome.source) for outcome in batch.outcomes}
    left_out = {*map(id, given.templates), *converted}
    for document in (document for document in given.passed_on if all(is_patch(one.host, one.path) for one in document.embedded)):
        others = [source for source in document.objects if id(source) not in converted]
        document_findings, evaluated = _of_selections(document, others, jobs, found, update_selectors=update_selectors)
        is_read_elsewhere = document.findings or PurePath(document.source).name in FILE_NAMES
        if not is_read_elsewhere and not left_out.intersection((id(document), *map(id, document.objects))):
            document_findings += _of_scan(document, others, evaluated, jobs)
            document_findings += [reference for source in others for reference in references_to_jobs(source, jobs)]
        found.findings += sorted(document_findings, key=lambda finding: finding.place[1:])
    changes = (change for job in jobs.all for change in placement_changes(job, jobs))
    found.findings += [_finding(change, None) for change in changes]
    return found


def _of_selections(
    document: Document, others: Sequence[SourceObject], jobs: Jobs, found: Neighbours, *, update_selectors: bool
) -> tuple[list[Finding], list[Selection]]:
    """Findings about the selectors of a document's objects, and the selectors that select pods of jobs at all."""
    changes: list[Change] = []
    evaluated: list[Selection] = []
    for selection in (selection for source in others for selection in selections(source)):
        counts = counts_of(selection, jobs)
        change = change_of(selection, counts, jobs)
        changes += [change] if change is not None else []
        evaluated += [selection] if change is not None or any(one.before for one in counts) else []
    reasons: dict[int, str] = {}
    if update_selectors:
        certain = [change for change in changes if change.new is not None and not change.doubt]
        unchanged = _why_unchanged(document, others, jobs)
        is_alone = len(others) == len(document.objects)
        rewritable = [
            change
            for change in certain
            if not reasons.setdefault(id(change), unchanged or _obstacle(document, change, is_alone=is_alone))
        ]
        new = [(change.selection, change.new or {}) for change in rewritable]
        if new and is_alone:
            found.texts[id(document)] = with_selectors(document, new)
        elif new:
            for source in {id(selection.source): selection.source for selection, _ in new}.values():
                of_item = [(selection, value) for selection, value in new if selection.source is source]
                found.texts[id(source)] = item_with_selectors(source, of_item)
    return [_finding(change, reasons.get(id(change))) for change in changes], evaluated


def _why_unchanged(document: Document, others: Sequence[SourceObject], jobs: Jobs) -> str:
    """Why the document's text cannot be changed; empty if it can. A List with jobs is written as one document for each item, so
    items can be changed separately."""
    if len(others) == len(document.objects):
        return ""
    if document.is_json:
        return "it is in a JSON List together with jobs"
    inside = {id(source) for source in document.objects}
    is_converted = any(job.result for job in jobs.all if id(job.outcome.source) in inside)
    return "" if is_converted else "it is in a List whose jobs are not converted"


def _obstacle(document: Document, change: Change, *, is_alone: bool) -> str:
    """Why the selector cannot be rewritten; empty if it can. `is_alone`: the document has no job."""
    changes = [(change.selection, change.new or {})]
    try:
        if is_alone:
            with_selectors(document, changes)
        else:
            item_with_selectors(change.selection.source, changes)
    except NotRewrittenError as error:
        return str(error)
    return ""


def _finding(change: Change, obstacle: str | None) -> Finding:
    """The finding about a change. `obstacle` is why it was not rewritten: empty if it was, None if that was not tried."""
    selection = change.selection
    source = selection.source
    place = source.place(selection.path)
    old, new = (notation(_as_selector(selection, value)) for value in (selection.value, change.new))
    if obstacle == "":
        return Finding(topics.REWRITTEN, source.title, place, selection.path, f"{source.title} selects {new} in place of {old}.")
    topic = topics.LOST if change.is_lost else topics.GAINED if change.is_gained else topics.DIFFERENT
    remedy = _remedy(change, new, obstacle or "")
    return Finding(topic, source.title, place, selection.path, f"{source.title} selects {_counted(change)}.", remedy)


def _as_selector(selection: Selection, value: Json | None) -> Json:
    return {"matchLabels": value} if selection.form == "labels" else value or {}


def _counted(change: Change) -> str:
    """`2 of 3 pods of PyTorchJob training/bert and none of TrainJob training/bert: it has no endpoints`."""
    thing = "Service" if change.selection.of_services else "pod"
    follows = f": {change.selection.consequence}" if change.is_lost and change.selection.consequence else ""
    if len(change.changed) > 1:
        before = sum(one.before for one in change.changed)
        after = sum(one.after for one in change.changed)
        titles = [one.job.title for one in change.changed]
        jobs = f"{len(titles)} jobs ({listed(titles, _MOST_NAMES)})"
        return f"{_number(before, thing)} of {jobs} and {after or 'none'} of their TrainJobs{follows}"
    (one,) = change.changed
    return f"{_number(one.before, thing)} of {one.job.title} and {_share(one)} of {one.job.new_title}{follows}"


def _number(number: int, thing: str) -> str:
    return count(number, thing) if number else f"no {thing}"


def _share(one: Counts) -> str:
    return str(one.after) if one.after else "none"


def _remedy(change: Change, new: str, obstacle: str) -> str:
    if change.selection.of_services:
        return f"Services of v2 have no labels: use a PodMonitor that selects {JOBSET_NAME}={change.changed[0].job.new_name}."
    if change.new is None:
        return "No selector of v2's labels has exactly these pods: give the pod templates a label of your own, and select that."
    if change.doubt:
        return f"Select {new}, after a review: {change.doubt}."
    if obstacle:
        return f"Select {new}. --update-selectors left it: {obstacle}."
    return f"Select {new}; --update-selectors writes that."


def _of_scan(document: Document, others: Sequence[SourceObject], evaluated: Sequence[Selection], jobs: Jobs) -> Iterator[Finding]:
    """The findings of the scan in the document, except notes and labels in evaluated selectors. A possible host name is reported
    as one if a job of the input has it."""
    spans = [_lines(selection) for selection in evaluated]
    for finding in findings_of(_AS_MANIFEST, document.text):
        line = finding.place.line + document.first_line
        if finding.topic is MAYBE_HOST and (job := _job_of_host(finding, others, jobs)):
            finding = finding._replace(topic=HOST, message=f"{finding.message.partition(' ')[0]} {job}", remedy=_SERVICE)
        is_evaluated = finding.topic in _OF_LABELS and any(line in span for span in spans)
        if is_evaluated or finding.topic.severity == "info":
            continue
        title = others[0].title if len(others) == 1 else document.source
        yield finding._replace(object=title, place=finding.place._replace(source=document.source, line=line))


def _job_of_host(finding: Finding, others: Sequence[SourceObject], jobs: Jobs) -> str:
    """The message about the host with which a finding begins; empty if no converted job has it, or if the conversion reports it
    because its pods mount the text (HOST005)."""
    host = finding.message.partition(" ")[0]
    for job in jobs.all:
        if job.has_host(host) and not any(_is_reported(source, job) for source in others):
            return f"is a pod of {job.title} and its Service in v1; {job.new_title} has neither of that name."
    return ""


def _is_reported(source: SourceObject, job: JobPods) -> bool:
    start = f"{source.kind} {source.name} "
    return any(finding.topic is IN_A_SCRIPT and finding.message.startswith(start) for finding in job.outcome.findings)


def _lines(selection: Selection) -> range:
    """The lines of a selector, from 1."""
    source = selection.source
    if source.node is None:
        return range(0)
    node = followed(source.node, selection.path).node
    return range(source.first_line + node.start_mark.line + 1, source.first_line + node.end_mark.line + 2)
