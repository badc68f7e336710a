"""What is told of pods that have ended: how, and of those that have failed and that the operator lets go also why. Soon they are
gone, and nothing else tells.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shunter.api.core import Pod
from shunter.kube.plan import Log, Note
from shunter.operator.diagnosis import RANK_FAILED, faults
from shunter.operator.training import restart
from shunter.operator.training.abnormal import REPORTED_PODS
from shunter.operator.training.children import Children, index_or_none
from shunter.operator.training.clean_pods import is_kept
from shunter.operator.training.framework import AnyFramework, AnyJob
from shunter.operator.training.progress import Progress


def newly_ended(framework: AnyFramework, job: AnyJob, children: Children, replica_type: str) -> list[Pod]:
    """The pods of one role, as far as they are wanted, whose end the status does not know of."""
    count = job.replica_count(replica_type)
    pods = [pod for pod in children.pods_in_role(replica_type) if (index_or_none(pod) or 0) < count]
    known = job.status.replica_statuses.get(replica_type)
    container = framework.container_of(job, replica_type)
    return restart.newly_finished(container, pods, known.succeeded + known.failed if known else 0)


def told(framework: AnyFramework, job: AnyJob, children: Children, progress: Progress) -> Progress:
    """With the exit codes of pods whose end is news, and what failed in those of them that will not stay."""
    failed: list[Pod] = []
    for replica_type in job.replicas:
        ended = newly_ended(framework, job, children, replica_type)
        leaves = [pod for pod in ended if pod.status.phase == "Failed" and not _stays(framework, job, pod, replica_type)]
        container = framework.container_of(job, replica_type)
        for pod in ended if framework.tells_exits else leaves:
            code = restart.exit_code(pod, container)
            if code is not None:
                progress = progress.notes((restart.exited(job, pod, code),))
        failed += leaves
    return progress.notes(causes(job, failed))


def causes(job: AnyJob, pods: Iterable[Pod]) -> tuple[Note, ...]:
    """One warning for each container of these pods that failed, the first to fail first and with the last lines of its log."""
    found = faults([msgspec.to_builtins(pod) for pod in pods])[:REPORTED_PODS]
    return tuple(
        Note(
            regarding=job.ref,
            type="Warning",
            reason=RANK_FAILED,
            message=str(fault),
            last_words=Log(job.namespace, fault.pod, fault.container, previous=fault.is_waiting)
            if number == 0 and fault.container and fault.exit_code is not None
            else None,
        )
        for number, fault in enumerate(found)
    )


def restarted(job: AnyJob, children: Children) -> tuple[Note, ...]:
    """What failed in pods that run, and go although they do: they have restarted too often."""
    return causes(job, (pod for pod in children.pods if pod.status.phase == "Running" and not is_kept(job, pod)))


def _stays(framework: AnyFramework, job: AnyJob, pod: Pod, replica_type: str) -> bool:
    """Whether a pod that has failed is left as it is: neither replaced nor cleaned up."""
    policy = job.replicas[replica_type].restart_policy
    consequence = restart.consequence(pod, policy, framework.container_of(job, replica_type))
    return is_kept(job, pod) and not (consequence == "replace" and policy in framework.replaced_under)
