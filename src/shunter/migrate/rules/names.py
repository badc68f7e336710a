"""The name of the TrainJob (3.1, I6): the job's own where v2 allows it, else one that is made from it, always the same.

JobSet names pods NAME-GROUP-JOB-POD-xxxxx and refuses names for which that is longer than 63 characters. The TrainJob would be
accepted nevertheless, and only an event would tell why nothing runs (T11).
"""

from __future__ import annotations

import hashlib
import re

from shunter.api.names import label_1035_faults
from shunter.migrate.draft import Draft
from shunter.migrate.findings import Topic
from shunter.migrate.options import Options
from shunter.migrate.source.objects import SourceObject
from shunter.migrate.surroundings import Surroundings

LONGEST_LABEL = 63
_RANDOM_CHARACTERS = 5
"""What the API server appends to a generateName, and a Job to the names of its pods."""
_DIGEST_CHARACTERS = 6
_RENAMED_REMEDY = "Use the new name wherever the job is named: scripts, dashboards, NetworkPolicies, claims."

TOO_LONG = Topic(
    id="NAME001",
    title="the name is too long for the pods of a JobSet, and is shortened",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "JobSet names pods NAME-GROUP-JOB-POD-xxxxx and refuses a name for which that exceeds 63 characters. Admission of the "
        "TrainJob does not look at it: the job would be created and never run, and only an event would say why. The result has a "
        "shorter name, which ends in a digest of the original one, so that it is the same each time."
    ),
    remedy=_RENAMED_REMEDY,
    effort=1,
    traps=("T11", "NX24", "I6"),
)
NO_LABEL = Topic(
    id="NAME002",
    title="the name is no DNS label that begins with a letter",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "A TrainJob's name is a DNS-1035 label: lower case letters, digits and hyphens, beginning with a letter. v1 allowed "
        "other names for MPIJobs. The result has the nearest name that is one."
    ),
    remedy=_RENAMED_REMEDY,
    effort=1,
    traps=("NX24",),
)
SHARED = Topic(
    id="NAME003",
    title="jobs of two kinds have one name",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v1 a PyTorchJob and a TFJob of one namespace may have the same name; in v2 both would be TrainJobs. The one that "
        "comes first in the input keeps the name, the others get their kind appended."
    ),
    remedy=_RENAMED_REMEDY,
    effort=1,
    traps=("NX24",),
)


def wanted(source: SourceObject, options: Options, surroundings: Surroundings) -> str:
    """The name, or the beginning of a generated one, before its length is looked at."""
    given = str(source.metadata.get("name") or source.metadata.get("generateName") or "")
    is_generated = not source.metadata.get("name")
    stem = _as_label(given, _short(source.kind)) + (f"-{_short(source.kind)}" if _is_shared(source, surroundings) else "")
    name = stem + options.suffix
    return f"{name}-" if is_generated else name


def fitting(draft: Draft) -> str:
    """The name with which the pods of the draft's groups can be named; the draft's own where that is one."""
    longest = LONGEST_LABEL - max((len(suffix) for suffix in _suffixes(draft)), default=0)
    generated = not draft.source.metadata.get("name")
    longest -= _RANDOM_CHARACTERS if generated else 0
    if len(draft.name) <= longest:
        return draft.name
    digest = hashlib.sha256(draft.name.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    ending = f"-{digest}-" if generated else f"-{digest}"
    return draft.name[: longest - len(ending)].rstrip("-") + ending


def apply(draft: Draft) -> None:
    field = "name" if draft.source.metadata.get("name") else "generateName"
    path = ("metadata", field)
    given = str(draft.source.metadata.get(field) or "")
    asked = wanted(draft.source, draft.options, draft.surroundings)
    is_renamed = draft.name != given
    draft.train_job.setdefault("metadata", {})[field] = draft.name
    draft.carry(path, "TrainJob", path, f"{given} is {draft.name} in v2" if is_renamed else "")
    if field == "name":
        draft.default(("metadata", "generateName"), "the name is known")
    else:
        draft.default(("metadata", "name"), "it says nothing")
    if label_1035_faults(given.rstrip("-")) and len(given) <= LONGEST_LABEL:
        draft.report(NO_LABEL, path, f"{given or 'A job without a name'} becomes {draft.name}.")
    if _is_shared(draft.source, draft.surroundings):
        first = draft.surroundings.job_kinds[draft.source.namespace, draft.source.name][0]
        draft.report(SHARED, path, f"A {first} is called {given} as well: this {draft.kind} becomes {draft.name}.")
    if draft.name != asked:
        longest = max(_suffixes(draft), key=len)
        text = f"its pods, {asked}{longest}, would have names of more than {LONGEST_LABEL} characters."
        draft.report(TOO_LONG, path, f"{asked} becomes {draft.name}: {text}")


def _suffixes(draft: Draft) -> list[str]:
    """What JobSet appends to the job's name for the last pod of each group."""
    random = "x" * _RANDOM_CHARACTERS
    return [f"-{group.name}-{max(group.replicas, 1) - 1}-{max(group.count, 1) - 1}-{random}" for group in draft.groups]


def _is_shared(source: SourceObject, surroundings: Surroundings) -> bool:
    """Whether another kind has the name already."""
    kinds = surroundings.job_kinds.get((source.namespace, source.name), ())
    return bool(source.metadata.get("name")) and bool(kinds) and kinds[0] != source.kind


def _as_label(name: str, prefix: str) -> str:
    stem = name.rstrip("-")
    if not stem or not [fault for fault in label_1035_faults(stem) if "more than" not in fault]:
        return stem or prefix
    stem = re.sub("[^a-z0-9-]", "-", stem.lower()).strip("-")
    return stem if stem[:1].isalpha() else f"{prefix}-{stem}".rstrip("-")


def _short(kind: str) -> str:
    return kind.removesuffix("Job").lower()
