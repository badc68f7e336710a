"""Which jobs share a runtime: those whose runtimes have one frame, with each other or with a runtime that is there already.

What all jobs of a group say alike stands in the runtime, the rest in each TrainJob. The name of a runtime is a digest of what it
says, so it is the same for the same jobs in any order, and never that of another one which is in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from shunter.api.meta import LAST_APPLIED, Json, annotations_of
from shunter.api.resources import TRAINING_RUNTIMES
from shunter.api.trainer.trainjob import TrainJob
from shunter.migrate.conversion.batch import Batch, Outcome
from shunter.migrate.conversion.one_job import Conversion, runtime_name
from shunter.migrate.conversion.provenance import GENERATOR, PREFIX
from shunter.migrate.conversion.rules.pods.environment import references
from shunter.migrate.conversion.sharing.on_runtime import on_runtime
from shunter.migrate.conversion.sharing.parts import TRAINER, Part, Parts, RuntimeParts, joined_from_parts, split_into_parts
from shunter.migrate.conversion.source.files import TextFile
from shunter.migrate.conversion.source.kustomization import kustomizations
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.conversion.versions import has
from shunter.migrate.options import Options
from shunter.migrate.parallel import mapped

LEAST_MEMBERS = 100
"""For which another process pays: to compare two JobSets takes about half a millisecond."""
_REPLACEABLE = ("image", "command", "args", "env")
"""Parts of the trainer section that a TrainJob may say otherwise than its runtime; the others are merged with the runtime's."""


class _Member(NamedTuple):
    conversion: Conversion
    taken: RuntimeParts


class _Change(NamedTuple):
    """A job on its own runtime, and on another one."""

    before: Conversion
    after: Conversion


def shared(batch: Batch, existing: Iterable[Json] = ()) -> Batch:
    """The batch with as few runtimes as its jobs need. `existing` are TrainingRuntimes that are there already: a job takes one of
    them where it can. Every TrainJob makes the same JobSet as before. Blocked jobs are left alone."""
    usable = [outcome.conversion for outcome in batch.outcomes if outcome.conversion is not None and not outcome.is_blocked]
    found = dict(zip(map(id, usable), shared_by(usable, batch.options, existing), strict=True))
    return replace(batch, outcomes=tuple(_with(outcome, found) for outcome in batch.outcomes))


def shared_by(conversions: Sequence[Conversion], options: Options, existing: Iterable[Json] = ()) -> list[Conversion]:
    """The usable conversions, in order, with shared runtimes."""
    may_patch = has(options, "runtimePatches")
    groups: dict[bytes, list[_Member]] = {}
    for conversion in conversions:
        if conversion.runtime is not None:
            member = _member(conversion, patches=may_patch)
            groups.setdefault(_frame_of(conversion, member.taken.frame), []).append(member)
    candidates = _candidates(existing, patches=may_patch)
    found: dict[int, Conversion] = {}
    changes: list[_Change] = []
    for key, members in groups.items():
        rest = []
        for member in members:
            reused = next((one for runtime in candidates.get(key, ()) if (one := _reusing(member, runtime))), None)
            if reused is None:
                rest.append(member)
            else:
                found[id(member.conversion)] = reused
        changes += _sharing(rest)
    are_same = mapped(_is_same, changes, least=LEAST_MEMBERS)
    found |= {id(change.before): change.after for change, is_same in zip(changes, are_same, strict=True) if is_same}
    return [found.get(id(conversion), conversion) for conversion in conversions]


def shared_in(given: Input, batch: Batch, there: Sequence[TextFile] = ()) -> Batch:
    """The batch with shared runtimes, including the runtimes that are in there, in files beside the results, and in the cluster
    that jobs were read from. Where it holds kustomizations nothing is shared but equal runtimes: what an overlay builds has to be
    what it was, whatever other jobs the tree holds."""
    if kustomizations(given.files):
        return batch
    others = [*given.others, *Input(tuple(there)).others, *given.runtimes]
    return shared(batch, [found.value for found in others if found.kind == TRAINING_RUNTIMES.kind])


def _with(outcome: Outcome, found: dict[int, Conversion]) -> Outcome:
    conversion = found.get(id(outcome.conversion))
    return replace(outcome, conversion=conversion) if conversion is not None else outcome


def _member(conversion: Conversion, *, patches: bool) -> _Member:
    assert conversion.runtime is not None, "a job of a shipped runtime already shares it"
    trainer = conversion.train_job["spec"]["trainer"]
    return _Member(conversion, split_into_parts(conversion.runtime["spec"], trainer, patches=patches))


