"""Namespace, labels and annotations of the job. What a cluster wrote there stays behind."""

from __future__ import annotations

from shunter.api.meta import LAST_APPLIED
from shunter.api.ownership import MARKS
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.api.scheduling.podgroups import VOLCANO_QUEUE
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.findings import Topic

OF_THE_CLUSTER = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
    "managedFields",
)  # fmt: skip

FINALIZERS = Topic(
    id="META001",
    title="finalizers are dropped",
    severity="warning",
    change="lossy",
    grade="L",
    explanation=(
        "A finalizer delays the deletion of an object until a controller has cleaned up and removed it. That controller watches "
        "v1 jobs: on a TrainJob the finalizer would stay, and the job could never be deleted."
    ),
    remedy="Find out which controller needs them, and whether it supports TrainJobs.",
    effort=3,
)
QUEUED = Topic(
    id="META002",
    title="Kueue may have changed the pod templates of this running job",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "When Kueue admits a job, it writes the node selector and tolerations of the chosen flavor into the pod templates. If "
        "the object was read from a cluster, the result would request these too, in addition to what Kueue adds itself."
    ),
    remedy=(
        "Convert the manifest that the job was created from, or remove the flavor's nodeSelector and tolerations from the result."
    ),
)
BEING_DELETED = Topic(
    id="META003",
    title="the job is being deleted",
    severity="warning",
    other_impact="blocking",
    change="manual",
    grade="L",
    explanation=(
        "The job was deleted but still exists because of a finalizer or pods that have not ended. A conversion would recreate a "
        "job that is no longer wanted."
    ),
    remedy="Do not migrate it; if it is still wanted, suppress with --accept META003.",
    effort=0,
    acceptable=True,
)


def apply(draft: Draft) -> None:
    """Carries namespace, labels and annotations, but for marks of tools. Accounts for status, kind and apiVersion as well."""
    metadata = draft.train_job.setdefault("metadata", {})
    if namespace := draft.source.metadata.get("namespace"):
        metadata["namespace"] = namespace
        draft.carry(("metadata", "namespace"), "TrainJob", ("metadata", "namespace"))
    else:
        draft.default(("metadata", "namespace"), "the field is empty")
    for field in ("labels", "annotations"):
        given = draft.source.metadata.get(field) or {}
        draft.carry(("metadata", field), "TrainJob", ("metadata", field))
        kept = {key: value for key, value in given.items() if key not in (LAST_APPLIED, VOLCANO_QUEUE, *MARKS[field])}
        if kept:
            metadata[field] = kept
    draft.default(("metadata", "annotations", LAST_APPLIED), "kubectl writes it again")
    _move_volcano_queue(draft)
    draft.report_if_given(FINALIZERS, ("metadata", "finalizers"), f"The finalizers of {draft.source.title} are dropped.")
    _look_for_kueue(draft)
    if draft.is_given(("metadata", "deletionTimestamp")):
        draft.report(BEING_DELETED, ("metadata", "deletionTimestamp"), f"{draft.source.title} is being deleted.")
    for field in OF_THE_CLUSTER:
        draft.default(("metadata", field), "the API server gives each object its own")
    draft.default(("status",), "a new job has a history of its own")
    draft.default(("apiVersion",), "trainer.kubeflow.org/v1alpha1")
    draft.default(("kind",), "TrainJob")


def _move_volcano_queue(draft: Draft) -> None:
    """The queue is that of the JobSet, whose annotations the runtime says."""
    path = ("metadata", "annotations", VOLCANO_QUEUE)
    if draft.is_given(path):
        draft.jobset_annotations[VOLCANO_QUEUE] = draft.given(path)
        draft.carry(path, "TrainingRuntime", ("spec", "template", "metadata", "annotations", VOLCANO_QUEUE))
    elif draft.is_given(("metadata", "labels", VOLCANO_QUEUE)):
        draft.default(("metadata", "labels", VOLCANO_QUEUE), "Volcano reads annotations")


def _look_for_kueue(draft: Draft) -> None:
    path = ("metadata", "labels", QUEUE_LABEL)
    if draft.is_live and draft.is_given(path) and not draft.job.run_policy.suspend:
        draft.report(QUEUED, path, f"Kueue admitted {draft.source.title} through the queue {draft.given(path)}.")
