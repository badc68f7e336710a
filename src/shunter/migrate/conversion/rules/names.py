"""The name of the TrainJob: the job's own where v2 allows it, else one that is made from it, always the same.

JobSet names pods NAME-GROUP-JOB-POD-xxxxx and refuses names for which that is longer than 63 characters. The TrainJob would be
accepted nevertheless, and only an event would tell why nothing runs.
"""

from __future__ import annotations

import hashlib

from shunter.api.names import label_1035_faults
from shunter.api.resources import TRAIN_JOBS
from shunter.migrate.conversion.base_names import stem
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.input_context import InputContext
from shunter.migrate.conversion.provenance import SOURCE
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Topic
from shunter.migrate.options import Options

LONGEST_LABEL = 63
_RANDOM_CHARACTERS = 5
"""What the API server appends to a generateName, and a Job to the names of its pods."""
_DIGEST_CHARACTERS = 6
_RENAMED_REMEDY = "Use the new name in all references to the job: scripts, dashboards, NetworkPolicies, claims."

TOO_LONG = Topic(
    id="NAME001",
    title="the name is too long for the pods of a JobSet, and is shortened",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The result gets a shorter name that ends in a hash of the original one, so it is the same for every conversion. JobSet "
        "names pods NAME-GROUP-JOB-POD-xxxxx and rejects a name for which this exceeds 63 characters. Admission of the TrainJob "
        "does not check it: the job would be created but never run, and only an event would show why."
    ),
    remedy=_RENAMED_REMEDY,
)
NO_LABEL = Topic(
    id="NAME002",
    title="the name is not a DNS label that starts with a letter",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The result gets the nearest valid name. A TrainJob's name is a DNS-1035 label: lower case letters, digits and hyphens, "
        "starting with a letter. v1 allowed other names for MPIJobs."
    ),
    remedy=_RENAMED_REMEDY,
)
SHARED = Topic(
    id="NAME003",
    title="jobs of two kinds have the same name",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v1 a PyTorchJob and a TFJob in one namespace may have the same name; in v2 both would be TrainJobs. The first one "
        "in the input keeps the name; for the others the kind is appended."
    ),
    remedy=_RENAMED_REMEDY,
)


TAKEN = Topic(
    id="NAME004",
    title="the resulting name is already in use",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The job cannot keep its name, and the name that it would get belongs to another job or TrainJob of the input: one "
        "would replace the other. The result's name ends in a hash of kind and name, so it is the same for every conversion. "
        "Jobs that can keep their name keep it."
    ),
    remedy=_RENAMED_REMEDY,
)


SAME_NAME = Topic(
    id="INPUT018",
    title="two jobs with the same kind and name",
    severity="error",
    change="manual",
    grade="L",
    explanation=(
        "Two jobs that are applied together have the same kind, namespace and name. Only the one applied last would exist, and "
        "the other training would be lost without an error. A manifest without a namespace counts as one for default. Files of "
        "one folder, and everything on standard output, count as applied together; files of different folders may be for "
        "different clusters."
    ),
    remedy="Rename one of them, set their namespaces, or move the one for another cluster to a folder of its own.",
    acceptable=True,
)
_NAMED_PLACES = 3


def requested_name(source: SourceObject, options: Options, context: InputContext) -> str:
    """The name, or the beginning of a generated one, before its length is looked at."""
    if not source.metadata.get("name"):
        return stem(source.kind, str(source.metadata.get("generateName") or ""), is_shared=False) + f"{options.suffix}-"
    digest = f"-{_digest(f'{source.kind} {source.name}')}" if _is_taken(source, options, context) else ""
    return _derived(source, options, context) + digest + options.suffix


def shortened_name(draft: Draft) -> str:
    """The name with which the pods of the draft's groups can be named; the draft's own where that is one."""
    longest = LONGEST_LABEL - max((len(suffix) for suffix in _suffixes(draft)), default=0)
    generated = not draft.source.metadata.get("name")
    longest -= _RANDOM_CHARACTERS if generated else 0
    if len(draft.name) <= longest:
        return draft.name
    digest = _digest(draft.name)
    ending = f"-{digest}-" if generated else f"-{digest}"
    return draft.name[: longest - len(ending)].rstrip("-") + ending


