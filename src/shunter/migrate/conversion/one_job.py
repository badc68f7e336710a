"""From a v1 job to a TrainJob and its runtime: pure, the same for files and clusters.

draft = source + defaults of v1 -> kinds/ arrange -> rules/ apply -> result -> what programs read of it, rows, findings
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.migrate.conversion import misspelt, mpi_operator, provenance
from shunter.migrate.conversion.draft import Draft, Profile, replica_specs
from shunter.migrate.conversion.gitops import argo
from shunter.migrate.conversion.input_context import NOTHING, InputContext
from shunter.migrate.conversion.kinds import Arranger, arrangers
from shunter.migrate.conversion.ledger import Manifest, Row
from shunter.migrate.conversion.reading import read
from shunter.migrate.conversion.rules import ORDER, names
from shunter.migrate.conversion.rules.programs import pod_reads
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.unread_code import UnreadCode, unread_code
from shunter.migrate.findings import Finding, Grade, Topic, worst
from shunter.migrate.options import Options
from shunter.migrate.paths import path_text, value_at
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import FRAMEWORKS

NOT_UNDERSTOOD = Topic(
    id="FIELD001",
    title="a field without a conversion rule",
    severity="error",
    change="unsupported",
    grade="L",
    explanation="No conversion rule exists for this field of the source, so it is missing in the result.",
    remedy="Remove the field if it has no effect (v1 may have ignored it too), then suppress with --accept FIELD001.",
    effort=3,
    acceptable=True,
)


class Conversion(msgspec.Struct, frozen=True, dict=True):
    """The result of one job. There is one for a blocked job as well: look at `is_blocked` before it is used."""

    source: SourceObject
    train_job: Json
    runtime: Json | None
    """None when a shipped runtime does."""
    profile: Profile
    reason: str
    rows: tuple[Row, ...]
    """What became of each leaf of the source."""
    findings: tuple[Finding, ...]

    shorter: tuple[str, ...] = ()
    """Options with which the job would take a shipped runtime, under the conditions that `rules/profiles.SHORTER` names."""

    @property
    def is_blocked(self) -> bool:
        """Whether the result must not be used."""
        return any(finding.is_blocking for finding in self.findings)

    @property
    def runtime_title(self) -> str:
        """The runtime that the TrainJob refers to: `TrainingRuntime pytorch-1f2e3d4c`."""
        reference = self.train_job["spec"]["runtimeRef"]
        return f"{reference.get('kind', CLUSTER_TRAINING_RUNTIMES.kind)} {reference['name']}"

    @property
    def unread_code(self) -> UnreadCode:
        """Where the job's programs come from that no rule has read."""
        framework = framework_of(self.source)
        specs = value_at(self.source.value, ("spec", replica_specs(framework))) if framework else {}
        return unread_code((role or {}).get("template") or {} for role in (specs.values() if isinstance(specs, dict) else ()))

    @property
    def unproved(self) -> tuple[Finding, ...]:
        """Where programs read what changes, so that equal pods prove nothing of what the program makes of it."""
        return tuple(finding for finding in self.findings if finding.limits_proof)

    @cached_property
    def grade(self) -> Grade:
        """The worst grade of a field."""
        return worst([finding.topic.grade for finding in self.findings])


def framework_of(source: SourceObject) -> AnyFramework | None:
    """The v1 kind that the object is of, or the MPIJob of mpi-operator; None for all else."""
    for framework in (*FRAMEWORKS, mpi_operator.FRAMEWORK):
        if source.kind == framework.info.resource.kind and source.api_version == framework.info.resource.api_version:
            return framework
    return None


def convert(source: SourceObject, options: Options, context: InputContext = NOTHING) -> Conversion:
    """The job's counterpart. `source` is an object of one of v1's kinds. Raises UnreadableJobError."""
    draft = drafted(source, options, context)
    runtime = _runtime(draft)
    train_job = _train_job(draft, runtime)
    pod_reads.report(draft, train_job, runtime)
    for finding in misspelt.of_templates(source):
        draft.report(finding.topic, finding.path, finding.message, remedy=finding.remedy)
    rows = tuple(_rows(draft, {"TrainJob": train_job, "TrainingRuntime": runtime or {}}))
    return Conversion(
        source=source,
        train_job=train_job,
        runtime=runtime,
        profile=draft.profile,
        reason=draft.reason,
        rows=rows,
        findings=tuple(draft.findings),
        shorter=draft.shorter,
    )


