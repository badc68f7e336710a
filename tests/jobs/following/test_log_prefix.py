"""What stands before a log line."""

from __future__ import annotations

from typing import Any

import pytest

from job_evidence import v1_job, v2_job
from shunter.jobs.following.log_prefix import log_prefix
from shunter.operator.pod_places import Member, place

V1_LABELS = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1"}
V2_LABELS = {"jobset.sigs.k8s.io/replicatedjob-name": "node", "batch.kubernetes.io/job-completion-index": "2"}
PREFIXES = {
    "a Worker of a v1 job": (v1_job(), V1_LABELS, "pytorch", "[worker-1]"),
    "a container beside it": (v1_job(), V1_LABELS, "sidecar", "[worker-1 sidecar]"),
    "a node of a TrainJob": (v2_job(), V2_LABELS, "node", "[node-2]"),
    "an init container": (v2_job(), V2_LABELS, "fetch", "[node-2 fetch]"),
}


@pytest.mark.parametrize(("job", "labels", "container", "prefix"), PREFIXES.values(), ids=PREFIXES)
def test_a_line_begins_with_its_pod_and_with_a_container_that_does_not_train(
    job: dict[str, Any], labels: dict[str, str], container: str, prefix: str
) -> None:
    assert log_prefix(place(job, {"metadata": {"name": "p", "labels": labels}, "spec": {}}), container) == prefix


def test_the_training_container_of_a_job_may_have_any_name() -> None:
    assert log_prefix(Member("pod", 0, 0, container="main"), "main") == "[pod-0]"
    assert log_prefix(Member("pod", 0, 0, container="main"), "proxy") == "[pod-0 proxy]"
