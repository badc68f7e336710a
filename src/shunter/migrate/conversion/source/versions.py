"""Kinds of the same name in other API versions: what they are, and what to do with them."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.resources import TRAIN_JOBS
from shunter.api.training.kinds import JOB_KINDS
from shunter.did_you_mean import did_you_mean, nearest
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding, Topic

OLD_VERSION = Topic(
    id="INPUT013",
    title="a job of a version before kubeflow.org/v1",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "Versions such as v1beta1 were served by operators before Training Operator 1.0. Some of their fields were in other "
        "places (cleanPodPolicy and ttlSecondsAfterFinished beside the replicas), and no cluster serves them any more."
    ),
    remedy="Change the job to apiVersion kubeflow.org/v1 first, and move the fields of runPolicy to spec.runPolicy.",
    effort=3,
)
OTHER_OPERATOR = Topic(
    id="INPUT005",
    title="an MPIJob of mpi-operator",
    severity="warning",
    change="manual",
    grade="Q",
    explanation=(
        "kubeflow.org/v2beta1 is the API of mpi-operator, a different product whose CRD has the same name as the Training "
        "Operator's MPIJob. It is not removed with v1, so its jobs stay unchanged. With --mpi-operator they are converted like "
        "v1 jobs; v2's mpi plugin is modeled on mpi-operator."
    ),
    remedy="Keep mpi-operator, its jobs and the CRD mpijobs.kubeflow.org, or convert the jobs too with --mpi-operator.",
    effort=0,
)
NO_SUCH_VERSION = Topic(
    id="INPUT006",
    title="a TrainJob of a version that was never released",
    severity="warning",
    change="manual",
    grade="E",
    explanation="Drafts and old guides use v2alpha1 or kubeflow.org; the v2 kinds are in trainer.kubeflow.org/v1alpha1.",
    remedy=f"Write apiVersion: {TRAIN_JOBS.api_version}, and check the fields: they differ from those of the drafts.",
)
NO_SUCH_KIND = Topic(
    id="INPUT017",
    title="a kind of job that kubeflow.org/v1 does not have",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "The object has apiVersion kubeflow.org/v1 and its kind looks like that of a job, but no operator serves it: kinds are "
        "singular and case-sensitive, and MXJob was removed in Training Operator 1.8. It is left unchanged."
    ),
    remedy=f"Use one of the kinds: {', '.join(kind.resource.kind for kind in JOB_KINDS)}.",
)
UNKNOWN_VERSION = Topic(
    id="INPUT019",
    title="an unknown version of a job",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "The kind is one of Training Operator's, but its group never had this version, so no cluster serves the object. It is "
        "left unchanged."
    ),
    remedy="Write apiVersion: kubeflow.org/v1 if the fields are those of v1.",
)
NO_TYPE = Topic(
    id="INPUT023",
    title="a job without apiVersion or kind",
    severity="warning",
    change="manual",
    grade="E",
    explanation=(
        "The object has the kind or the apiVersion of a job, but not both. The API server and kubectl reject objects unless "
        "both are set, each as a string. It is not converted and left unchanged."
    ),
    remedy=(
        f"Set apiVersion: kubeflow.org/v1 and the kind ({', '.join(kind.resource.kind for kind in JOB_KINDS)}), unless it is a "
        "Kustomize patch that selects the job by its target."
    ),
)
MPI_OPERATOR = "kubeflow.org/v2beta1"
_OLD_VERSIONS = ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2")
"""Those that the operators before Training Operator 1.0 served."""
_V1 = {kind.resource.kind: kind.resource.api_version for kind in JOB_KINDS}
_CLOSE = 0.85
"""How like a kind has to be, by difflib: MXJob is none of the others."""
_V2_KINDS = ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")


def is_v1_job(source: SourceObject) -> bool:
    """Whether it is of one of v1's kinds, in v1's version."""
    return source.api_version == _V1.get(source.kind)


def is_convertible(source: SourceObject) -> bool:
    """Whether it is a v1 job, or an MPIJob of mpi-operator, which is converted where that is asked for."""
    return is_v1_job(source) or is_of_mpi_operator(source)


def is_of_mpi_operator(source: SourceObject) -> bool:
    """Whether it is an MPIJob of kubeflow.org/v2beta1, which v1's operator does not run."""
    return source.kind == "MPIJob" and source.api_version == MPI_OPERATOR


def findings_of(source: SourceObject) -> tuple[Finding, ...]:
    """The finding about an object, or what is nearly one, for its kind and version alone."""
    if not source.is_object:
        return tuple(_missing(source))
    topic = _topic(source)
    if topic is None:
        return ()
    field = "kind" if topic is NO_SUCH_KIND else "apiVersion"
    message = f"{source.kind} of {source.api_version}: {topic.title}."
    return (Finding(topic, source.title, source.place((field,)), (field,), message, _remedy(topic, source)),)


def _missing(source: SourceObject) -> Iterator[Finding]:
    """What an object lacks that has the metadata or spec of one: values of a chart may have a kind as well."""
    value = source.value
    if not any(isinstance(value.get(field), dict) for field in ("metadata", "spec")):
        return
    for field, other, others in (("apiVersion", "kind", [*_V1]), ("kind", "apiVersion", [*_V1.values()])):
        if value.get(other) in others:
            says = f"{field} is {value[field]!r}, which is not a string" if value.get(field) is not None else f"it has no {field}"
            yield Finding(NO_TYPE, source.title, source.place((field,)), (field,), f"{other} is {value[other]}, and {says}.")


def _remedy(topic: Topic, source: SourceObject) -> str:
    """The remedy for a kind that is nearly one; empty where the topic's own does."""
    close = nearest(source.kind, _V1, cutoff=_CLOSE) if topic is NO_SUCH_KIND else []
    return f"{did_you_mean(close)} {topic.remedy}" if close else ""


def _topic(source: SourceObject) -> Topic | None:
    group = source.api_version.partition("/")[0]
    if source.api_version in _V1.values() and source.kind not in _V1 and source.kind.lower().endswith(("job", "jobs")):
        return NO_SUCH_KIND
    if source.kind in _V1 and group == "kubeflow.org" and source.api_version != _V1[source.kind]:
        if is_of_mpi_operator(source):
            return OTHER_OPERATOR
        return OLD_VERSION if source.api_version.partition("/")[2] in _OLD_VERSIONS else UNKNOWN_VERSION
    if source.kind in _V2_KINDS and group.endswith("kubeflow.org") and source.api_version != TRAIN_JOBS.api_version:
        return NO_SUCH_VERSION
    return None
