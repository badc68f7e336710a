"""The pods of a v1 job and of what it became, compared, each difference judged.

A difference is expected (a rule of `expectations` knows it), reported (a finding of the conversion is about that field, or its
topic says that it `explains` it), or unexplained: then the conversion must not be used.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.migrate.conversion import Conversion
from shunter.migrate.draft import role_path
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.paths import Path, value_at
from shunter.migrate.proof.differences import Difference, Matched, Pair, matched
from shunter.migrate.proof.expectations import Context, expected
from shunter.migrate.proof.facts import TRAINING
from shunter.migrate.proof.pods import v1_side, v2_side
from shunter.migrate.proof.topics import GENERATED_NAME, NO_PODS, UNEXPLAINED
from shunter.migrate.source.objects import SourceObject

PODS = "pods"
"""What a topic says to explain pods that have no counterpart."""


@dataclass(frozen=True)
class Comparison:
    source: SourceObject
    matched: Matched | None
    """None when one side gets no pods; a finding says why."""
    differences: tuple[Difference, ...]
    findings: tuple[Finding, ...]
    """What the comparison itself has to say."""

    @property
    def is_alike(self) -> bool:
        """Whether every pod has its counterpart, and every difference is explained."""
        return self.matched is not None and not any(finding.is_blocking for finding in self.findings)


def compared(conversion: Conversion, options: Options = Options()) -> Comparison:  # noqa: B008
    """A conversion's own proof: never raises."""
    return compared_pods(conversion.source, conversion.train_job, conversion.runtime, conversion.findings, options)


def compared_pods(
    source: SourceObject,
    train_job: Json,
    runtime: Json | None,
    findings: tuple[Finding, ...] = (),
    options: Options = Options(),  # noqa: B008
) -> Comparison:
    """A v1 job beside a TrainJob and its runtime, wherever they come from; `findings` explain differences."""
    try:
        both = matched(v1_side(source.value, options), v2_side(train_job, runtime))
    except (InputError, ValueError) as error:
        text = error.message if isinstance(error, InputError) else f"{source.title}: {error}"
        remedy = error.remedy if isinstance(error, InputError) else ""
        return Comparison(source, None, (), (Finding(NO_PODS, source.title, source.place(), (), text, remedy),))
    context = Context(both)
    judged = tuple(_judged(difference, source, context, findings) for difference in both.differences())
    return Comparison(source, both, judged, tuple(_told(source, both, judged, options)))


def _judged(difference: Difference, source: SourceObject, context: Context, findings: tuple[Finding, ...]) -> Difference:
    if difference.place and (reason := expected(difference, context)):
        return difference._replace(verdict="expected", reason=reason)
    finding = next((one for one in findings if _explains(one, difference, source, context.matched)), None)
    if finding is not None:
        return difference._replace(verdict="reported", reason=finding.topic.id)
    if _is_own_name(difference):
        return difference._replace(verdict="reported", reason=GENERATED_NAME.id)
    return difference


def _explains(finding: Finding, difference: Difference, source: SourceObject, both: Matched) -> bool:
    """Whether the finding is about the field that differs, or its topic about what differs."""
    place = ".".join(_without_container(difference)) if difference.place else PODS
    if any(fnmatch.fnmatchcase(place, pattern) for pattern in finding.topic.explains):
        return True
    fields = source_paths(source, both, difference) if difference.place else ()
    return any(_overlap(finding.path, field) for field in fields)


def _without_container(difference: Difference) -> tuple[str, ...]:
    """`env.RANK` for a variable of any container; other places as they are."""
    place = difference.place
    return place[2:] if place[0] in ("containers", "initContainers") and len(place) > 2 else place


def _overlap(finding: Path, field: Path) -> bool:
    """Whether one of them leads to the other. A finding about a whole template says nothing of single fields."""
    shorter = min(len(finding), len(field))
    is_single = len(finding) > 5 or (len(finding) == len(field) and len(finding) > 3)
    return is_single and finding[:shorter] == field[:shorter]


