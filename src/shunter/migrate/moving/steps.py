"""From a plan and its conversions to steps, each one write: pure, and the same every time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion import provenance
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.moving import freeze
from shunter.migrate.moving.marks import ACTION, PLAN, SOURCE, marked, without_queue
from shunter.migrate.moving.plan import Item, Plan
from shunter.operator.causes.queue import queue_name

V1_JOBS: Mapping[str, Resource] = {kind.resource.kind: kind.resource for kind in JOB_KINDS}

SUSPENDED_V1: Json = {"spec": {"runPolicy": {"suspend": True}}}
RUNNING_V2: Json = {"spec": {"suspend": False}}

Verb = Literal["create", "patch", "delete"]
Gate = Literal["", "stopped", "made"]
"""
made      the JobSet of the twin is there, so the operator could make something of it
stopped   the v1 job is suspended, and has no pods any more
"""


class V1Job(NamedTuple):
    """Where a v1 job is."""

    resource: Resource
    namespace: str
    name: str


def v1_job_of(title: str) -> V1Job:
    """The job that is called `PyTorchJob training/bert`."""
    kind, _, place = title.partition(" ")
    namespace, _, name = place.partition("/")
    return V1Job(V1_JOBS[kind], namespace, name)


class Step(NamedTuple):
    """One write. It is carried out only when its gate is open, and only on an object that is as it was expected."""

    id: str
    """`suspend PyTorchJob training/bert`: says it to people, and finds it in the journal again."""
    verb: Verb
    resource: Resource
    namespace: str
    name: str
    body: Json = {}
    """What is created, or the merge patch."""
    sha256: str = ""
    """What the object must be before it is patched or deleted; empty for one that this plan made."""
    uid: str = ""
    """The object that is meant, where another of its name may have taken its place."""
    gate: Gate = ""
    twin: str = ""
    """The name of the TrainJob that a gate is about."""
    shared: bool = False
    """Whether an equal object that somebody else made does as well."""
    job: str = ""
    """The v1 job whose step it is."""

    @property
    def ends_run(self) -> bool:
        """Whether it suspends or deletes a v1 job, whose pods go with their logs."""
        return self.resource in V1_JOBS.values() and self.verb != "create"

    @property
    def title(self) -> str:
        """What people are told: the id without the uid that makes it the step of one object."""
        return step_title(self.id, self.uid)


def step_title(id: str, uid: str) -> str:
    """The id without the uid at its end, if it has one there: what people are told."""
    return id.removesuffix(f" {uid}")


def freeze_steps(plan: Plan) -> Iterator[Step]:
    """Policy and binding, which warns; for `deny` a third step makes it refuse. None where the plan has no freeze."""
    if plan.freeze == "none":
        return
    name = freeze.name(plan.id)
    for resource, body in (
        (freeze.POLICIES, freeze.policy(plan.id)),
        (freeze.BINDINGS, freeze.binding(plan.id, plan.namespaces)),
    ):
        yield Step(f"create {resource.kind} {name}", "create", resource, "", name, body)
    if plan.freeze == "deny":
        yield Step(f"deny new jobs of v1 by {freeze.BINDINGS.kind} {name}", "patch", freeze.BINDINGS, "", name, freeze.DENYING)


def item_steps(plan: Plan, item: Item, conversion: Conversion) -> Iterator[Step]:
    """The steps of a job that is created or moved. A v1 job that runs is not disturbed before the operator has accepted its
    TrainJob. Jobs that share a runtime have one step in common; each makes sure of it."""
    resource, namespace = V1_JOBS[item.kind], item.namespace
    if (runtime := conversion.runtime) is not None:
        name = runtime["metadata"]["name"]
        title = f"create {TRAINING_RUNTIMES.kind} {namespace}/{name}"
        body = marked(runtime, {PLAN: plan.id})
        yield Step(title, "create", TRAINING_RUNTIMES, namespace, name, body, shared=True, job=item.title)
    twin = conversion.train_job["metadata"]["name"]
    made = provenance.of_made(conversion.source, plan.options_of(item))
    body = marked(conversion.train_job, {**made, PLAN: plan.id, SOURCE: item.title, ACTION: item.action})
    if queue_name(body):
        body = without_queue(body)
    yield Step(f"create {TRAIN_JOBS.kind} {namespace}/{twin}", "create", TRAIN_JOBS, namespace, twin, body, job=item.title)
    if item.action != "move":
        return
    yield Step(
        f"suspend {item.title}",
        "patch",
        resource,
        namespace,
        item.name,
        SUSPENDED_V1,
        sha256=item.sha256,
        gate="made",
        twin=twin,
        job=item.title,
    )
    yield Step(
        f"start {TRAIN_JOBS.kind} {namespace}/{twin}",
        "patch",
        TRAIN_JOBS,
        namespace,
        twin,
        RUNNING_V2,
        gate="stopped",
        twin=twin,
        job=item.title,
    )
