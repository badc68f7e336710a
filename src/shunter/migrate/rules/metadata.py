"""Name, namespace, labels and annotations of the job (3.1). What a cluster wrote there stays behind (3.7)."""

from __future__ import annotations

from shunter.migrate.draft import Draft

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
OF_THE_CLUSTER = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
    "managedFields",
)  # fmt: skip


def apply(draft: Draft) -> None:
    metadata = draft.train_job.setdefault("metadata", {})
    for field in ("name", "generateName", "namespace"):
        if draft.is_given(("metadata", field)):
            draft.carry(("metadata", field), "TrainJob", ("metadata", field))
            metadata[field] = draft.given(("metadata", field))
    if draft.source.metadata.get("name"):
        metadata["name"] = draft.name
    for field in ("labels", "annotations"):
        given = draft.source.metadata.get(field) or {}
        draft.carry(("metadata", field), "TrainJob", ("metadata", field))
        kept = {key: value for key, value in given.items() if key != LAST_APPLIED}
        if LAST_APPLIED in given:
            draft.default(("metadata", field, LAST_APPLIED), "kubectl writes it anew")
        if kept:
            metadata[field] = kept
    for field in OF_THE_CLUSTER:
        draft.default(("metadata", field), "the API server gives each object its own")
    draft.default(("status",), "a new job has a history of its own")
    draft.default(("apiVersion",), "trainer.kubeflow.org/v1alpha1")
    draft.default(("kind",), "TrainJob")