def _rows(draft: Draft, results: Mapping[Manifest, Json]) -> Iterator[Row]:
    """A row for each leaf. Fields that say nothing need no counterpart; others that no rule reported are reported."""
    for path, value, row in draft.ledger.account(draft.source.value):
        if value is None or value == {} or value == []:
            target = row.target if row else None
            is_there = target is not None and value_at(results[target.manifest], target.path) == value
            yield row if row and is_there and value is not None else Row(path, "defaulted", None, "the field is empty")
        elif row is None:
            remedy = " ".join(filter(None, (misspelt.meant(draft.source, path), NOT_UNDERSTOOD.remedy)))
            finding = draft.report(NOT_UNDERSTOOD, path, f"{path_text(path)} has no conversion rule.", remedy=remedy)
            yield Row(path, "reported", None, finding.message, finding)
        else:
            yield row


def drafted(source: SourceObject, options: Options, context: InputContext = NOTHING) -> Draft:
    """The job with all rules applied, its name one that the pods' names leave room for. For kinds of v1 only (assert)."""
    framework = framework_of(source)
    assert framework is not None, f"{source.title} is of no kind of v1"
    job, faults = read(source, framework)
    draft = _arranged(Draft(source, framework, job, options, context, names.requested_name(source, options, context), faults))
    name = names.shortened_name(draft)
    if name != draft.name:
        draft = _arranged(Draft(source, framework, job, options, context, name, faults))
    for apply in ORDER:
        apply(draft)
    return draft


def _arranged(draft: Draft) -> Draft:
    ARRANGERS[draft.kind].arrange(draft)
    return draft


def _train_job(draft: Draft, runtime: Json | None) -> Json:
    spec = {key: value for key, value in draft.train_job.items() if key != "metadata"}
    metadata = draft.train_job["metadata"]
    annotations = {**metadata.get("annotations", {}), **provenance.of_train_job(draft.source)}
    # The group, and the kind of a shipped runtime, are those that a reference has when it does not say them.
    own = {"kind": TRAINING_RUNTIMES.kind, "name": runtime["metadata"]["name"]} if runtime else {}
    reference = own or {"name": draft.shipped_runtime}
    return {
        "apiVersion": TRAIN_JOBS.api_version,
        "kind": TRAIN_JOBS.kind,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {"runtimeRef": reference, **spec, "trainer": _trainer(draft, runtime)},
    }


def _trainer(draft: Draft, runtime: Json | None) -> Json:
    """The trainer section without the number of nodes that the runtime of the job has anyway. It is never empty: a TrainJob
    without one gets no variables (kubeflow/trainer#4076)."""
    section = draft.trainer
    if runtime is None or len(section) == 1 or section["numNodes"] != runtime["spec"]["mlPolicy"]["numNodes"]:
        return section
    return {field: value for field, value in section.items() if field != "numNodes"}


def runtime_name(kind: str, spec: Json) -> str:
    """`pytorch-1f2e3d4c`: by what the runtime says, so that equal ones are one, and none takes the place of another."""
    digest = hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).hexdigest()[:8]
    return f"{kind.removesuffix('Job').lower()}-{digest}"


def _runtime(draft: Draft) -> Json | None:
    if draft.shipped_runtime:
        return None
    annotations = {"metadata": {"annotations": draft.jobset_annotations}} if draft.jobset_annotations else {}
    template = {**annotations, "spec": draft.jobset}
    policy = {"numNodes": 1, **draft.ml_policy}
    spec = {"mlPolicy": policy, **draft.runtime, "template": template}
    metadata: Json = {"name": runtime_name(draft.kind, spec)}
    if draft.source.namespace:
        metadata["namespace"] = draft.source.namespace
    metadata["annotations"] = {
        **provenance.of_runtime(),
        **argo.runtime_annotations(draft.source.metadata.get("annotations") or {}),
    }
    return TRAINING_RUNTIMES.typed({"metadata": metadata, "spec": spec})


ARRANGERS: dict[str, Arranger] = arrangers()
