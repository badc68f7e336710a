"""Templates of Helm charts: a template is converted as such when every expression in it stands for one value.

Each expression is replaced by a word, the manifest converted, and the words replaced back. An expression that must be a number
(replicas) is tried with two numbers, to see where and how it counts in the result: `numNodes: {{ add 1 (.Values.workers) }}`.
Where the result has a least value (a time to live), these numbers are not below it: `{{ max 60 (.Values.ttl) }}`.
Anything else (ranges, conditions around fields, included blocks) is refused with its line: render the chart and convert that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count as count_from
from typing import NamedTuple

import msgspec

from shunter.api.formats import counts
from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.batch import Outcome, converted
from shunter.migrate.conversion.emit.job import SEPARATOR, written
from shunter.migrate.conversion.gitops.helm_values import (
    TTL_FIELD,
    WORD,
    Refusal,
    is_raised,
    joined_names,
    only_decisive,
    replaced,
    restored,
    unquoted_within_texts,
    with_expressions,
    with_sums,
)
from shunter.migrate.conversion.misspelt import OF_TEMPLATE
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.rules.clean_pod_policy import SHORTEST_TTL_SECONDS, TOO_SHORT
from shunter.migrate.conversion.source.documents import Document, parsed
from shunter.migrate.conversion.source.versions import is_convertible
from shunter.migrate.findings import Finding, Place, Topic
from shunter.migrate.options import Options
from shunter.migrate.paths import leaves, value_at

CONVERTED = Topic(
    id="HELM001",
    title="a chart template, converted with its expressions",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="Q",
    explanation=(
        "The manifest is a Helm template in which every expression is replaced by one value. It was converted with "
        "placeholders, and the expressions were put back. What depends on the values (for example whether a command starts "
        "torchrun) was not checked."
    ),
    remedy="Also render the chart and convert the result: helm template CHART | shunter migrate convert -f -",
)
REFUSED = Topic(
    id="HELM002",
    title="a chart template that must be rendered first",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "The manifest is a Helm template with more than single values in it: the job is known only after rendering. It is left "
        "unchanged."
    ),
    remedy="See the result with: helm template CHART | shunter migrate convert -f - , and rewrite the template.",
    effort=5,
    acceptable=True,
)
_ACTION = late_pattern(r"\{\{.*?\}\}", re.S)
_BLOCKS = late_pattern(
    r"\{\{-?\s*(?:if|else|end|range|with|define|block|template|break|continue)\b|\$\w*\s*:?=|\b(?:toYaml|toJson|indent|nindent)\b|-\}\}"
)
_LINES = late_pattern(r"^[ \t]*(\{\{-?[^{}]*\|\s*nindent\s+)(\d+)(\s*-?\}\})[ \t]*$", re.M)
"""An expression for several fields, in a line of its own: `{{- include "chart.labels" . | nindent 4 }}`. It says itself how far
they are indented, so it can stand for one field and be moved with its neighbours."""
_BEHIND_KEY = late_pattern(r"^([ \t]*(?:- )?[\w./-]+:)[ \t]*(?=\{\{-?[^{}]*\|\s*nindent\s+\d+\s*-?\}\}[ \t]*$)", re.M)
"""The same behind its key: `labels: {{- include "chart.labels" . | nindent 4 }}`."""
_INDENT = late_pattern(r"^\{\{(?!-)([^{}]*\|\s*)indent(\s+\d+\s*-?\}\})[ \t]*$", re.M)
"""The same without a line break of its own: `{{ toYaml .Values.labels | indent 4 }}` where the line begins."""
_LINES_VALUE = "helmlines"
_HELMS_OWN = late_pattern(r"(?m)^[ \t]*+[^#\n].*\{\{[^}]*(?:\.(?:Values|Release|Chart|Capabilities)|\binclude)\b")
"""Outside of a comment, what only Helm fills in."""
_COMMENT = late_pattern(r"\{\{-?\s*/\*")
_IF = late_pattern(r"(?:[ \t]*(?:#[^\n]*)?\n|---[^\n]*\n)*[ \t]*\{\{-?\s*if\b[^\n]*\}\}[ \t]*\n")
_END = late_pattern(r"\n[ \t]*\{\{-?\s*end\s*-?\}\}\s*\Z")


class TemplateSkeleton(NamedTuple):
    """What a template becomes, with its expressions put back."""

    text: str
    """The text of the whole document."""
    findings: tuple[Finding, ...]
    runtime: str
    """The part of the text that makes the job's runtime; empty where a shipped one does."""
    runtime_name: str
    is_conditional: bool
    """Whether values decide that nothing is made at all."""


