"""The words that say why a job does not train, each with its meaning: the column WHY of `jobs`, `why` in its JSON."""

from __future__ import annotations

from typing import NamedTuple


class Cause(NamedTuple):
    """Why a job does not train, or why it failed."""

    word: str
    """A key of WORDS, or the reason of a TrainJob's condition Created. For a failed job how its first container ended: a reason
    of Kubernetes (OOMKilled), an exception (ValueError) or the exit code."""
    text: str
    """What is missing or in the way, with the names of the objects. It has no numbers that change while the cause stays."""
    remedy: str = ""
    """What to do about it; empty when there is only waiting."""
    who: str = ""
    """The pods that are blocked, as `worker-0 and 3 more`; empty when it is the job as a whole."""
    rest: str = ""
    """How many pods have another cause."""
    rank: int | None = None
    """The rank that failed first, if the job failed."""

    @property
    def short(self) -> str:
        """For a list: `Unschedulable`, `rank 1: OOMKilled`."""
        return self.word if self.rank is None else f"rank {self.rank}: {self.word}"

    @property
    def sentence(self) -> str:
        """All but the remedy, in one line."""
        return f"{self.who}: {self.text}{self.rest}" if self.who else self.text

    def __str__(self) -> str:
        text = f"{self.word}: {self.sentence}"
        if not self.remedy:
            return text
        return f"{text.rstrip('.')}. {self.remedy[0].upper()}{self.remedy[1:]}"


WORDS = {
    "MissingClaim": "a PersistentVolumeClaim that the pods mount does not exist",
    "UnboundClaim": "a PersistentVolumeClaim exists but is not bound to a volume yet",
    "MissingConfigMap": "a ConfigMap that the pods need, or a key of it, does not exist",
    "MissingSecret": "a Secret that the pods need, or a key of it, does not exist",
    "VolumeMount": "a volume cannot be attached or mounted for another reason",
    "ConfigError": "a container's configuration cannot be resolved for another reason",
    "ImagePull": "an image cannot be pulled, or its name is wrong",
    "StartError": "a container cannot be started: for example, its command does not exist or is not executable",
    "PodSandbox": "the node cannot set up the pod: for example, its network",
    "Unschedulable": "no node has room for a pod or satisfies its constraints",
    "WaitingForGang": "the gang scheduler waits until all pods of the job can be placed together",
    "PodGroupMissing": "the job's PodGroup cannot be created",
    "PodGroupRefused": "the API server rejects the job's PodGroup",
    "AutoscalerRefused": "the API server rejects the HorizontalPodAutoscaler of an elastic job",
    "SchedulingGated": "a pod has scheduling gates, which a controller must remove",
    "NoScheduler": "no scheduler has processed a pod: for example, the one it names does not run",
    "NodeNotResponding": "the node that a pod was assigned to has not started it",
    "QuotaExceeded": "a ResourceQuota of the namespace prevents the pods from being created",
    "MissingServiceAccount": "the ServiceAccount of the pods does not exist",
    "MissingPriorityClass": "the PriorityClass of the pods does not exist",
    "PodSecurity": "the Pod Security Standard of the namespace prevents the pods from being created",
    "Refused": "the API server rejects an object of the job for another reason",
    "CrashLoop": "a container fails again and again",
    "PeersSucceeded": "ranks run on, or have started again, while others have succeeded already",
    "WaitingForQuota": "Kueue: there is not enough unused quota",
    "QuotaTooSmall": "Kueue: the job requests more than its ClusterQueue can ever have",
    "Inadmissible": "Kueue: its queue does not exist, is stopped, or does not accept the job",
    "WaitingForAdmissionCheck": "Kueue: quota is reserved, but an admission check is not complete",
    "Deactivated": "Kueue: the Workload is deactivated",
    "Queued": "Kueue: it has not considered the job yet, or has requeued it",
    "NoQueue": "the job has a queue's label, and Kueue has no Workload for it, or is not installed",
    "Suspended": "`suspend` is true in the job",
    "ScaleInterrupted": "`shunter scale` suspended the job and was interrupted before it resumed it",
    "ManagedByOther": "`managedBy` leaves the job to another controller",
    "Deleting": "the job is being deleted",
}
