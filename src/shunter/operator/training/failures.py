"""Events with the exit codes of pods that have ended, as the pods may soon be gone. `failure_record` records what failed."""

from __future__ import annotations

from shunter.api.core import Pod
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.job import AnyJob
from shunter.operator.training.names import index_of
from shunter.operator.training.observed import Observed
from shunter.operator.training.policies import restart, scale_in
from shunter.operator.training.policies.clean_pods import is_kept
from shunter.operator.training.progress import Progress


def newly_ended(framework: AnyFramework, observed: Observed, replica_type: str) -> list[Pod]:
    """The desired pods of one role whose end the status does not count yet."""
    job, children = observed.job, scale_in.evidence(observed.children)
    count = job.replica_count(replica_type)
    pods = [pod for pod in children.pods_in_role(replica_type) if (index_of(pod.metadata.labels) or 0) < count]
    known = job.status.replica_statuses.get(replica_type)
    container = framework.container_of(job, replica_type)
    return restart.newly_finished(container, pods, known.succeeded + known.failed if known else 0, observed.ended)


def with_exit_events(framework: AnyFramework, observed: Observed, progress: Progress) -> Progress:
    """With events about the exit codes of pods that have newly ended."""
    job = observed.job
    for replica_type in job.replicas:
        ended = newly_ended(framework, observed, replica_type)
        leaves = [pod for pod in ended if pod.status.phase == "Failed" and not _stays(framework, job, pod, replica_type)]
        container = framework.container_of(job, replica_type)
        for pod in ended if framework.reports_all_exits else leaves:
            code = restart.exit_code(pod, container)
            if code is not None:
                progress = progress.notes((restart.exited(job, pod, code),))
    return progress


def _stays(framework: AnyFramework, job: AnyJob, pod: Pod, replica_type: str) -> bool:
    """Whether a pod that has failed is left as it is: neither replaced nor cleaned up."""
    policy = job.replicas[replica_type].restart_policy
    consequence = restart.consequence(pod, policy, framework.container_of(job, replica_type))
    return is_kept(job, pod) and not (consequence == "replace" and policy in framework.replaced_under)
