"""The objects of a trial run of a converted job, beside the original, with their own name, labels and limits.

All changes for a trial are made in the source, which is then converted like any other: limits of names, hosts in variables and
counts in TF_CONFIG follow by the usual rules. No text is ever replaced.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json, Struct, rfc3339, without_nulls
from shunter.errors import InputError
from shunter.migrate.conversion.input_context import NOTHING, InputContext
from shunter.migrate.conversion.one_job import Conversion, convert, framework_of
from shunter.migrate.conversion.reading import read
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.annotations import SOURCE
from shunter.migrate.moving.runs import trial_labels
from shunter.migrate.moving.runs.program import with_argument, with_variable
from shunter.migrate.options import Options
from shunter.operator.training.framework import AnyFramework

SUFFIX = "-trial"


class TrialOptions(Struct, frozen=True):
    """The user's options for a trial."""

    namespace: str = ""
    """Empty: that of the original."""
    suffix: str = SUFFIX
    nodes: int | None = None
    """Number of training pods, if fewer than the original's."""
    steps: int | None = None
    steps_argument: str = ""
    """The program's flag for the number of steps: `--max-steps`."""
    steps_variable: str = ""
    """Or the variable for it."""
    arguments: Mapping[str, str] = {}
    variables: Mapping[str, str] = {}
    deadline_seconds: int = 3600
    """The trial's deadline, also if the command is killed."""
    keep_seconds: int = 3600
    """How long its objects are kept after the deadline."""


