"""What of a converted template depends on its expressions, which words and numbers stand for meanwhile.

An expression that the result does not have has decided something by the word or number that was tried in its place, so the
template is refused; where its value only counts, the result gets a sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.migrate.conversion.ledger import Row
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.rules.clean_pod_policy import SHORTEST_TTL_SECONDS
from shunter.migrate.conversion.rules.programs.built_names import BUILT
from shunter.migrate.excerpts import excerpt
from shunter.migrate.findings import Finding, Place
from shunter.migrate.paths import Path, leaves, path_text, value_at

WORD = late_pattern(r"helmword(\d+)x|helmsum(\d+)x")
_BRACES = late_pattern(r"^\{\{-?\s*|\s*-?\}\}$")
_QUOTES = late_pattern(r"\s*\|\s*s?quote(\s*-?\}\})\Z")
TTL_FIELD = "ttlSecondsAfterFinished"
"""The field whose value the result raises where it is too short."""
_RAISED = late_pattern(r"\{\{-?\s*(?:max\s+(\d+)\s[^|]*|[^|]*\|\s*max\s+(\d+)\s*)-?\}\}")
_NUMBERS = late_pattern(r"(\d+)")
_FOLLOWING = (("metadata", "name"), ("runtimeRef", "name"))
"""Names of runtimes: they follow from what is in them."""


class Refusal(Exception):
    """Why a template cannot be converted as such. `line` counts within the document, from 0."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.reason = line, reason


def only_decisive(row: Row, conversion: Conversion, others: Mapping[int, Conversion]) -> Iterator[int]:
    """The expressions of a field that the result does not have, though no finding says that it is lost: what it has instead
    follows from the word or the number that was tried."""
    if row.outcome == "reported":
        return
    value = value_at(conversion.source.value, row.path)
    results = conversion.train_job, conversion.runtime
    text = "".join(str(leaf) for result in results for _, leaf in leaves(result)) if isinstance(value, str) else ""
    yield from (int(word[1]) for word in WORD.finditer(str(value)) if word[1] and word[0] not in text)
    for hole, other in others.items():
        is_this = value_at(other.source.value, row.path) != value
        if is_this and (other.train_job, other.runtime) == results:
            yield hole


def is_raised(expression: str) -> bool:
    """Whether an expression is no time to live that is too short: `{{ max 60 .Values.ttl }}`."""
    match = _RAISED.fullmatch(expression)
    return match is not None and int(match[1] or match[2]) >= SHORTEST_TTL_SECONDS


def with_sums(
    conversion: Conversion, others: Mapping[int, Conversion], holes: list[str], numbers: Mapping[int, int], sums: list[str]
) -> Conversion:
    """The conversion with words where numbers depend on expressions, for which `numbers` were tried, and others one more; `sums`
    gets what the words stand for."""

    def summed(value: Json, tried: Mapping[int, Json | None]) -> Json:
        changed = value
        for path, leaf in leaves(value):
            shares = _shares(path, leaf, tried)
            if shares:
                constant = int(leaf) - sum(numbers[hole] for hole in shares)
                texts = [_raised(holes[hole]) if path[-1] == TTL_FIELD else holes[hole] for hole in shares]
                sums.append(_sum(constant, texts, is_text=isinstance(leaf, str)))
                changed = replaced(changed, path, f"helmsum{len(sums) - 1}x")
        return changed

    train_job = summed(conversion.train_job, {hole: other.train_job for hole, other in others.items()})
    runtime = conversion.runtime and summed(conversion.runtime, {hole: other.runtime for hole, other in others.items()})
    return msgspec.structs.replace(conversion, train_job=train_job, runtime=runtime)


def with_expressions(message: str, others: Mapping[int, str], holes: list[str], numbers: Mapping[int, int]) -> str:
    """A finding's message with expressions in place of the numbers that were tried; `others` are the messages with one more."""
    parts = _NUMBERS.split(message)
    found = [*parts]
    for hole, other in others.items():
        its = _NUMBERS.split(other)
        for place in (place for place in range(1, len(parts), 2) if len(its) == len(parts) and its[place] != parts[place]):
            more = int(parts[place]) - numbers[hole]
            found[place] = f"{more} + {holes[hole]}" if more > 0 else holes[hole]
    return "".join(found)


