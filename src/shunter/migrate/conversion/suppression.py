"""Suppressed findings: `migration.yaml`, kept beside the migrated files, says which, for which objects and why.

    suppressions:
      - id: RESTART001
        kind: PyTorchJob          # globs, each may be left out: kind, namespace, name, field, file
        namespace: team-*
        reason: the programs loop by themselves
        expires: 2027-03-01       # may be left out; from this day on the findings are active again

A suppression changes no result: it says that a finding is known. Suppressions without use are reported, so that the file stays
correct.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml
from msgspec.structs import replace

from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError
from shunter.kube.manifests import loading
from shunter.migrate.catalogue import topics
from shunter.migrate.conversion.batch import Batch, Outcome
from shunter.migrate.findings import Finding, Place, Topic

FILE_NAME = "migration.yaml"
NOT_OF_ALL = ("HELM", "INPUT016", "KUSTOMIZE", "PROOF", "SCAN")
"""Prefixes of the ids of findings that only some commands have: others do not report unused suppressions of them."""

UNUSED = Topic(
    id="SUPPRESS001",
    title="an unused suppression",
    severity="warning",
    change="lossless",
    grade="E",
    explanation="No finding of this run matches it: the cause no longer exists, or its globs are wrong.",
    remedy="Remove it, or correct its id and globs.",
)
EXPIRED = Topic(
    id="SUPPRESS002",
    title="an expired suppression",
    severity="warning",
    change="lossless",
    grade="E",
    explanation="The date in `expires` has passed; the findings are active again.",
    remedy="Fix the findings, or set a new date.",
)
UNKNOWN = Topic(
    id="SUPPRESS003",
    title="a suppression with an unknown id",
    severity="warning",
    change="lossless",
    grade="E",
    explanation="Ids never change, so the id is misspelled, or belongs to a newer version of the tool.",
    remedy="List the ids with `shunter migrate explain --list`.",
)
NOT_ACCEPTABLE = Topic(
    id="SUPPRESS004",
    title="a suppression of a finding that cannot be suppressed",
    severity="error",
    other_impact="advisory",
    change="lossless",
    grade="E",
    explanation=(
        "A finding with this id means that the result would not work, or would be a different training, so it cannot be "
        "suppressed."
    ),
    remedy="Follow the remedy of the finding.",
)


class Suppression(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `migration.yaml`."""

    id: str
    reason: str
    kind: str = "*"
    namespace: str = "*"
    name: str = "*"
    field: str = "*"
    file: str = "*"
    expires: date | None = None

    def matches(self, finding: Finding) -> bool:
        """Whether the id and all globs match, whatever `expires` is."""
        kind, _, key = finding.object.partition(" ")
        namespace, _, name = key.rpartition("/")
        return (
            finding.topic.id == self.id
            and _fits(kind, self.kind)
            and _fits(namespace, self.namespace)
            and _fits(name, self.name)
            and _fits(finding.field, self.field)
            and _fits(finding.place.source, self.file)
        )

    def is_expired(self, today: date) -> bool:
        """Whether it has expired; on the day of `expires` it has."""
        return self.expires is not None and self.expires <= today


class Entry(NamedTuple):
    """A suppression with its place in the file, for findings about it."""

    suppression: Suppression
    place: Place


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    suppressions: tuple[Suppression, ...] = ()


def read(path: Path) -> tuple[Entry, ...]:
    """The entries of a file with their places. InputError, naming line and field, for an invalid one."""
    try:
        return parsed(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.", "Name an existing file, or suppress nothing.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}.") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from error


def parsed(text: str, source: str) -> tuple[Entry, ...]:
    """The entries of a text; errors call it `source`."""
    with loading(text, source) as loader:
        node = loader.get_single_node()
        value = loader.construct_document(node) if node is not None else {}
    try:
        file = msgspec.convert(value, _File)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{source}: {error}.", "An entry has id and reason; kind, namespace, name, field, file, expires."
        ) from None
    places = _places(node, source)
    for entry, place in zip(file.suppressions, places, strict=True):
        if not entry.reason.strip():
            raise InputError(f"{place}: the suppression of {entry.id} gives no reason.", "Add a reason for the suppression.")
    return tuple(map(Entry, file.suppressions, places))


class Applied(NamedTuple):
    """The batch with the reasons of suppressions in its findings."""

    batch: Batch
    faults: list[Finding]
    """Findings about the suppressions themselves."""


