"""What containers of one pod are told of the group is the same in each of them, as it was in v1."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from migrate_scenarios import CASES, cases, converted_jobs, options_of
from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.pods.effective import effective_container
from shunter.migrate.pods.sides import NoPodsError, v1_pods, v2_pods
from shunter.operator.overview import replica_specs

FILES = [
    case
    for folder in ("pytorch", "jax", "tensorflow", "xgboost", "paddle", "hosts", "environment")
    for case in cases(CASES / folder)
]
SIDECAR = {"name": "beside", "image": "busybox", "command": ["sh", "-c", "nc -z $MASTER_ADDR $MASTER_PORT"]}


def with_sidecar(job: Json) -> Json:
    body = deepcopy(job)
    for spec in replica_specs(body).values():
        spec["template"]["spec"]["containers"].append(SIDECAR)
    return body


def told(pod: Json) -> list[dict[str, str]]:
    return [effective_container(pod, container).environment for container in pod["spec"]["containers"]]


@pytest.mark.parametrize("case", FILES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_every_container_of_a_pod_is_told_the_same(case: Path) -> None:
    for outcome in converted_jobs(case).outcomes:
        if outcome.conversion is None or outcome.is_blocked:
            continue
        job, options = with_sidecar(outcome.source.value), options_of(case)
        conversion = convert(SourceObject(job, "with a sidecar"), options)
        try:
            shared = {name for replica in v1_pods(job, options) for name in told(replica.pod)[-1] if not name.startswith("PET_")}
        except NoPodsError:
            continue
        for replica in v2_pods(conversion.train_job, conversion.runtime):
            beside = told(replica.pod)[-1]
            for environment in told(replica.pod):
                seen = {name: environment[name] for name in shared & environment.keys() & beside.keys()}
                assert seen == {name: beside[name] for name in seen}
