"""Topics of objects that select the pods of converted jobs."""

from __future__ import annotations

from shunter.migrate.findings import Topic

_REMEDY = "Select the labels of v2 pods that the finding names, or use --update-selectors."

LOST = Topic(
    id="SELECT001",
    title="an object no longer selects any pod of a job",
    severity="warning",
    change="semantic-change",
    grade="N",
    explanation=(
        "A Service, NetworkPolicy, PodMonitor, PodDisruptionBudget, affinity or spread constraint of the input selects pods of a "
        "v1 job by labels that the pods of its TrainJob do not have. Kubernetes reports no error: the Service has no endpoints, "
        "the policy does not apply. The selector was evaluated against the labels of the pods of both sides."
    ),
    remedy=_REMEDY,
)
DIFFERENT = Topic(
    id="SELECT002",
    title="an object selects other pods of a job than before",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "A selector of the input selects some pods of a v1 job and others of its TrainJob: a requirement such as NotIn or "
        "DoesNotExist also holds where a label is missing, and pods of one group of v2 have the same labels."
    ),
    remedy=_REMEDY,
)
GAINED = Topic(
    id="SELECT003",
    title="an object selects pods of a TrainJob that it did not select before",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "A selector of the input selects no pod of a v1 job but pods of its TrainJob, because these lack the v1 labels or have "
        "those of JobSet and Job: a NetworkPolicy or PodDisruptionBudget now applies to the training."
    ),
    remedy=_REMEDY,
)
REWRITTEN = Topic(
    id="SELECT004",
    title="a selector is rewritten to the labels of v2",
    severity="info",
    change="lossless",
    grade="Q",
    explanation=(
        "With --update-selectors a selector that would select no v2 pod, or other pods than before, is replaced by one that "
        "selects exactly the counterparts of the pods that it selected. A selector is left unchanged if this is not certain."
    ),
    remedy="No action needed. The new selector does not select pods of v1 jobs that still run.",
    effort=0,
)
REFERENCE = Topic(
    id="SELECT005",
    title="an object refers to a v1 job that is converted",
    severity="warning",
    change="semantic-change",
    grade="N",
    explanation=(
        "An object of the input names the v1 job by kind and name, for example as the target of an autoscaler or in "
        "ownerReferences. The reference is left unchanged. When the v1 job is deleted, an autoscaler has no target, and an "
        "object that the job owns is deleted too."
    ),
    remedy="Refer to the TrainJob (kind TrainJob of trainer.kubeflow.org/v1alpha1) if the object supports that kind.",
)