def _frame_of(conversion: Conversion, frame: Json) -> bytes:
    """Equal for jobs that may share a runtime."""
    assert conversion.runtime is not None, "only these are looked at"
    return _key(conversion.source.kind.removesuffix("Job").lower(), conversion.runtime["metadata"], frame)


def _key(kind: str, metadata: Json, frame: Json) -> bytes:
    """Annotations that the tool or kubectl writes about itself make no difference."""
    written = (metadata.get("annotations") or {}).items()
    annotations = {key: text for key, text in written if not key.startswith(PREFIX) and key != LAST_APPLIED}
    return msgspec.json.encode((kind, metadata.get("namespace") or "", annotations, frame), order="deterministic")


def _candidates(existing: Iterable[Json], *, patches: bool) -> dict[bytes, list[tuple[Json, RuntimeParts]]]:
    """Runtimes that conversions have made before, in the order of their names, by what they have in common with new ones."""
    found: dict[bytes, list[tuple[Json, RuntimeParts]]] = {}
    for runtime in existing:
        try:
            metadata = runtime["metadata"]
            if GENERATOR not in annotations_of(runtime):
                continue
            taken = split_into_parts(runtime["spec"], {}, patches=patches)
            key = _key(metadata["name"].partition("-")[0], metadata, taken.frame)
        except (LookupError, TypeError, AttributeError):
            continue  # it was changed to one that no job can take
        found.setdefault(key, []).append((runtime, taken))
    return {key: sorted(runtimes, key=lambda one: str(one[0]["metadata"]["name"])) for key, runtimes in found.items()}


def _reusing(member: _Member, candidate: tuple[Json, RuntimeParts]) -> Conversion | None:
    """The job on a runtime that is there; None where that says something which the job does not."""
    runtime, taken = candidate
    parts = member.taken.parts
    for part, value in taken.parts.items():
        if part not in parts or (parts[part] != value and not _is_replaceable(part)):
            return None
    said = {part: value for part, value in parts.items() if taken.parts.get(part) != value}
    return _checked(member, runtime, said)


def _is_replaceable(part: Part) -> bool:
    return (part[0] == TRAINER and part[1] in _REPLACEABLE) or (part[1] == "metadata" and len(part) == 4)


def _sharing(members: Sequence[_Member]) -> list[_Change]:
    """What the members of a group become if they make the same JobSets so; nothing for one that is alone."""
    if len(members) < 2:
        return []
    first = min(members, key=lambda member: msgspec.json.encode([*member.taken.parts.items()]))
    common = _common(first.taken.parts, [member.taken.parts for member in members])
    spec = joined_from_parts(first.taken, common)
    assert first.conversion.runtime is not None, "only these are looked at"
    runtime = {
        **first.conversion.runtime,
        "metadata": {**first.conversion.runtime["metadata"], "name": runtime_name(first.conversion.source.kind, spec)},
        "spec": spec,
    }
    found = []
    for member in members:
        own = {part: value for part, value in member.taken.parts.items() if part not in common}
        found.append(_Change(member.conversion, on_runtime(member.conversion, runtime, own)))
    return found


def _common(first: Parts, all_parts: Sequence[Parts]) -> Parts:
    """What all say alike. A variable that is made of one which a TrainJob says stands behind that, in the TrainJob."""
    common = {part: value for part, value in first.items() if all(parts.get(part) == value for parts in all_parts)}
    while True:
        own = {part[-1] for parts in all_parts for part in parts if part[:2] == (TRAINER, "env") and part not in common}
        made = [
            part
            for part, value in common.items()
            if part[:2] == (TRAINER, "env") and own.intersection(references(value.get("value")))
        ]
        if not made:
            return common
        common = {part: value for part, value in common.items() if part not in made}


def _checked(member: _Member, runtime: Json, said: Parts) -> Conversion | None:
    """The conversion on that runtime, if it makes the same JobSet there."""
    after = on_runtime(member.conversion, runtime, said)
    return after if _is_same(_Change(member.conversion, after)) else None


def _is_same(change: _Change) -> bool:
    """Whether a job makes the same JobSet on another runtime."""
    from shunter.migrate.conversion.sharing.jobset_equality import same_jobset  # takes long to import, and one job shares nothing

    before, after = ((msgspec.convert(one.train_job, TrainJob), _runtime_of(one)) for one in change)
    return same_jobset(before, after)


def _runtime_of(conversion: Conversion) -> Json:
    assert conversion.runtime is not None, "only these are looked at"
    return conversion.runtime