class Trial(NamedTuple):
    """The objects of a trial, to be created. `changes` are the intended differences from the job."""

    conversion: Conversion | None
    """The conversion of the changed source; None for a job that was already converted."""
    train_job: Json
    runtime: Json | None
    changes: dict[str, str]

    @property
    def name(self) -> str:
        """The name of the TrainJob, and of its own runtime if it has one."""
        return str(self.train_job["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The namespace of the TrainJob, and of its own runtime if it has one."""
        return str(self.train_job["metadata"]["namespace"])


def trial_of(
    source: SourceObject, trial_options: TrialOptions, options: Options, input_context: InputContext = NOTHING, *, now: datetime
) -> Trial:
    """The trial of a v1 job, which must have a namespace. Raises InputError for options that are invalid for the job, and
    UnreadableJobError."""
    changed, changes = _changed(source, trial_options)
    elastic = str(trial_options.nodes) if trial_options.nodes is not None and options.elastic_nodes else options.elastic_nodes
    options = msgspec.structs.replace(options, suffix=trial_options.suffix, elastic_nodes=elastic)
    conversion = convert(changed, options, input_context)
    expires = rfc3339(now + timedelta(seconds=trial_options.deadline_seconds + trial_options.keep_seconds))
    annotations = {
        SOURCE: source.title,
        trial_labels.CHANGES: msgspec.json.encode(changes).decode(),
        trial_labels.EXPIRES: expires,
    }
    if uid := source.metadata.get("uid"):
        annotations[trial_labels.SOURCE_UID] = str(uid)
    train_job = labelled_as_trial(conversion.train_job, annotations)
    # Results of jobs in a cluster are suspended, so that they do not train beside their originals; a trial should do that.
    train_job["spec"].pop("suspend", None)
    runtime = None
    if conversion.runtime is not None:
        # Its own runtime, which is deleted with the trial; one that real jobs share would have to stay.
        runtime = labelled_as_trial(conversion.runtime, annotations)
        runtime["metadata"] |= {"name": train_job["metadata"]["name"], "namespace": train_job["metadata"]["namespace"]}
        train_job["spec"]["runtimeRef"]["name"] = runtime["metadata"]["name"]
    return Trial(conversion, train_job, runtime, changes)


def labelled_as_trial(obj: Json, annotations: dict[str, str]) -> Json:
    """A copy of an object, with the label of trials and these annotations."""
    found: Json = copy.deepcopy(obj)
    metadata = found["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), trial_labels.TRIAL: "true"}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
    return found


def _changed(source: SourceObject, trial_options: TrialOptions) -> tuple[SourceObject, dict[str, str]]:
    """The changed source for the trial, and the changes that make its run differ."""
    read(source, _framework(source))
    value = copy.deepcopy(without_nulls(source.value))
    metadata = value.setdefault("metadata", {})
    metadata["name"] = metadata.get("name") or str(metadata.pop("generateName", "")).rstrip("-")
    metadata["namespace"] = trial_options.namespace or metadata["namespace"]
    metadata.pop("ownerReferences", None)
    value.pop("status", None)
    changes: dict[str, str] = {}
    changed = dataclasses.replace(source, value=value)
    _limit(value, trial_options)
    if trial_options.nodes is not None:
        changes |= _with_nodes(changed, trial_options.nodes)
    arguments, variables = dict(trial_options.arguments), dict(trial_options.variables)
    if trial_options.steps is not None:
        if bool(trial_options.steps_argument) == bool(trial_options.steps_variable):
            raise InputError(
                f"--steps {trial_options.steps}: it is unknown how the program takes its number of steps.",
                "Name its flag (--steps-arg --max-steps) or its variable (--steps-env MAX_STEPS).",
            )
        changes["steps"] = str(trial_options.steps)
        target = arguments if trial_options.steps_argument else variables
        target[trial_options.steps_argument or trial_options.steps_variable] = str(trial_options.steps)
    for containers in _training_containers(changed):
        for flag, text in arguments.items():
            with_argument(containers, flag, text, changed.title)
        for name, text in variables.items():
            with_variable(containers, name, text)
    return changed, changes


def _limit(value: Json, trial_options: TrialOptions) -> None:
    """Sets a deadline, and removes suspension and clean-up policies, so that pods can be read afterwards. A failed TrainJob
    starts again if its JobSet is deleted, so nothing may delete that before the TrainJob."""
    policy = value["spec"].setdefault("runPolicy", {})
    for field in ("suspend", "ttlSecondsAfterFinished", "cleanPodPolicy"):
        policy.pop(field, None)
    value["spec"].pop("cleanPodPolicy", None)
    given = policy.get("activeDeadlineSeconds")
    policy["activeDeadlineSeconds"] = min(given or trial_options.deadline_seconds, trial_options.deadline_seconds)


def _with_nodes(source: SourceObject, nodes: int) -> dict[str, str]:
    """Reduces the Workers to this number of training pods; a Launcher of MPI does not train."""
    specs = _replica_specs(source)
    worker = next((role for role in specs if role.lower() == "worker"), "")
    counted = [role for role in specs if role.lower() != "launcher"]
    before = sum(_replicas(specs[role]) for role in counted)
    others = before - (_replicas(specs[worker]) if worker else 0)
    if nodes == before:
        return {}
    if not worker or not max(others, 1) <= nodes < before:
        least = max(others, 1) if worker else before
        raise InputError(
            f"{source.title}: --nodes {nodes}: the job has {before} pods that train, of which {others} are no Workers.",
            f"Use a number from {least} to {before}.",
        )
    if nodes == others:
        del specs[worker]
    else:
        specs[worker]["replicas"] = nodes - others
    return {"nodes": f"{nodes} of {before}"}


def _replicas(spec: Json) -> int:
    return int(spec.get("replicas", 1))


def _replica_specs(source: SourceObject) -> Json:
    spec: Json = source.value["spec"]
    return next((specs for field, specs in spec.items() if field.lower().endswith("replicaspecs")), None) or {}


def _training_containers(source: SourceObject) -> Iterator[Json]:
    """The training container of each role."""
    name = _framework(source).container
    for spec in _replica_specs(source).values():
        containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or []
        named = [container for container in containers if container.get("name") == name]
        yield from (named or containers)[:1]


def _framework(source: SourceObject) -> AnyFramework:
    framework = framework_of(source)
    assert framework is not None, f"{source.title} is of no kind of v1"
    return framework