def source_paths(source: SourceObject, both: Matched, difference: Difference) -> tuple[Path, ...]:
    """The fields of the v1 job that a difference is about, the most precise first."""
    pair = difference.pair
    if pair.v1 is None or not difference.place:
        return ()
    role = role_path(source, both.v1.framework, pair.v1.role)
    template = (*role, "template")
    section, *rest = difference.place
    match section:
        case "labels" | "annotations" | "finalizers":
            return ((*template, "metadata", section, *rest),)
        case "spec":
            path = (*template, "spec", *rest)
            return ((*role, "restartPolicy"), path) if rest == ["restartPolicy"] else (path,)
        case "volumes":
            return ((*template, "spec", "volumes", *_index(source, (*template, "spec", "volumes"), "name", rest[0]), *rest[1:]),)
    if not rest:
        return ((*template, "spec", section),)
    containers = (*template, "spec", section)
    name = pair.v1.container if rest[0] == TRAINING and section == "containers" else rest[0]
    container = (*containers, *_index(source, containers, "name", name))
    return tuple(_container_fields(source, container, rest[1:]))


def _container_fields(source: SourceObject, container: Path, rest: list[str]) -> Iterator[Path]:
    match rest:
        case []:
            yield container
        case ["env", name]:
            env = (*container, "env")
            yield (*env, *_index(source, env, "name", name))
        case ["program"]:
            yield (*container, "command")
            yield (*container, "args")
        case ["volumeMounts", path, *fields]:
            mounts = (*container, "volumeMounts")
            yield (*mounts, *_index(source, mounts, "mountPath", path), *fields)
        case ["ports", number]:
            items = (*container, "ports")
            yield (*items, *_index(source, items, "containerPort", int(number.partition("/")[0])))
        case _:
            yield (*container, *rest)


def _index(source: SourceObject, items: Path, key: str, value: str | int) -> Path:
    """The place of the last item of a list whose key has the value; nothing when there is none."""
    found = value_at(source.value, items)
    if not isinstance(found, list):
        return ()
    places = [place for place, item in enumerate(found) if isinstance(item, dict) and item.get(key) == value]
    return (places[-1],) if places else ()


def _is_own_name(difference: Difference) -> bool:
    pair, place = difference.pair, difference.place
    if pair.v1 is None or pair.v2 is None or len(place) != 4 or place[2] != "env":
        return False
    name = pair.v2.pod["metadata"]["name"]
    return bool(difference.v1 == pair.mark and difference.v2 == name)


def _told(source: SourceObject, both: Matched, differences: tuple[Difference, ...], options: Options) -> Iterator[Finding]:
    """One finding for all pods of a role that differ in the same place."""
    told = (one for one in differences if one.verdict == "unexplained" or one.reason == GENERATED_NAME.id)
    ordered = sorted(told, key=lambda one: (one.place, _role(one.pair)))
    for (place, role), group in groupby(ordered, key=lambda one: (one.place, _role(one.pair))):
        same = [*group]
        topic = GENERATED_NAME if same[0].reason == GENERATED_NAME.id else UNEXPLAINED
        paths = source_paths(source, both, same[0])
        path = paths[0] if paths else ()
        accepted = "accepted with --accept" if topic.acceptable and topic.id in options.accepted else ""
        yield Finding(topic, source.title, source.place(path), path, _message(same, place, role), "", "", accepted)


def _role(pair: Pair) -> str:
    return pair.title.rpartition(" ")[0]


def _message(same: list[Difference], place: tuple[str, ...], role: str) -> str:
    first = same[0]
    numbers = [one.pair.title.rpartition(" ")[2] for one in same]
    who = f"{role} {numbers[0]}" if len(same) == 1 else f"{role} {numbers[0]} to {numbers[-1]}"
    if not place:
        side = "v2" if first.pair.v2 is None else "v1"
        return f"{who}: {side} has no such pod."
    return f"{who}: {shown_place(first)} is {shown_value(first.v1)} in v1 and {shown_value(first.v2)} in v2."


def shown_place(difference: Difference) -> str:
    """`env RANK of container node`."""
    place = difference.place
    match place:
        case ("containers" | "initContainers", name, *rest) if rest:
            what = "container" if place[0] == "containers" else "init container"
            return f"{' '.join(rest)} of {what} {name}"
        case ("labels" | "annotations" | "finalizers" | "volumes", name, *rest):
            return f"{place[0].removesuffix('s')} {' '.join((name, *rest))}"
        case ("spec", *rest):
            return ".".join(rest)
    return " ".join(place)


def shown_value(value: object) -> str:
    """A value for people, cut when it is long; `nothing` where a side says nothing."""
    if value is None:
        return "nothing"
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return repr(text if len(text) <= 120 else f"{text[:57]} ... {text[-57:]}")