def unquoted_within_texts(conversion: Conversion, holes: list[str], sums: list[str]) -> Conversion:
    """The conversion with expressions that quote a value, as `{{ .Values.gpus | quote }}`, without the quotes where the value now
    stands within a text: `--nproc_per_node={{ .Values.gpus }}`."""
    before = [leaf for _, leaf in leaves(conversion.source.value) if isinstance(leaf, str)]

    def unquoted(match: re.Match[str]) -> str:
        expression = holes[int(match[1])] if match[1] else ""
        plain = _QUOTES.sub(r"\1", expression)
        if plain == expression or any(match[0] in leaf and leaf != match[0] for leaf in before):
            return match[0]
        sums.append(plain)
        return f"helmsum{len(sums) - 1}x"

    def changed(result: Json) -> Json:
        for path, leaf in leaves(result):
            if isinstance(leaf, str) and not WORD.fullmatch(leaf) and (text := WORD.sub(unquoted, leaf)) != leaf:
                result = replaced(result, path, text)
        return result

    runtime = conversion.runtime and changed(conversion.runtime)
    return msgspec.structs.replace(conversion, train_job=changed(conversion.train_job), runtime=runtime)


def joined_names(conversion: Conversion, holes: list[str], place: Place) -> Iterator[Finding]:
    """What says of texts that an expression and a role make what may be the name of a pod; where the expression is the job's own
    name, the conversion says more."""
    specs = next(value for key, value in conversion.source.value["spec"].items() if key.endswith("ReplicaSpecs"))
    roles = "|".join(map(str.lower, specs))
    joined = re.compile(rf"(?:{WORD.pattern})[\w.-]*-(?:{roles})-(?:\d|helm)|-(?:{roles})-[\d%]")
    texts = [*(leaf for _, leaf in leaves(conversion.train_job["spec"]) if isinstance(leaf, str)), *holes]
    found = next(filter(joined.search, texts), None)
    if found is not None and not any(finding.topic.id == BUILT.id for finding in conversion.findings):
        says = f"{excerpt(restored(found, holes))!r} may name a pod as v1 does."
        yield Finding(BUILT, conversion.source.title, place, (), says)


def _shares(path: Path, leaf: Any, tried: Mapping[int, Json | None]) -> list[int]:
    """The expressions that count in a number, once each."""
    shares = []
    for hole, other in tried.items():
        there = value_at(other, path)
        if there == leaf or path[-2:] in _FOLLOWING:
            continue
        if not _is_number(leaf) or type(there) is not type(leaf) or there != type(leaf)(int(leaf) + 1):
            raise Refusal(0, f"{path_text(path)} of the result depends on a number that only the values say")
        shares.append(hole)
    return shares


def _is_number(leaf: Any) -> bool:
    return type(leaf) is int or (isinstance(leaf, str) and leaf.isdecimal())


def _raised(expression: str) -> str:
    """The expression with the least value of a time to live: `{{ max 60 (.Values.ttl) }}`."""
    inner = _BRACES.sub("", expression)
    return expression if is_raised(expression) else f"{{{{ max {SHORTEST_TTL_SECONDS} ({inner}) }}}}"


def _sum(constant: int, holes: list[str], *, is_text: bool) -> str:
    inner = [_BRACES.sub("", hole) for hole in holes]
    if constant == 0 and len(inner) == 1:
        return f"{{{{ {inner[0]} | quote }}}}" if is_text else holes[0]
    terms = " ".join([*([str(constant)] if constant else []), *(f"(int ({text}))" for text in inner)])
    return f"{{{{ add {terms}{' | quote' if is_text else ''} }}}}"


def replaced(value: Any, path: Path, leaf: Any) -> Any:
    """A copy of the value with another leaf at the path."""
    if not path:
        return leaf
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], leaf)
    return copy


def restored(text: str, holes: list[str]) -> str:
    """The text with expressions in place of their words, for people."""
    return WORD.sub(lambda match: holes[int(match[1])] if match[1] else match[0], text)
