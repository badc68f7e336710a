"""cleanPodPolicy: which pods and services go when the job has finished."""

from __future__ import annotations

from shunter.api.core import Pod
from shunter.api.meta import ObjectMeta
from shunter.api.resources import PODS, SERVICES
from shunter.kube.controllers.plan import Delete
from shunter.operator.training.children import Children, is_own
from shunter.operator.training.job import AnyJob
from shunter.operator.training.writes import deletion


def clean_up(job: AnyJob, children: Children) -> list[Delete]:
    """Deletions by the job's policy: None keeps all, Running removes what has not finished, any other value removes all.

    A service goes with its pod, and also when its pod is gone already: the clean-up may have been interrupted between the two.
    """
    if job.run_policy.clean_pod_policy == "None":
        return []
    return deletions(job, children, {pod.metadata.name for pod in children.pods if is_kept(job, pod)})


def is_kept(job: AnyJob, pod: Pod) -> bool:
    """Whether the policy keeps this pod."""
    policy = job.run_policy.clean_pod_policy
    return policy == "None" or (policy == "Running" and not _may_run(pod))


def deletions(job: AnyJob, children: Children, kept: set[str]) -> list[Delete]:
    """Deletion of every pod and service of the job's own but those with these names; what is being deleted is left alone."""
    return [
        *(deletion(job, PODS, pod) for pod in children.pods if _goes(pod.metadata, kept)),
        *(deletion(job, SERVICES, service) for service in children.services if is_own(service) and _goes(service.metadata, kept)),
    ]


def _goes(metadata: ObjectMeta, kept: set[str]) -> bool:
    return metadata.name not in kept and metadata.deletion_timestamp is None


def _may_run(pod: Pod) -> bool:
    """A pending pod will run as soon as there is room for it."""
    return pod.status.phase in ("", "Pending", "Running")
