"""Classifies a job by the work that its migration needs: finished, owned, blocked, complex, standard or simple; the first class
whose rule holds.

Each rule is a function: from what is known of a job to the reason why the rule holds for it, empty when it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from shunter.migrate.conversion.batch import Outcome
from shunter.migrate.conversion.rules.profiles import RUNTIME_DECIDES
from shunter.migrate.findings import Finding
from shunter.operator.overview import FINISHED_STATES

JobClass = Literal["finished", "owned", "blocked", "complex", "standard", "simple"]
CLASSES: dict[JobClass, str] = {
    "finished": "has ended: cleanup archives it, nothing starts it again",
    "owned": "created by another tool: the source is converted, not the job",
    "blocked": "no usable result until someone decides or changes it",
    "complex": "a setting changes its meaning in v2: review the result, test it",
    "standard": "keeps its meaning: several pods that train together, volumes, or more settings of pods",
    "simple": "keeps its meaning, and is one pod with standard resources",
}
"""In the order in which they are decided, with what each means."""
WAVES: dict[JobClass, str] = {
    "simple": "no field changes its meaning: a fair trial for everything after it",
    "standard": "these need runtimes of their own",
    "complex": "settings change their meaning: review each result",
    "owned": "other tools create these: change the source, the cluster follows",
    "finished": "nothing is left to run: they are archived",
    "blocked": "these stay on v1 until their findings are resolved",
}
"""Waves in their order, with the reason for each."""
_STANDARD_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_CHANGED = ("lossy", "semantic-change", "manual", "unsupported")


class Subject(NamedTuple):
    """What the rules look at."""

    outcome: Outcome
    state: str
    """Created, Running, Restarting, Suspended, Succeeded or Failed; empty for a manifest."""
    owner: str
    """What owns or manages the job: `Trial team/tune`, `Helm release team/jobs`; empty if nothing does."""
    inside: str
    """The object that a job is embedded in: `CronJob team/nightly`; empty for a job of its own."""

    @property
    def standing(self) -> list[Finding]:
        """The findings that are not suppressed."""
        return [finding for finding in self.outcome.findings if not finding.suppressed]


class Reason(NamedTuple):
    """A rule that holds for the job, and why."""

    rule: str
    why: str


class Rule(NamedTuple):
    """`holds` gives the reason why it holds for a job; empty where it does not."""

    id: str
    job_class: JobClass
    explanation: str
    holds: Callable[[Subject], str]


def _finished(subject: Subject) -> str:
    return f"its state is {subject.state}" if subject.state in FINISHED_STATES else ""


def _owned(subject: Subject) -> str:
    return f"it belongs to {subject.owner}, which would undo or repeat what is changed here" if subject.owner else ""


def _unreadable(subject: Subject) -> str:
    return "" if subject.outcome.conversion else _topics(subject.outcome.findings)


def _blocked(subject: Subject) -> str:
    return _topics([finding for finding in subject.outcome.findings if finding.is_blocking])


def _embedded(subject: Subject) -> str:
    return f"it is embedded in {subject.inside}: what creates and watches it uses v1 as well" if subject.inside else ""


def _suppressed_ids(subject: Subject) -> str:
    return _topics([finding for finding in subject.outcome.findings if finding.suppressed and finding.topic.impact == "blocking"])


def _changed_meaning(subject: Subject) -> str:
    """Notes (severity info) do not count: they tell of defaults and mechanisms, not of what the job does; nor does what a shipped
    runtime decides."""
    return _topics(
        [
            finding
            for finding in subject.standing
            if finding.topic.severity != "info" and finding.topic.change in _CHANGED and finding.topic.id != RUNTIME_DECIDES.id
        ]
    )


def _several_templates(subject: Subject) -> str:
    runtime = subject.outcome.conversion and subject.outcome.conversion.runtime
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"] if runtime else []
    return f"its pods are of {len(jobs)} templates ({', '.join(job['name'] for job in jobs)})" if len(jobs) > 1 else ""


def _one_pod(subject: Subject) -> str:
    """A Master alone, which asks for processors, memory or GPUs, and of whose pod nothing is said beside its container."""
    conversion = subject.outcome.conversion
    if conversion is None or conversion.train_job["spec"]["trainer"].get("numNodes", 1) != 1:
        return ""
    if "runtimePatches" in conversion.train_job["spec"]:
        return ""
    resources = conversion.train_job["spec"]["trainer"].get("resourcesPerNode") or {}
    if conversion.runtime is not None:
        (first, *others) = conversion.runtime["spec"]["template"]["spec"]["replicatedJobs"]
        pod = first["template"]["spec"]["template"]["spec"]
        (container, *more) = pod["containers"]
        if others or more or {*pod} - {"containers", "restartPolicy"}:
            return ""
        resources = resources or container.get("resources") or {}
    asked = {name for amounts in resources.values() if isinstance(amounts, dict) for name in amounts}
    is_standard = all(name in _STANDARD_RESOURCES or name.endswith("/gpu") for name in asked)
    profile = f"profile {conversion.profile}: {conversion.reason}"
    return f"it is one pod with standard resources; {profile}" if is_standard and "claims" not in resources else ""


def _own_runtime(subject: Subject) -> str:
    conversion = subject.outcome.conversion
    is_so = conversion and conversion.profile != "P1" and not _one_pod(subject)
    return f"profile {conversion.profile}: {conversion.reason}" if conversion and is_so else ""


def _shipped_runtime(subject: Subject) -> str:
    conversion = subject.outcome.conversion
    is_so = conversion and conversion.profile == "P1" and not _one_pod(subject)
    return f"profile P1: {conversion.reason}" if conversion and is_so else ""


RULES: tuple[Rule, ...] = (
    Rule(
        "finished", "finished", "The job's state says that it has ended: a TrainJob created from it would train again.", _finished
    ),
    Rule("owned", "owned", "Another object or tool created the job, by its ownerReferences, labels or annotations.", _owned),
    Rule("unreadable", "blocked", "A field has a type that v1's API does not allow.", _unreadable),
    Rule("blocking-finding", "blocked", "A finding blocks and is not suppressed.", _blocked),
    Rule("embedded", "complex", "The job is embedded in another object, which has to change with it.", _embedded),
    Rule("taken-on", "complex", "A blocking finding was suppressed, with a reason or by --accept.", _suppressed_ids),
    Rule(
        "changed-meaning",
        "complex",
        "A warning or an error says that something is lost, or means something else.",
        _changed_meaning,
    ),
    Rule("several-templates", "complex", "Roles differ, so the runtime has a replicated job for each.", _several_templates),
    Rule(
        "own-runtime", "standard", "Several pods, or more settings of one, and a TrainingRuntime of the job's own.", _own_runtime
    ),
    Rule("shipped-runtime", "standard", "Several pods, or more settings of one, on a shipped runtime.", _shipped_runtime),
    Rule("one-pod", "simple", "The job is one pod with processors, memory or GPUs, without volumes and the like.", _one_pod),
)


class Classification(NamedTuple):
    """The class of a job, with the reasons for it and for later classes."""

    job_class: JobClass
    reasons: tuple[Reason, ...]
    """The reasons of all matching rules; the first one decides."""


def classified(subject: Subject) -> Classification:
    """Classifies a job by the first matching rule; there always is one (assert)."""
    matching = [(rule, why) for rule in RULES if (why := rule.holds(subject))]
    assert matching, f"{subject.outcome.source.title} is of no class"
    return Classification(matching[0][0].job_class, tuple(Reason(rule.id, why) for rule, why in matching))


def _topics(findings: list[Finding] | tuple[Finding, ...]) -> str:
    """Each topic once, by id and title."""
    return "; ".join(f"{id}: {title}" for id, title in dict.fromkeys((found.topic.id, found.topic.title) for found in findings))
