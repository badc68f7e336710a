"""The CustomResourceDefinitions of v2: whether they exist, are established and serve the version of results."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.crds.established import is_established
from shunter.api.resources import (
    CLUSTER_TRAINING_RUNTIMES,
    CUSTOM_RESOURCE_DEFINITIONS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
)
from shunter.api.titles import title_of
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault

TOPIC = Topic(
    id="READY003",
    title="the cluster serves v2",
    severity="error",
    change="manual",
    grade="N",
    explanation="TrainJobs and their runtimes are three kinds of trainer.kubeflow.org/v1alpha1. An installation of v2 adds them.",
    remedy="Install an operator of v2: shunter install (docs/install.md), or Kubeflow Trainer.",
)
NEEDED = (TRAIN_JOBS, TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)


def applies(facts: Facts) -> bool:
    """Always: without these nothing can be moved."""
    return True


def faults(facts: Facts) -> Iterator[Fault]:
    """CRDs that do not exist, are not established, or do not serve the version of results."""
    if not facts.serves(TRAIN_JOBS):
        yield Fault(f"the cluster does not serve {TRAIN_JOBS.api_version}.")
        return
    crds = {crd["metadata"]["name"]: crd for crd in facts.all(CUSTOM_RESOURCE_DEFINITIONS)}
    for resource in NEEDED:
        name = resource.full_name
        crd = crds.get(name)
        if crd is None:
            yield Fault(f"{name} does not exist.")
            continue
        conditions = {entry["type"]: entry for entry in (crd.get("status") or {}).get("conditions") or ()}
        if not is_established(crd):
            message = conditions.get("Established", {}).get("message")
            yield Fault(f"{name} is not established: {message or 'the server gives no reason'}.", title_of(crd))
        if resource.version not in {version["name"] for version in crd["spec"]["versions"] if version.get("served")}:
            yield Fault(f"{name} does not serve {resource.version}.", title_of(crd), "Upgrade the CRDs of v2.")
