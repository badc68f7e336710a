"""Quotas: whether they have room for both generations side by side."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.api.resources import RESOURCE_QUOTAS, TRAIN_JOBS
from shunter.api.titles import title_of
from shunter.errors import InputError
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault
from shunter.migrate.moving.runs.headroom import quota_obstacles
from shunter.migrate.pods.sides import v2_pods

TOPIC = Topic(
    id="READY010",
    title="quotas have room for both generations",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "While a v1 job and its TrainJob exist together, both count. If the v1 jobs use up a quota, the pods of a TrainJob "
        "wait, and only events of a Job report it. Quotas on count/pytorchjobs.kubeflow.org do not limit TrainJobs."
    ),
    remedy="Raise the quota while both exist, or let each v1 job end before its TrainJob starts.",
)
_OBJECTS = f"count/{TRAIN_JOBS.full_name}"


def applies(facts: Facts) -> bool:
    """Whether there are quotas and v1 jobs."""
    return bool(facts.all(RESOURCE_QUOTAS)) and bool(facts.batch.outcomes)


def faults(facts: Facts) -> Iterator[Fault]:
    """Quotas without room for both generations at once, and those that limit v1 jobs but not TrainJobs."""
    for quota in facts.all(RESOURCE_QUOTAS):
        misfits = [*_misfits(facts, quota)]
        if misfits:
            others = f", and {len(misfits) - 1} more do not fit" if len(misfits) > 1 else ""
            first = misfits[0].removeprefix(f"{quota['kind']} {quota['metadata']['name']} ")
            yield Fault(f"it {first}{others}.", title_of(quota))
        hard = (quota.get("spec") or {}).get("hard") or {}
        v1 = [name for name in hard if name.startswith("count/") and name.endswith("jobs.kubeflow.org")]
        if v1 and _OBJECTS not in hard:
            yield Fault(
                f"it limits {', '.join(sorted(v1))}, but not TrainJobs.", title_of(quota), f"Add {_OBJECTS} to the quota."
            )


def _misfits(facts: Facts, quota: Json) -> Iterator[str]:
    """The resources of which the quota leaves too little for the TrainJob of an unfinished job, each by itself."""
    for outcome in facts.unfinished:
        source, conversion = outcome.source, outcome.conversion
        if conversion is None or source.namespace != quota["metadata"]["namespace"]:
            continue
        try:
            pods = [replica.pod for replica in v2_pods(conversion.train_job, conversion.runtime)]
        except InputError:
            continue  # the conversion has findings about it
        yield from quota_obstacles([quota], pods, asker=f"the TrainJob of {source.title}")