def skeletons(documents: Iterable[Document], options: Options) -> tuple[dict[int, str], list[Finding]]:
    """New texts of the templates of v1 jobs that can be converted, by document, and what there is to tell of all of them."""
    texts: dict[int, str] = {}
    findings: list[Finding] = []
    known: dict[str, dict[str, TemplateSkeleton]] = {}
    for document in documents:
        try:
            skeleton = skeleton_of(document, options)
        except Refusal as refusal:
            place = Place(document.source, document.first_line + refusal.line + 1, 1)
            findings.append(Finding(REFUSED, document.source, place, (), f"The template cannot be converted: {refusal.reason}."))
            continue
        texts[id(document)] = _once_a_release(skeleton, known.setdefault(_chart_of(document), {}))
        findings += skeleton.findings
    return texts, findings


def _chart_of(document: Document) -> str:
    """The directory of the chart, whose templates are one release; of another template it is the file."""
    return document.source.rpartition("/templates/")[0] if document.is_of_chart else document.source


def _once_a_release(skeleton: TemplateSkeleton, known: dict[str, TemplateSkeleton]) -> str:
    """The text, with a runtime that no template of the release makes already: Helm makes no object twice. What an earlier
    template makes whatever the values are is not made again; otherwise the runtime gets a name of its own."""
    name = skeleton.runtime_name
    if not name:
        return skeleton.text
    earlier = known.setdefault(name, skeleton)
    if earlier is skeleton:
        return skeleton.text
    if earlier.runtime == skeleton.runtime and not earlier.is_conditional:
        return skeleton.text.replace(skeleton.runtime + SEPARATOR, "", 1)
    own = next(found for number in count_from(2) if (found := f"{name}-{number}") not in known)
    known[own] = skeleton
    return skeleton.text.replace(name, own)


def skeleton_of(document: Document, options: Options) -> TemplateSkeleton:
    """The template of the result. Raises Refusal."""
    before, body, after = _unwrapped(document.text)
    body = _with_lines_apart(body)
    holes = _holes(body, before.count("\n"))
    sums: list[str] = []
    try:
        outcome, conversion = _converted(_Attempt(document, before, body, holes, options), sums)
    except Refusal as refusal:
        raise Refusal(refusal.line, restored(refusal.reason, holes)) from None
    parts = written(unquoted_within_texts(conversion, holes, sums), is_whole_document=True)
    text = _back(parts.text, holes, sums)
    if re.search(r"helmword|helmsum", text):
        raise Refusal(before.count("\n"), "a name is made of an expression and would have to be shortened")
    place = Place(document.source, document.first_line + 1, 1)
    count = counts.count(len(holes), "expression")
    converted = Finding(CONVERTED, outcome.source.title, place, (), f"A template with {count} was converted as it is.")
    found = tuple(_readable(finding, holes) for finding in (*outcome.findings, *joined_names(conversion, holes, place)))
    return TemplateSkeleton(
        text=before + text.rstrip("\n") + (after or "\n"),
        findings=(converted, *found),
        runtime=_back(parts.runtime, holes, sums),
        runtime_name=_back(conversion.runtime["metadata"]["name"], holes, sums) if conversion.runtime else "",
        is_conditional=bool(before),
    )


def _with_lines_apart(body: str) -> str:
    """The body with each expression for several fields in a line of its own, indented as far as it says. Helm makes the same of
    it."""
    body = _BEHIND_KEY.sub(r"\1\n", _INDENT.sub(r"{{-\1nindent\2", body))
    return _LINES.sub(lambda match: " " * int(match[2]) + match[1] + match[2] + match[3], body)


