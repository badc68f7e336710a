"""The steps of a plan, from its jobs and their conversions; each is one write. Pure, and always the same for the same input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES, VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS, Resource
from shunter.api.titles import object_title
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion import provenance
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.moving import freeze
from shunter.migrate.moving.annotations import ACTION, PLAN, SOURCE, marked, without_queue
from shunter.migrate.moving.plan import Item, Plan
from shunter.operator.causes.queue import queue_name

V1_JOBS: Mapping[str, Resource] = {kind.resource.kind: kind.resource for kind in JOB_KINDS}

SUSPENDED_V1: Json = {"spec": {"runPolicy": {"suspend": True}}}
RUNNING_V2: Json = {"spec": {"suspend": False}}

Verb = Literal["create", "patch", "delete"]
Gate = Literal["", "stopped", "made"]
"""
made      the JobSet of the TrainJob exists, so the operator has accepted the TrainJob
stopped   the v1 job is suspended and has no pods left
"""


class ObjectRef(NamedTuple):
    """Identifies an object."""

    resource: Resource
    namespace: str
    name: str


def v1_job_of(title: str) -> ObjectRef:
    """The v1 job with the title `PyTorchJob training/bert`."""
    kind, _, place = title.partition(" ")
    namespace, _, name = place.partition("/")
    return ObjectRef(V1_JOBS[kind], namespace, name)


class Step(NamedTuple):
    """One write. It is executed only when its gate is open and the object is as expected."""

    id: str
    """`suspend PyTorchJob training/bert`: shown to people, and the key of the step in the journal."""
    verb: Verb
    resource: Resource
    namespace: str
    name: str
    body: Json = {}
    """The object to create, or the merge patch."""
    sha256: str = ""
    """The digest that the object must have before it is patched or deleted; empty for an object that this plan created."""
    uid: str = ""
    """The uid that the object must have; empty if any object with the name is meant."""
    gate: Gate = ""
    train_job: str = ""
    """The name of the TrainJob that the gate concerns."""
    shared: bool = False
    """Whether an equal object that others created may be used instead."""
    job: str = ""
    """The title of the v1 job; empty for a step of no job."""

    @property
    def ends_run(self) -> bool:
        """Whether it suspends or deletes a v1 job, and so removes its pods and their logs."""
        return self.resource in V1_JOBS.values() and self.verb != "create"

    @property
    def title(self) -> str:
        """The id as shown to people, without the uid."""
        return step_title(self.id, self.uid)


def step_title(id: str, uid: str) -> str:
    """The id as shown to people: without the uid at its end, if there is one."""
    return id.removesuffix(f" {uid}")


def delete_step(resource: Resource, obj: Json, *, job: str = "") -> Step:
    """Deletes this object, if it has not been changed or replaced until then."""
    metadata = obj["metadata"]
    namespace, name, uid = metadata.get("namespace", ""), metadata["name"], metadata["uid"]
    id = f"delete {object_title(resource.kind, namespace, name)} {uid}"
    return Step(id, "delete", resource, namespace, name, sha256=digest(obj), uid=uid, job=job)


def freeze_steps(plan: Plan) -> Iterator[Step]:
    """Creates the policy and its binding, which warns; with `deny` a third step makes the binding deny. None if the plan has no
    freeze."""
    if plan.freeze == "none":
        return
    name = freeze.name(plan.id)
    for resource, body in (
        (VALIDATING_POLICIES, freeze.policy(plan.id)),
        (VALIDATING_POLICY_BINDINGS, freeze.binding(plan.id, plan.namespaces)),
    ):
        yield Step(f"create {resource.kind} {name}", "create", resource, "", name, body)
    if plan.freeze == "deny":
        yield Step(
            f"deny new jobs of v1 by {VALIDATING_POLICY_BINDINGS.kind} {name}",
            "patch",
            VALIDATING_POLICY_BINDINGS,
            "",
            name,
            freeze.DENYING,
        )


def item_steps(plan: Plan, item: Item, conversion: Conversion) -> Iterator[Step]:
    """The steps of a job that is created or moved. A running v1 job is not suspended before the operator has accepted its
    TrainJob. Jobs that share a runtime each have the step that creates it, with the same id."""
    resource, namespace = V1_JOBS[item.kind], item.namespace
    if (runtime := conversion.runtime) is not None:
        name = runtime["metadata"]["name"]
        title = f"create {TRAINING_RUNTIMES.kind} {namespace}/{name}"
        body = marked(runtime, {PLAN: plan.id})
        yield Step(title, "create", TRAINING_RUNTIMES, namespace, name, body, shared=True, job=item.title)
    train_job = conversion.train_job["metadata"]["name"]
    made = provenance.annotations_of_created(conversion.source, plan.options_of(item))
    body = marked(conversion.train_job, {**made, PLAN: plan.id, SOURCE: item.title, ACTION: item.action})
    if queue_name(body):
        body = without_queue(body)
    yield Step(
        f"create {TRAIN_JOBS.kind} {namespace}/{train_job}", "create", TRAIN_JOBS, namespace, train_job, body, job=item.title
    )
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
        train_job=train_job,
        job=item.title,
    )
    yield Step(
        f"start {TRAIN_JOBS.kind} {namespace}/{train_job}",
        "patch",
        TRAIN_JOBS,
        namespace,
        train_job,
        RUNNING_V2,
        gate="stopped",
        train_job=train_job,
        job=item.title,
    )