def applied(batch: Batch, entries: Sequence[Entry], today: date) -> Applied:
    """The batch with `suppressed` set in the findings that were suppressed; nothing else is changed."""
    if not entries:
        return Applied(batch, [])
    before = batch.findings
    outcomes = tuple(_with(outcome, marked(outcome.findings, entries, today)) for outcome in batch.outcomes)
    return Applied(replace(batch, outcomes=outcomes), faults(before, entries, today))


def suppressed(batch: Batch, others: Sequence[Finding], entries: Sequence[Entry], today: date) -> tuple[Batch, list[Finding]]:
    """A batch and findings about no job, with those that an entry suppresses marked; and findings about the entries."""
    if not entries:
        return batch, [*others]
    own = faults([*batch.findings, *others], entries, today)
    return applied(batch, entries, today).batch, [*marked(others, entries, today), *own]


def marked(findings: Iterable[Finding], entries: Sequence[Entry], today: date) -> tuple[Finding, ...]:
    """The findings, those that an entry suppresses marked with its reason."""
    return tuple(_marked(finding, entries, today) for finding in findings)


def faults(findings: Iterable[Finding], entries: Sequence[Entry], today: date) -> list[Finding]:
    """Findings about the entries, in the order of the file, after a run with these findings."""
    listed = list(findings)
    found = []
    for suppression, place in entries:
        about, globs = f"The suppression of {suppression.id}", _globs(suppression)
        used = any(suppression.matches(finding) for finding in listed)
        topic = topics().get(suppression.id)
        if topic is None:
            found.append(_fault(UNKNOWN, place, f"unknown finding id {suppression.id}.", _close(suppression.id)))
        elif not _may_be_suppressed(topic):
            found.append(_fault(NOT_ACCEPTABLE, place, f"{suppression.id} ({topic.title}) cannot be suppressed."))
        elif suppression.is_expired(today):
            found.append(_fault(EXPIRED, place, f"{about}{globs} expired on {suppression.expires}."))
        elif not used and not topic.id.startswith(NOT_OF_ALL):
            found.append(_fault(UNUSED, place, f"{about}{globs} matches no finding."))
    return found


def accepted(ids: Iterable[str]) -> tuple[str, ...]:
    """The ids of `--accept`. InputError for one that does not exist, or cannot be suppressed."""
    named = tuple(dict.fromkeys(id for text in ids for id in text.split(",") if id))
    for id in named:
        topic = topics().get(id)
        if topic is None:
            raise InputError(f"--accept {id}: unknown finding id.", _close(id))
        if not topic.acceptable:
            says = "cannot be suppressed" if topic.impact == "blocking" else "blocks nothing, so there is nothing to suppress"
            raise InputError(f"--accept {id}: {topic.title}: {says}.", f"See `shunter migrate explain {id}`.")
    return named


def _marked(finding: Finding, entries: Sequence[Entry], today: date) -> Finding:
    if finding.suppressed or not _may_be_suppressed(finding.topic):
        return finding
    for suppression, _ in entries:
        if suppression.matches(finding) and not suppression.is_expired(today):
            return finding._replace(suppressed=suppression.reason)
    return finding


def _fits(text: str, glob: str) -> bool:
    """Whether the glob is the very text (a field that was copied from a report, with its `[0]`) or matches it; a bracket is the
    beginning of a class of characters, or itself: `containers[*].env`."""
    return text == glob or fnmatchcase(text, glob) or fnmatchcase(text, glob.replace("[", "[[]"))


def _may_be_suppressed(topic: Topic) -> bool:
    return topic.impact != "blocking" or topic.acceptable


def _with(outcome: Outcome, findings: tuple[Finding, ...]) -> Outcome:
    conversion = outcome.conversion and replace(outcome.conversion, findings=findings)
    return replace(outcome, conversion=conversion, findings=findings)


def _globs(suppression: Suppression) -> str:
    given = [
        f"{field} {glob}"
        for field in ("kind", "namespace", "name", "field", "file")
        if (glob := getattr(suppression, field)) != "*"
    ]
    return f" for {', '.join(given)}" if given else ""


def _close(id: str) -> str:
    return did_you_mean(nearest(id, topics(), most=3), UNKNOWN.remedy)


def _fault(topic: Topic, place: Place, message: str, remedy: str = "") -> Finding:
    return Finding(topic, f"{FILE_NAME} {place.line}", place, (), message, remedy)


def _places(node: yaml.Node | None, source: str) -> list[Place]:
    if not isinstance(node, yaml.MappingNode):
        return []
    listed: list[yaml.Node] = next((value.value for key, value in node.value if key.value == "suppressions"), [])
    return [Place(source, entry.start_mark.line + 1, entry.start_mark.column + 1) for entry in listed]