def _converted(attempt: _Attempt, sums: list[str]) -> tuple[Outcome, Conversion]:
    """The conversion with words where numbers depend on expressions, and for the release's name."""
    numbers = attempt.numbers()
    outcome = attempt.outcome(numbers)
    conversion = _usable(outcome, attempt.document)
    tried = {hole: attempt.outcome({**numbers, hole: number + 1}) for hole, number in numbers.items()}
    others = {hole: _usable(other, attempt.document) for hole, other in tried.items()}
    for row in conversion.rows:
        for hole in only_decisive(row, conversion, others):
            raise Refusal(attempt.line(hole), f"what becomes of {attempt.holes[hole]} depends on its value")
    if numbers:
        counted = [hole for hole in numbers if others[hole].runtime != conversion.runtime]
        raised = [
            Finding(
                TOO_SHORT, outcome.source.title, place, (), f"{text} below {SHORTEST_TTL_SECONDS} becomes {SHORTEST_TTL_SECONDS}."
            )
            for place, text in attempt.raised(counted, numbers)
        ]
        told = [
            finding._replace(message=with_expressions(finding.message, same, attempt.holes, numbers))
            for finding, same in _with_counterparts(outcome, tried)
        ]
        outcome = msgspec.structs.replace(outcome, findings=(*told, *raised))
        conversion = with_sums(conversion, others, attempt.holes, numbers, sums)
    return outcome, _of_owner(conversion, attempt.document, sums)


def _with_counterparts(outcome: Outcome, tried: Mapping[int, Outcome]) -> Iterator[tuple[Finding, dict[int, str]]]:
    """Each finding with the messages that it has where one more was tried for an expression."""
    for place, finding in enumerate(outcome.findings):
        at_place = {hole: other.findings[place] for hole, other in tried.items() if place < len(other.findings)}
        yield finding, {hole: other.message for hole, other in at_place.items() if other.topic is finding.topic}


def _back(text: str, holes: list[str], sums: list[str]) -> str:
    """The text with expressions in place of words; those that were comments lose the `#` that made them some of YAML's."""
    text = re.sub(r"# (helmword(\d+)x)", lambda match: match[1] if _COMMENT.match(holes[int(match[2])]) else match[0], text)
    text = re.sub(rf"(?m)^( *)helmword(\d+)x: {_LINES_VALUE}$", lambda match: _moved(holes[int(match[2])], match[1]), text)
    return WORD.sub(lambda match: sums[int(match[2])] if match[2] else holes[int(match[1])], text)


def _moved(lines: str, margin: str) -> str:
    """The expression for fields that are indented like `margin` now."""
    return margin + _LINES.sub(lambda match: f"{match[1]}{len(margin)}{match[3]}", lines)


@dataclass(frozen=True)
class _Attempt:
    """A template that is tried with this and that in place of its expressions."""

    document: Document
    before: str
    body: str
    holes: list[str]
    options: Options

    def outcome(self, numbers: Mapping[int, int]) -> Outcome:
        text = self._filled(numbers)
        lines = self.document.first_line + self.before.count("\n")
        documents = parsed(text, self.document.source)
        for fault in (finding for document in documents for finding in document.findings):
            raise Refusal(
                max(fault.place.line - 1 + self.before.count("\n"), 0), f"with words for expressions it is {fault.message}"
            )
        jobs = [replace(found, first_line=found.first_line + lines) for document in documents for found in document.objects]
        if len(jobs) != 1 or not is_convertible(jobs[0]):
            raise Refusal(self.before.count("\n"), "kind and version are not written out")
        (outcome,) = converted(jobs, self.options).outcomes
        return msgspec.structs.replace(
            outcome, findings=tuple(finding for finding in outcome.findings if not _is_of_lines(finding))
        )

    def line(self, hole: int) -> int:
        """Where the expression first stands in the document."""
        return (self.before + self.body).count("\n", 0, len(self.before) + self.body.index(self.holes[hole]))

    def numbers(self) -> dict[int, int]:
        """The expressions that must stand for numbers, with the number to try: with words there, the job is not readable."""
        known: dict[int, int] = {}
        while True:
            outcome = self.outcome(known)
            if outcome.conversion is not None:
                return known
            fault = outcome.findings[0]
            value = value_at(outcome.source.value, fault.path)
            match = WORD.fullmatch(value) if isinstance(value, str) else None
            if match is None or not re.search(r"`int|is no quantity", fault.message):
                raise Refusal(fault.place.line - 1 - self.document.first_line, fault.message.rstrip("."))
            is_ttl = any(path[-1] == TTL_FIELD and leaf == value for path, leaf in leaves(outcome.source.value))
            known[int(match[1])] = SHORTEST_TTL_SECONDS if is_ttl else 2

    def raised(self, counted: Iterable[int], numbers: Mapping[int, int]) -> Iterator[tuple[Place, str]]:
        """The times to live among the expressions that the result raises where they are too short."""
        for hole in counted:
            text = self.holes[hole]
            if numbers[hole] == SHORTEST_TTL_SECONDS and not is_raised(text):
                yield Place(self.document.source, self.document.first_line + self.line(hole) + 1, 1), text

    def _filled(self, numbers: Mapping[int, int]) -> str:
        def word(match: re.Match[str]) -> str:
            hole = self.holes.index(match[0])
            if _COMMENT.match(match[0]):
                return f"# helmword{hole}x"
            if _LINES.match(match[0]):
                return f"helmword{hole}x: {_LINES_VALUE}"
            return str(numbers[hole]) if hole in numbers else f"helmword{hole}x"

        return _ACTION.sub(word, self.body)


