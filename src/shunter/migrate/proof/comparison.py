"""Compares a v1 job with its conversion in full: pods, process groups, endings, and the values that were carried.

A difference between pods is expected (by a rule of `expectations`), reported (a finding of the conversion is about that field, or
its topic `explains` it), or unexplained: then the conversion must not be used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.secrets.masking import credentials, masked_value
from shunter.api.secrets.names import is_credential
from shunter.errors import InputError
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.options import Options
from shunter.migrate.parallel import beside
from shunter.migrate.paths import Path, path_text
from shunter.migrate.pods.differences import Difference, Matched, UnofferedError, matched
from shunter.migrate.pods.showing import shown_place, shown_value
from shunter.migrate.pods.sides import OtherOperatorError, Replica, v1_side, v2_side
from shunter.migrate.proof import account, endings, groups
from shunter.migrate.proof.context import Context
from shunter.migrate.proof.endings import Disagreement
from shunter.migrate.proof.expectations import expected
from shunter.migrate.proof.explanations import explained, explains_ending, source_paths
from shunter.migrate.proof.topics import (
    EVICTED_RESTARTS,
    GENERATED_NAME,
    NO_ORIGINAL_PODS,
    NO_PODS,
    NOT_AS_CARRIED,
    NOT_COMPARED,
    OTHER_ENDING,
    OTHER_GROUP,
    UNEXPLAINED,
)

_MANY_PAIRS = 300
"""Pods from which on a process of its own computes how the job ends."""


@dataclass(frozen=True)
class Comparison:
    """What the comparison of one job found, with expected and reported differences."""

    source: SourceObject
    matched: Matched | None
    """None if one side has no pods; a finding says why."""
    differences: tuple[Difference, ...]
    findings: tuple[Finding, ...]
    """The findings of the comparison itself."""

    @property
    def is_alike(self) -> bool:
        """Whether every pod has its counterpart, and every difference is explained or suppressed."""
        return self.matched is not None and not any(finding.is_blocking for finding in self.findings)


def compared(conversion: Conversion, options: Options = Options()) -> Comparison:  # noqa: B008
    """Compares a job with its conversion. Never raises."""
    found = compared_objects(conversion.source, conversion.train_job, conversion.runtime, conversion.findings, options)
    report = _Reporter(conversion.source, options)
    wrong = tuple(
        report(
            NOT_AS_CARRIED,
            row.path,
            f"{path_text(row.path)} was carried to {row.target.manifest} {path_text(row.target.path)}, but {fault}.",
        )
        for row, fault in account.faults(conversion)
        if row.target
    )
    return Comparison(found.source, found.matched, found.differences, (*found.findings, *wrong))


def compared_objects(
    source: SourceObject,
    train_job: Json,
    runtime: Json | None,
    findings: tuple[Finding, ...] = (),
    options: Options = Options(),  # noqa: B008
) -> Comparison:
    """Compares a v1 job with a TrainJob and its runtime, wherever they come from; `findings` explain differences. Never
    raises."""
    report = _Reporter(source, options)
    try:
        original = v1_side(source.value, options)
    except OtherOperatorError as error:
        return Comparison(source, None, (), (report(NOT_COMPARED, (), error.message, remedy=error.remedy),))
    except InputError as error:
        return Comparison(source, None, (), (report(NO_ORIGINAL_PODS, (), error.message, remedy=error.remedy),))
    try:
        both = matched(original, v2_side(train_job, runtime))
    except InputError as error:
        return Comparison(source, None, (), (report(NO_PODS, (), error.message, remedy=error.remedy),))
    except UnofferedError as error:
        topic = NO_ORIGINAL_PODS if error.in_v1 else NO_PODS
        return Comparison(source, None, (), (report(topic, (), f"{source.title}: a variable of a container: {error}."),))
    context = Context(both)
    with beside(lambda: endings.disagreements(both), pays=len(both.pairs) >= _MANY_PAIRS) as disagreements:
        differences = tuple(_classified(difference, source, context, findings) for difference in both.differences())
        reported = (*_of_pods(source, both, differences, report), *_of_groups(both, findings, report))
        of_endings = _of_endings(source, both, disagreements(), findings, report)
    return Comparison(source, both, differences, (*reported, *of_endings))


class _Reporter:
    """Makes findings about one object."""

    def __init__(self, source: SourceObject, options: Options) -> None:
        self._source = source
        self._accepted = options.accepted

    def __call__(self, topic: Topic, path: Path, message: str, *, remedy: str = "") -> Finding:
        accepted = topic.suppression_reason(self._accepted)
        return Finding(topic, self._source.title, self._source.place(path), path, message, remedy, "", accepted)


def _classified(one: Difference, source: SourceObject, context: Context, findings: tuple[Finding, ...]) -> Difference:
    if one.place and (reason := expected(one, context)):
        return Difference(one.pair, one.place, one.v1, one.v2, "expected", reason)
    if topic := explained(one, findings, source, context.matched):
        return Difference(one.pair, one.place, one.v1, one.v2, "reported", topic)
    if _is_pod_name(one):
        return Difference(one.pair, one.place, one.v1, one.v2, "reported", GENERATED_NAME.id)
    return one


def _is_pod_name(difference: Difference) -> bool:
    """Whether both values are the pod's own name, or texts that contain it; v2 generates pod names. False where the name is or
    may be an address: only v1's pod names resolve."""
    pair, place = difference.pair, difference.place
    if pair.v1 is None or pair.v2 is None or len(place) < 3 or place[2] not in ("env", "program", "args"):
        return False
    before, after = _with_mark(difference.v1, pair.v1, pair.mark), _with_mark(difference.v2, pair.v2, pair.mark)
    if before != after or pair.mark not in str(after):
        return False
    mark = re.escape(pair.mark)
    words = after if isinstance(after, list) else [after]
    is_address = any(re.search(rf"(?://|@){mark}|{mark}:\d", str(word)) for word in words)
    return not is_address and (place[2] == "env" or pair.mark not in words)


