"""Experiments of Katib: expressions over the conditions of its job define when a trial is over.

Katib has defaults of these expressions for v1 jobs, and none for TrainJobs (Katib 0.18, experiment_defaults.go), so the result
states them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from shunter.migrate.conversion.source.embedded import Embedded
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.paths import Path, value_at

KIND = "Experiment"
TRIAL_TEMPLATE: Path = ("spec", "trialTemplate")
CONDITIONS = {
    "successCondition": 'status.conditions.#(type=="Complete")#|#(status=="True")#',
    "failureCondition": 'status.conditions.#(type=="Failed")#|#(status=="True")#',
}
"""The conditions of a TrainJob."""
_TYPE = {name: re.compile(rf"type\s*==\s*[\"']?{type}\b") for name, type in (
    ("successCondition", "Complete"),
    ("failureCondition", "Failed"),
)}  # fmt: skip

UNKNOWN_CONDITION = Topic(
    id="KATIB001",
    title="the end of a trial depends on a field that TrainJobs do not have",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "Katib considers a trial finished when this expression matches the status of its job. The expression tests something "
        "other than v1's condition Succeeded or Failed, and the status of a TrainJob is different: it has conditions (Complete, "
        "Failed, Suspended) and jobsStatus, but no replicaStatuses. The trial might never end."
    ),
    remedy="Test a condition of the TrainJob, such as "
    + CONDITIONS["successCondition"]
    + ", or suppress with --accept KATIB001.",
    effort=3,
    acceptable=True,
)


def in_terms_of_train_jobs(condition: str) -> str:
    """The expression with `Complete`, the condition of a TrainJob, in the place of v1's `Succeeded`."""
    return condition.replace("Succeeded", "Complete")


def findings(embedded: Iterable[Embedded]) -> Iterator[Finding]:
    """One for each expression of a converted trial that tests no condition of a TrainJob."""
    for found in embedded:
        if found.is_text or not is_trial(found):
            continue
        for name, pattern in _TYPE.items():
            path = (*TRIAL_TEMPLATE, name)
            condition = value_at(found.host.value, path)
            if isinstance(condition, str) and condition.strip() and not pattern.search(in_terms_of_train_jobs(condition)):
                message = f"{name} {condition.strip()} tests no condition of a TrainJob."
                yield Finding(UNKNOWN_CONDITION, found.host.title, found.host.place(path), path, message)


def is_trial(found: Embedded) -> bool:
    """Whether it is the trial job of a Katib Experiment."""
    return found.host.kind == KIND and found.path[:-1] == TRIAL_TEMPLATE