def apply(draft: Draft) -> None:
    """Writes the name that the draft has by now; reports why it is another than the source's, and who else asks for it."""
    field = "name" if draft.source.metadata.get("name") else "generateName"
    path = ("metadata", field)
    given = str(draft.source.metadata.get(field) or "")
    asked = requested_name(draft.source, draft.options, draft.context)
    is_renamed = draft.name != given
    draft.train_job.setdefault("metadata", {})[field] = draft.name
    draft.carry(path, "TrainJob", path, f"{given} is {draft.name} in v2" if is_renamed else "")
    if field == "name":
        draft.default(("metadata", "generateName"), "the name is known")
    else:
        draft.default(("metadata", "name"), "the field is empty")
    is_named_by_owner = draft.source.is_embedded and not given
    if label_1035_faults(given.rstrip("-")) and len(given) <= LONGEST_LABEL and not is_named_by_owner:
        draft.report(NO_LABEL, path, f"{given or 'A job without a name'} becomes {draft.name}.")
    if field == "name":
        if others := draft.context.same_named_jobs(draft.source) if not draft.source.is_embedded else []:
            places = ", ".join(str(other.place(path)) for other in others[:_NAMED_PLACES])
            more = f" and in {len(others) - _NAMED_PLACES} more places" if len(others) > _NAMED_PLACES else ""
            draft.report(SAME_NAME, path, f"{draft.source.title} is also in {places}{more}.")
        if holder := _holder(draft.source, draft.options, draft.context):
            draft.report(SHARED, path, f"{holder} is also called {given}: this {draft.kind} becomes {draft.name}.")
        if _is_taken(draft.source, draft.options, draft.context):
            derived = _derived(draft.source, draft.options, draft.context) + draft.options.suffix
            draft.report(TAKEN, path, f"{derived} is taken: this {draft.kind} becomes {draft.name}.")
    if draft.name != asked:
        longest = max(_suffixes(draft), key=len)
        text = f"its pods, {asked}{longest}, would have names of more than {LONGEST_LABEL} characters."
        draft.report(TOO_LONG, path, f"{asked} becomes {draft.name}: {text}")


def _suffixes(draft: Draft) -> list[str]:
    """What JobSet appends to the job's name for the last pod of each group."""
    random = "x" * _RANDOM_CHARACTERS
    return [f"-{group.name}-{max(group.replicas, 1) - 1}-{max(group.count, 1) - 1}-{random}" for group in draft.groups]


def _derived(source: SourceObject, options: Options, context: InputContext) -> str:
    """The name that comes of the job's own, even if others have it."""
    return stem(source.kind, source.name, is_shared=bool(_holder(source, options, context)))


def _holder(source: SourceObject, options: Options, context: InputContext) -> str:
    """What keeps the job's name, being first in the input or a TrainJob already; empty when it is free."""
    kinds = context.kinds_called(source.namespace, source.name)
    if kinds and kinds[0] != source.kind:
        return f"A {kinds[0]}"
    own = stem(source.kind, source.name, is_shared=False)
    maker = _maker(source, own + options.suffix, context)
    return f"The TrainJob of {maker}" if maker and maker != source.title and own == source.name else ""


def _is_taken(source: SourceObject, options: Options, context: InputContext) -> bool:
    """Whether another has the name that comes of the job's own. Whoever keeps its own name keeps it."""
    derived = _derived(source, options, context)
    if derived == source.name:
        return False
    maker = _maker(source, derived + options.suffix, context)
    is_a_name = bool(context.kinds_called(source.namespace, derived))
    return is_a_name or context.number_asking_for(source.namespace, derived) > 1 or maker not in (None, source.title)


def _maker(source: SourceObject, name: str, context: InputContext) -> str | None:
    """The v1 job that the TrainJob of that name was made of, empty where it does not say; None where the namespace has none."""
    found = context.objects.get((TRAIN_JOBS.kind, source.namespace, name))
    if found is None:
        return None
    annotations = found["metadata"].get("annotations")
    return str(annotations.get(SOURCE) or "") if isinstance(annotations, dict) else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]