def _with_mark(value: Any, replica: Replica, mark: str) -> Any:
    """The value with the mark instead of the pod's name."""
    if isinstance(value, str):
        return value.replace(replica.pod["metadata"]["name"], mark)
    if isinstance(value, dict):
        return {key: _with_mark(item, replica, mark) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_mark(item, replica, mark) for item in value]
    return value


def secrets_of(source: SourceObject, both: Matched | None) -> set[str]:
    """The values of both sides that must not be shown: those of the objects, and what variables of such names are in the pods,
    where references in them have been replaced."""
    if both is None:
        return credentials(source.value)
    named = {
        (place[-1], value)
        for pair in both.facts
        for facts in pair
        for place, value in facts.items()
        if len(place) == 4 and place[2] == "env" and isinstance(value, str)
    }
    pods = (side.pod for pair in both.pairs for side in (pair.v1, pair.v2) if side is not None)
    return credentials([source.value, *pods]) | {value for name, value in named if is_credential(name, value)}


def _of_pods(source: SourceObject, both: Matched, differences: tuple[Difference, ...], report: _Reporter) -> Iterator[Finding]:
    """One finding for all pods of a role that differ in the same place. More people read findings than may read the job."""
    reported = (one for one in differences if one.verdict == "unexplained" or one.reason == GENERATED_NAME.id)
    ordered = sorted(reported, key=lambda one: (one.place, one.pair.role))
    hide = partial(masked_value, secrets=secrets_of(source, both) if ordered else set())
    for (place, role), group in groupby(ordered, key=lambda one: (one.place, one.pair.role)):
        same = [*group]
        first, paths = same[0], source_paths(source, both, same[0])
        who = f"{role} {first.pair.number}" if len(same) == 1 else f"{role} {first.pair.number} to {same[-1].pair.number}"
        if place:
            v1, v2 = shown_value(first.v1, hide), shown_value(first.v2, hide)
            what = f"{shown_place(place)} is {v1} in v1 and {v2} in v2."
        else:
            what = f"{'v2' if first.pair.v2 is None else 'v1'} has no such pod."
        topic = GENERATED_NAME if first.reason == GENERATED_NAME.id else UNEXPLAINED
        yield report(topic, paths[0] if paths else (), f"{who}: {what}")


def _of_groups(both: Matched, findings: tuple[Finding, ...], report: _Reporter) -> Iterator[Finding]:
    """One finding for the first difference between groups. If the conversion explains them, only for what cannot be explained: a
    group of v1 whose pods are no group in v2."""
    faults = [*groups.faults(both)]
    if any(groups.EXPLAINED in finding.topic.explains for finding in findings):
        faults = [*groups.breaches(both)]
    if faults:
        _, text = faults[0]
        more = f" {count(len(faults) - 1, 'more difference')}." if len(faults) > 1 else ""
        yield report(OTHER_GROUP, (), f"{text}{more}")


def _of_endings(
    source: SourceObject,
    both: Matched,
    disagreements: tuple[Disagreement, ...],
    findings: tuple[Finding, ...],
    report: _Reporter,
) -> Iterator[Finding]:
    """One finding for the cases with the same subject, role and endings."""
    before, after = endings.deadlines(both)
    if before != after and (before is None or before > 0):
        deadlines = ("no deadline" if seconds is None else f"a deadline of {seconds} s" for seconds in (before, after))
        yield report(OTHER_ENDING, (), f"The job has {' in v1 and '.join(deadlines)} in v2.")
    reported: set[tuple[str, ...]] = set()
    for one in disagreements:
        topic = EVICTED_RESTARTS if _restarts_evicted(one) else OTHER_ENDING
        key = (one.case.subject, one.case.role, one.v1, one.v2, topic.id)
        if key in reported or any(explains_ending(finding, one.case, source, both) for finding in findings):
            continue
        reported.add(key)
        yield report(topic, (), f"The job {one.v1} in v1 and {one.v2} in v2 {one.case.title}.")


def _restarts_evicted(one: Disagreement) -> bool:
    """Whether v1 fails the job when a pod is evicted, and v2 restarts the pod."""
    was_evicted = any(code is None for code in one.case.ended.values())
    return was_evicted and one.v1 == "fails" and one.v2 == "starts the pod again"
