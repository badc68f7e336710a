"""Whether an overlay commutes: what a kustomization builds, converted, must be what the converted kustomization builds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from shunter.api.meta import Json, annotations_of
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.secrets.masking import credentials, masked_value
from shunter.api.titles import object_title
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit.files import results, usable
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.options import Options
from shunter.migrate.paths import MISSING, leaves, path_text, value_at
from shunter.migrate.pods.showing import shown_value

Key: TypeAlias = tuple[str, str, str]
"""Kind, namespace, name."""
_MOST_FIELDS = 3
OURS = "migrate.shunter.dev/"
"""Annotations that say how something was converted: not part of what it is."""


class UnconvertedJob(NamedTuple):
    """A v1 job of a build that is not converted, and the ids of the topics that say why."""

    job: Json
    reasons: tuple[str, ...] = ()


class KustomizeBuild(NamedTuple):
    """The objects of a build, those of `unconverted` not among them where the others were converted."""

    objects: dict[Key, Json]
    unconverted: dict[Key, UnconvertedJob]


def converted_build(text: str, options: Options) -> KustomizeBuild:
    """The objects of a build of v1, with its jobs converted."""
    given = Input((text_file(text, "build"),))
    others = [source.value for source in given.others]
    converted = batch.converted(given.jobs, options, others)
    unconverted = {
        key_of(outcome.source.value): UnconvertedJob(
            outcome.source.value, tuple(dict.fromkeys(each.topic.id for each in outcome.findings if each.is_blocking))
        )
        for outcome in converted.outcomes
        if outcome.conversion is None or outcome.is_blocked
    }
    return KustomizeBuild(_by_key([*others, *results(converted)]), unconverted)


def conversions(text: str, options: Options) -> list[Conversion]:
    """The usable conversions of the v1 jobs of a build."""
    given = Input((text_file(text, "build"),))
    return usable(batch.converted(given.jobs, options, [source.value for source in given.others]))


def build_of(text: str) -> KustomizeBuild:
    """The objects of a build as they are."""
    given = Input((text_file(text, "build"),))
    return KustomizeBuild(
        _by_key(source.value for source in given.objects), {key_of(job.value): UnconvertedJob(job.value) for job in given.jobs}
    )


def differences(wanted: KustomizeBuild, seen: KustomizeBuild) -> list[str]:
    """What is not the same, in words. Of a runtime its content counts, not its name: that may be prefixed."""
    left, right = _resolved(wanted.objects), _resolved(seen.objects)
    told = []
    for key in sorted({*left, *right}):
        title = object_title(*key)
        if key not in right:
            told.append(f"{title} is missing")
        elif key not in left:
            told.append(f"{title} should not be there")
        elif left[key] != right[key]:
            told.append(f"{title} differs in {_differing(left[key], right[key])}")
    return told


def runtime_of(job: Json, objects: dict[Key, Json]) -> Json | None:
    """The runtime that a TrainJob names, if it is among the objects."""
    reference = (job.get("spec") or {}).get("runtimeRef") or {}
    namespace = (job.get("metadata") or {}).get("namespace", "")
    return objects.get((str(reference.get("kind")), namespace, str(reference.get("name"))))


def plain(value: Json) -> Json:
    """An object without what only says how it was converted."""
    metadata = dict(value.get("metadata") or {})
    annotations = {key: text for key, text in (metadata.pop("annotations", None) or {}).items() if not key.startswith(OURS)}
    return {**value, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


def key_of(value: Json) -> Key:
    """Kind, namespace and name. A generated name is its beginning and `*`."""
    metadata = value.get("metadata") or {}
    name = metadata.get("name") or f"{metadata.get('generateName', '')}*"
    return str(value.get("kind")), str(metadata.get("namespace") or ""), str(name)


def _by_key(values: Iterable[Json]) -> dict[Key, Json]:
    return {key_of(value): value for value in values}


def _resolved(objects: dict[Key, Json]) -> dict[Key, Any]:
    resolved: dict[Key, Any] = {}
    for key, value in objects.items():
        if key[0] == TRAINING_RUNTIMES.kind and OURS + "generator" in annotations_of(value):
            continue
        value = plain(value)
        if key[0] == TRAIN_JOBS.kind:
            runtime = runtime_of(value, objects)
            reference = value["spec"]["runtimeRef"] if runtime is None else runtime["spec"]
            value = {**value, "spec": {**value["spec"], "runtimeRef": reference}}
        resolved[key] = value
    return resolved


def _differing(left: Json, right: Json) -> str:
    """`spec.trainer.image ('a:2' before, 'a:1' now)`: the first three fields with both values, without credentials."""
    paths = [path for path, leaf in leaves(left) if value_at(right, path) != leaf]
    paths += [path for path, _ in leaves(right) if value_at(left, path) is MISSING]
    known = credentials(left) | credentials(right)
    found = [
        f"{path_text(path)} ({_value(value_at(left, path), known)} before, {_value(value_at(right, path), known)} now)"
        for path in paths[:_MOST_FIELDS]
    ]
    return ", ".join(found) + (f" and {len(paths) - _MOST_FIELDS} more fields" if len(paths) > _MOST_FIELDS else "")


def _value(value: Any, known: set[str]) -> str:
    return "nothing" if value is MISSING else shown_value(value, lambda text: masked_value(text, known))