def _is_of_lines(finding: Finding) -> bool:
    """Whether it says that the word for several fields is no field."""
    return finding.topic.id == OF_TEMPLATE.id and WORD.fullmatch(str(finding.path[-1])) is not None


def _unwrapped(text: str) -> tuple[str, str, str]:
    """The document without one condition around all of it: `{{- if .Values.enabled }}` ... `{{- end }}`."""
    start, end = _IF.match(text), _END.search(text)
    if start and end and start.end() < end.start():
        return text[: start.end()], text[start.end() : end.start() + 1], text[end.start() :]
    return "", text, ""


def _holes(body: str, lines_before: int) -> list[str]:
    """The expressions, each once: equal ones stand for equal values. Raises Refusal at the first that is more than a value."""
    holes: dict[str, None] = {}
    for match in _ACTION.finditer(body):
        line = lines_before + body.count("\n", 0, match.start())
        alone = body[body.rfind("\n", 0, match.start()) + 1 : match.start()].strip() == ""
        if _COMMENT.match(match[0]):
            if "\n" in match[0]:
                raise Refusal(line, "a comment of the template covers several lines")
        elif alone and _LINES.match(match[0]):
            pass
        elif _BLOCKS.search(match[0]) or (alone and not body[match.end() :].lstrip(" ").startswith((":", "-"))):
            raise Refusal(line, f"{' '.join(match[0].split())} stands for more than one value")
        holes[match[0]] = None
    return list(holes)


def _usable(outcome: Outcome, document: Document) -> Conversion:
    for finding in outcome.findings:
        if finding.is_blocking:
            raise Refusal(finding.place.line - 1 - document.first_line, f"{finding.topic.id} {finding.message.rstrip('.')}")
    assert outcome.conversion is not None, "what could not be read has a blocking finding"
    return outcome.conversion


def _of_owner(conversion: Conversion, document: Document, sums: list[str]) -> Conversion:
    """The runtime named after the release: what is in it depends on values, and Helm lets no two releases own one object. Where
    something else than Helm fills the template in there is no release, and the job's name stands for it."""
    if conversion.runtime is None:
        return conversion
    if document.is_of_chart or _HELMS_OWN.search(document.text):
        sums.append("{{ .Release.Name }}")
        owner = f"helmsum{len(sums) - 1}x"
    else:
        owner = conversion.train_job["metadata"].get("name") or ""
    name = f"{owner}-{conversion.runtime['metadata']['name']}".lstrip("-")
    return msgspec.structs.replace(
        conversion,
        runtime=replaced(conversion.runtime, ("metadata", "name"), name),
        train_job=replaced(conversion.train_job, ("spec", "runtimeRef", "name"), name),
    )


def _readable(finding: Finding, holes: list[str]) -> Finding:
    """With the expressions in place of their words."""
    return finding._replace(
        object=restored(finding.object, holes),
        message=restored(finding.message, holes),
        remedy=restored(finding.remedy, holes),
    )
