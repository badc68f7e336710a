"""JobSets and their Jobs as the API server stores them."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.api.batch import Job
from shunter.api.jobset import JobSet
from shunter.api.meta import Json

NAME = "jobset.sigs.k8s.io/replicatedjob-name"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"


def job(name: str, of: str = "a", *, attempt: str = "0", spec: Json | None = None, ends: str = "", **status: Any) -> Job:
    labels = {NAME: of, ATTEMPT: attempt}
    conditions = [{"type": ends, "status": "True"}] if ends else []
    parts = {"metadata": {"name": name, "labels": labels}, "spec": {"parallelism": 2, "completions": 2, **(spec or {})}}
    return msgspec.convert({**parts, "status": {**status, "conditions": conditions}}, Job)


def jobset(restarts: int = 0, **replicas: int) -> JobSet:
    jobs = [{"name": name, "replicas": count} for name, count in replicas.items()]
    return msgspec.convert(
        {"metadata": {"name": "x"}, "spec": {"replicatedJobs": jobs}, "status": {"restarts": restarts}}, JobSet
    )
