"""Names, keys and host names of a JobSet's parts."""

from __future__ import annotations

from shunter.api.jobset import JobSet
from shunter.api.meta import Json, controller_reference

PREFIX = "jobset.sigs.k8s.io/"
RESTART_ATTEMPT = PREFIX + "restart-attempt"
EXCLUSIVE_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR_STRATEGY = "alpha.jobset.sigs.k8s.io/node-selector"
NAMESPACED_JOB = "alpha.jobset.sigs.k8s.io/namespaced-job"
NO_SCHEDULE_TAINT = "alpha.jobset.sigs.k8s.io/no-schedule"


def job_name(jobset: JobSet, replicated_job: str, index: int) -> str:
    """`train-worker-0`: of the JobSet, the replicated job, and the index among its replicas."""
    return f"{jobset.metadata.name}-{replicated_job}-{index}"


def job_names(jobset: JobSet) -> list[str]:
    """The names of all its Jobs, in the order of the replicated jobs."""
    return [job_name(jobset, job.name, index) for job in jobset.spec.replicated_jobs for index in range(job.replicas)]


def claim_name(jobset: JobSet, template: str) -> str:
    """`data-train`: the claim template's name, then the JobSet's."""
    return f"{template}-{jobset.metadata.name}"


def subdomain(jobset: JobSet) -> str:
    """The headless service's name and the domain of the pods' host names."""
    return (jobset.spec.network.subdomain if jobset.spec.network else "") or jobset.metadata.name


def has_host_names(jobset: JobSet) -> bool:
    """Whether pods get host names; absent counts as admission defaults it."""
    network = jobset.spec.network
    return network is None or network.enable_dns_hostnames is not False


def coordinator_endpoint(jobset: JobSet) -> str:
    """The host name of the coordinator pod; empty when none is named."""
    pod = jobset.spec.coordinator
    if pod is None:
        return ""
    return f"{job_name(jobset, pod.replicated_job, pod.job_index)}-{pod.pod_index}.{subdomain(jobset)}"


def owner(jobset: JobSet) -> Json:
    """The controller reference that what is made for the JobSet carries."""
    return controller_reference("jobset.x-k8s.io/v1alpha2", "JobSet", jobset.metadata.name, jobset.metadata.uid)
