"""Gang scheduling: a flag of the v1 operator that no job shows, and the scheduler that results need."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.api.resources import DEPLOYMENTS
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS
from shunter.api.titles import title_of
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault

TOPIC = Topic(
    id="READY009",
    title="gang scheduling works as in v1",
    severity="error",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1's gang scheduler is a flag of its operator (--gang-scheduler-name), invisible in the jobs. In v2 it is set in the "
        "runtime's podGroupPolicy. Without --gang the pods of a gang are scheduled one by one, and two jobs may each hold half "
        "of the GPUs forever."
    ),
    remedy="Plan and convert with --gang volcano, or --gang coscheduling:SCHEDULER_NAME.",
)
_POD_GROUPS = {"volcano": VOLCANO_POD_GROUPS, "coscheduling": COSCHEDULING_POD_GROUPS}
_FLAG = re.compile(r"(?<![\w-])--?gang-scheduler-name[= ](\S+)")
"""Go's flags, those of the v1 operator, begin with one dash as well as with two."""


def applies(facts: Facts) -> bool:
    """Whether there are unfinished v1 jobs."""
    return bool(facts.unfinished)


def faults(facts: Facts) -> Iterator[Fault]:
    """One if the PodGroups of `--gang` are not served; one for each v1 operator that schedules gangs, without `--gang`."""
    chosen = facts.batch.options.gang.partition(":")[0]
    pod_groups = _POD_GROUPS.get(chosen)
    if pod_groups is not None and not facts.serves(pod_groups):
        yield Fault(
            f"--gang is {facts.batch.options.gang}, but the cluster does not serve {pod_groups.api_version}.",
            remedy="Install that scheduler, or choose another.",
        )
    for deployment in () if facts.is_embedded else facts.all(DEPLOYMENTS):
        scheduler = _gang_scheduler(deployment)
        if scheduler and scheduler != "none" and chosen == "none":
            choice = "volcano" if scheduler == "volcano" else f"coscheduling:{scheduler}"
            yield Fault(
                f"it schedules v1 jobs as gangs (--gang-scheduler-name={scheduler}), but results are converted without gangs.",
                title_of(deployment),
                f"Plan and convert with --gang {choice}.",
            )


def _gang_scheduler(deployment: Json) -> str:
    containers = deployment["spec"]["template"]["spec"].get("containers") or ()
    commands = " ".join(" ".join([*(c.get("command") or ()), *(c.get("args") or ())]) for c in containers)
    match = _FLAG.search(commands)
    return match[1] if match else ""
