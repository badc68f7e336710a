"""Which finding of a conversion explains a difference: one about the field that differs, or whose topic `explains` the place."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator

from shunter.migrate.conversion.draft import role_path
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding
from shunter.migrate.paths import Path, value_at
from shunter.migrate.pods.differences import Difference, Matched
from shunter.migrate.pods.facts import TRAINING
from shunter.migrate.proof.endings import Case

PODS = "pods"
"""In `Topic.explains`: the topic explains pods without a counterpart."""
_WORDS = ("program", "args")
_ITEMS = ("env", "ports")
"""A path that ends with one of these is about an item that is not in the source."""
_TEMPLATE = 5
"""The length of the path of a pod template's spec: `spec.pytorchReplicaSpecs.Worker.template.spec`."""
_ENDINGS = {
    "success": (("spec", "successPolicy"), ("spec", "enableDynamicWorker")),
    "failure": (("spec", "runPolicy", "backoffLimit"),),
    "restarts": (("spec", "runPolicy", "backoffLimit"),),
}
"""The fields that decide how a job ends, beside the roles' restartPolicy."""


def explained(difference: Difference, findings: Iterable[Finding], source: SourceObject, both: Matched) -> str:
    """The id of the topic whose finding explains the difference; empty if none does."""
    place = ".".join(_without_container(difference)) if difference.place else PODS
    fields = source_paths(source, both, difference)
    about: list[tuple[Finding, Path]] = []
    for finding in findings:
        topic = finding.topic
        if any(fnmatch.fnmatchcase(place, pattern) for pattern in topic.explains):
            return topic.id
        if not topic.explains and topic.change != "lossless":
            about += [(finding, path) for field in fields if _overlap(path := _in_role(finding.path, field, source), field)]
    if not about or (
        difference.place[-1] in _WORDS and not _explain_words(difference, [path for _, path in about], source, fields)
    ):
        return ""
    return about[0][0].topic.id


def _explain_words(difference: Difference, paths: list[Path], source: SourceObject, fields: tuple[Path, ...]) -> bool:
    """Whether only those words of a command differ that findings with these paths are about; each may have become any number of
    words."""
    if any(path in fields for path in paths):
        return True
    before, after = difference.v1 or [], difference.v2 or []
    changed = {start + int(path[-1]) for field, start in _starts(source, fields) for path in paths if path[:-1] == field}
    kept: list[list[str]] = [[]]
    for number, word in enumerate(before):
        if number in changed:
            kept.append([])
        else:
            kept[-1].append(word)
    return _has_in_order(after, kept)


def _starts(source: SourceObject, fields: tuple[Path, ...]) -> Iterator[tuple[Path, int]]:
    """At which word of the program command and args begin."""
    start = 0
    for field in fields:
        yield field, start
        words = value_at(source.value, field)
        start += len(words) if isinstance(words, list) else 0


def _has_in_order(words: list[str], runs: list[list[str]]) -> bool:
    """Whether the words consist of these runs in order, with anything between them."""
    if len(runs) == 1:
        return words == runs[0]
    first, *middle, last = runs
    if words[: len(first)] != first or (last and words[-len(last) :] != last):
        return False
    place, end = len(first), len(words) - len(last)
    for run in middle:
        while place + len(run) <= end and words[place : place + len(run)] != run:
            place += 1
        if place + len(run) > end:
            return False
        place += len(run)
    return place <= end


def explains_ending(finding: Finding, case: Case, source: SourceObject, both: Matched) -> bool:
    """Whether the finding is about a field that decides the case, or its topic explains `ending.` with the case's subject."""
    if any(fnmatch.fnmatchcase(f"ending.{case.subject}", pattern) for pattern in finding.topic.explains):
        return True
    fields: list[Path] = [*_ENDINGS[case.subject]]
    if case.role:
        fields.append((*role_path(source, both.v1.framework, case.role), "restartPolicy"))
    return finding.path in fields


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
        case "spec" if rest[0] == "hostAliases":
            aliases = (*template, "spec", "hostAliases")
            return ((*aliases, *_alias_index(source, aliases, rest[-1])),)
        case "spec":
            path = (*template, "spec", *rest)
            return ((*role, "restartPolicy"), path) if rest == ["restartPolicy"] else (path,)
    items = (*template, "spec", section)
    if not rest:
        return (items,)
    name = pair.v1.container if rest[0] == TRAINING and section == "containers" else rest[0]
    item = (*items, *_index(source, items, "name", name))
    return ((*item, *rest[1:]),) if section == "volumes" else tuple(_container_fields(source, item, rest[1:]))


def _container_fields(source: SourceObject, container: Path, rest: list[str]) -> Iterator[Path]:
    match rest:
        case ["env", name]:
            env = (*container, "env")
            yield (*env, *_index(source, env, "name", name))
        case ["program" | "args"]:
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
    """The index of the last item of a list whose key has the value; empty if there is none."""
    found = value_at(source.value, items)
    if not isinstance(found, list):
        return ()
    places = [place for place, item in enumerate(found) if isinstance(item, dict) and item.get(key) == value]
    return (places[-1],) if places else ()


def _alias_index(source: SourceObject, aliases: Path, value: str) -> Path:
    """The index of the last alias that has the value as its ip or one of its hostnames; empty if there is none."""
    found = value_at(source.value, aliases)
    if not isinstance(found, list):
        return ()
    places = [place for place, alias in enumerate(found) if value in (alias.get("ip"), *(alias.get("hostnames") or ()))]
    return (places[-1],) if places else ()


def _without_container(difference: Difference) -> tuple[str, ...]:
    """`env.RANK` for a variable of any container, `initContainers.env.RANK` for one of any init container; other places
    unchanged."""
    match difference.place:
        case ("containers", _, *rest) if rest:
            return tuple(rest)
        case ("initContainers", _, *rest) if rest:
            return ("initContainers", *rest)
    return difference.place


def _in_role(finding: Path, field: Path, source: SourceObject) -> Path:
    """The finding's field moved to the role of `field`, if both roles have the same value: a finding is about one of them
    only."""
    moved = (*finding[:2], *field[2:3], *finding[3:])
    if moved == finding or value_at(source.value, moved) != value_at(source.value, finding):
        return finding
    return moved


def _overlap(finding: Path, field: Path) -> bool:
    """Whether one path contains the other. A finding about a whole template or container does not explain single fields, and one
    about an item of a list explains no other item."""
    shorter = min(len(finding), len(field))
    if len(finding) == _TEMPLATE + 2 and finding[_TEMPLATE] in ("containers", "initContainers") and len(field) > len(finding):
        return False
    if len(finding) > len(field) and field[-1] in _ITEMS:
        return False
    is_single = len(finding) > _TEMPLATE or (finding == field and len(field) == _TEMPLATE - 1)
    return is_single and finding[:shorter] == field[:shorter]
