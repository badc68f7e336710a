"""mpi-operator, whose MPIJobs (v2beta1) share a CustomResourceDefinition with those of v1."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.formats.counts import count
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS
from shunter.api.titles import title_of
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import MPI_JOBS_V2BETA1, Facts, Fault

TOPIC = Topic(
    id="READY014",
    title="MPIJobs belong to v1 only",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "mpijobs.kubeflow.org is one CRD for two products: the MPIJobs of v1, and those of mpi-operator in version "
        "v2beta1. Deleting it deletes the jobs of both; if two operators serve it, both create pods."
    ),
    remedy="Leave the CRD to mpi-operator: apply --finalize never deletes it while v2beta1 is served.",
    upstream="kubeflow/training-operator#1930",
)
MPI_JOBS_CRD = MPI_JOBS_V2BETA1.full_name


def applies(facts: Facts) -> bool:
    """Whether the CRD of MPIJobs exists."""
    return any(crd["metadata"]["name"] == MPI_JOBS_CRD for crd in facts.all(CUSTOM_RESOURCE_DEFINITIONS))


def faults(facts: Facts) -> Iterator[Fault]:
    """One if it serves v2beta1 as well, with the number of such jobs."""
    for crd in facts.all(CUSTOM_RESOURCE_DEFINITIONS):
        versions = {version["name"] for version in crd["spec"]["versions"] if version.get("served")}
        if crd["metadata"]["name"] != MPI_JOBS_CRD or MPI_JOBS_V2BETA1.version not in versions:
            continue
        found = count(len(facts.all(MPI_JOBS_V2BETA1)), "MPIJob")
        yield Fault(f"it also serves v2beta1, of mpi-operator, with {found}.", title_of(crd))
