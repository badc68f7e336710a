"""The admission webhooks of trainer.kubeflow.org, under upstream's paths and names.

A runtime is looked up in the cache, and at the server when it is not there: it may have been created a moment ago. Updates
of a job are judged by its snapshot, where it has one, and refused for what they make worse only: a job whose runtime is gone, or
that another operator's webhooks let through, can still be changed, suspended and deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from shunter.api.field_errors import FieldError, aggregate, new_errors
from shunter.api.meta import Json, MetadataOnly, ObjectMeta, rfc3339
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, PRIORITY_CLASSES, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.api.shapes import ShapeError, shaped, shaped_if_possible
from shunter.api.trainer import runtime_validation, validation
from shunter.api.trainer.runtime import TrainingRuntime
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.cache.store import Store
from shunter.kube.client import Client
from shunter.kube.controllers.plan import Key
from shunter.kube.errors import NotFound
from shunter.kube.served_fields import is_field_served
from shunter.kube.webhooks.registration import Configuration, Webhook
from shunter.kube.webhooks.server import (
    AdmissionRequest,
    AdmissionResponse,
    Handler,
    allowed,
    changes_nothing_judged,
    denied,
    mutated,
)
from shunter.operator.trainer.go_types import go_decode_error
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.reconciler import RuntimeStores, present_runtime
from shunter.operator.trainer.render import Facts, foreign_fields, priority_classes, trainjob_errors, trainjob_warnings
from shunter.operator.trainer.runtime_spec import runtime_spec
from shunter.operator.trainer.snapshot import KINDS, runtime_in, snapshot_name
from shunter.operator.trainer.views import ConfigMap, LiveJobSet, Runtime
from shunter.operator.webhook_names import TRAINER_DEFAULTER, TRAINER_VALIDATOR

DEFAULTER_PATH = "/mutate-trainer-kubeflow-org-v1alpha1-trainjob"
VALIDATED = (CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES, TRAIN_JOBS)
UNCHECKED_RUNTIMES: Json = {
    "matchExpressions": [{"key": "trainer.kubeflow.org/webhook-validation", "operator": "NotIn", "values": ["disabled"]}]
}
"""The webhook is not called for runtimes with this label, such as the shipped ones."""


def validator_path(resource: Resource) -> str:
    """`/validate-trainer-kubeflow-org-v1alpha1-trainjob`, upstream's path."""
    return f"/validate-trainer-kubeflow-org-v1alpha1-{resource.kind.lower()}"


def configurations() -> list[Configuration]:
    """What is to be registered with the API server."""
    validators = [
        Webhook(
            name=f"validator.{resource.kind.lower()}.trainer.kubeflow.org",
            path=validator_path(resource),
            resource=resource,
            object_selector=None if resource == TRAIN_JOBS else UNCHECKED_RUNTIMES,
        )
        for resource in VALIDATED
    ]
    defaulter = Webhook(name="defaulter.trainjob.trainer.kubeflow.org", path=DEFAULTER_PATH, resource=TRAIN_JOBS)
    return [
        Configuration("mutating", TRAINER_DEFAULTER, [defaulter]),
        Configuration("validating", TRAINER_VALIDATOR, validators),
    ]


class TrainerAdmission:
    """The functions behind the webhooks; `client` reads what the caches do not have yet."""

    def __init__(
        self,
        client: Client,
        runtimes: RuntimeStores,
        config_maps: Store[ConfigMap],
        jobsets: Store[LiveJobSet],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._runtimes = runtimes
        self._config_maps = config_maps
        self._jobsets = jobsets
        self._now = now

    def routes(self) -> Mapping[str, Handler]:
        """The functions by path: what sets the defaults of TrainJobs, and what judges each kind in `VALIDATED`."""
        return {
            DEFAULTER_PATH: self.default,
            validator_path(TRAIN_JOBS): self.validate,
            validator_path(TRAINING_RUNTIMES): validate_runtime,
            validator_path(CLUSTER_TRAINING_RUNTIMES): validate_cluster_runtime,
        }

    def default(self, request: AdmissionRequest) -> AdmissionResponse:
        """Stamps the time on patches that are new or changed."""
        if changes_nothing_judged(request):
            return allowed()
        job = request.object or {}
        unreadable = go_decode_error(job)
        if unreadable:
            return denied(f"{unreadable}{_remedy(job)}", code=400)
        old = None if go_decode_error(request.old_object) else request.old_object
        return mutated(job, with_patch_times(job, old, self._now()))

    async def validate(self, request: AdmissionRequest) -> AdmissionResponse:
        """Whether a TrainJob may be stored, with warnings of its runtime. Of an update only what it makes worse is refused; where
        its runtime is gone, only changes of patches are judged. Code 400 for an object that cannot be read."""
        if changes_nothing_judged(request):
            return allowed(warnings=self._warnings_of_stored(request))
        try:
            job = shaped(request.object, TrainJob)
        except ShapeError as error:
            return denied(f"TrainJob cannot be read: {error}", code=400)
        old = shaped_if_possible(request.old_object, TrainJob)
        if old is None:
            return await self._judged_new(job)
        faults = validation.patch_change_errors(job, old, self._active_jobs(job))
        reference = job.spec.runtime_ref
        resource = KINDS.get((reference.kind, reference.api_group))
        runtime = await self._runtime(job, resource, is_new=False) if resource else None
        if runtime is None:
            # It met none before either. Whatever is to happen to the job, e.g. that it is suspended, must not wait for one.
            return _verdict(faults, [])
        try:
            faults = [*trainjob_errors(job, runtime, await self._facts(job, runtime), old), *faults]
        except BuildError as error:
            if _build_error(old, runtime) != str(error):
                return denied(str(error), warnings=_warnings(runtime))
        return _verdict(faults, _warnings(runtime))

    async def _judged_new(self, job: TrainJob) -> AdmissionResponse:
        reference = job.spec.runtime_ref
        if unsupported := validation.unsupported_runtime(reference):
            return denied(unsupported)
        runtime = await self._runtime(job, KINDS[reference.kind, reference.api_group], is_new=True)
        if runtime is None:
            answer = f'{reference.kind}.{reference.api_group} "{reference.name}" not found'
            missing_runtime = validation.missing_runtime_error(reference, answer)
            return _verdict([missing_runtime, *validation.patch_errors(job, job.spec.runtime_patches)], [])
        try:
            facts = await self._facts(job, runtime)
            warnings = [*_warnings(runtime), *trainjob_warnings(job, runtime, facts)]
            return _verdict(trainjob_errors(job, runtime, facts), warnings)
        except BuildError as error:
            return denied(str(error), warnings=_warnings(runtime))

    def _warnings_of_stored(self, request: AdmissionRequest) -> list[str]:
        job = shaped_if_possible(request.object, TrainJob)
        runtime = present_runtime(job, self._runtimes) if job else None
        return _warnings(runtime) if runtime else []

    async def _runtime(self, job: TrainJob, resource: Resource, *, is_new: bool) -> Json | None:
        """The job's snapshot of the runtime if it may have one, else the present runtime."""
        snapshot = None if is_new else self._config_maps.get(Key(job.metadata.namespace, snapshot_name(job.metadata.name)))
        if snapshot is not None:
            with suppress(BuildError):
                return runtime_in(job, snapshot)
        name = job.spec.runtime_ref.name
        namespace = job.metadata.namespace if resource.namespaced else ""
        if (cached := present_runtime(job, self._runtimes)) is not None:
            return cached
        try:
            return (await self._client.get(resource, name, namespace, view=Runtime)).json(resource)
        except NotFound:
            return None

    async def _facts(self, job: TrainJob, runtime: Json) -> Facts:
        """What the cluster has of what the job needs. Raises BuildError."""
        missing_fields = [
            field for field in foreign_fields(runtime) if await is_field_served(self._client, field.resource, field.path) is False
        ]
        return Facts(await self._missing_priority_classes(priority_classes(job, runtime)), missing_fields)

    async def _missing_priority_classes(self, names: Iterable[str]) -> dict[str, str]:
        """The PriorityClasses that the server does not have, with its message."""
        missing = {}
        for name in dict.fromkeys(names):
            try:
                await self._client.get(PRIORITY_CLASSES, name, view=MetadataOnly)
            except NotFound:
                missing[name] = f'{PRIORITY_CLASSES.kind}.{PRIORITY_CLASSES.group} "{name}" not found'
        return missing

    def _active_jobs(self, job: TrainJob) -> list[str]:
        jobset = self._jobsets.get(Key(job.metadata.namespace, job.metadata.name))
        statuses = jobset.status.replicated_jobs_status if jobset is not None else ()
        return [status.name for status in statuses if status.active > 0]


def _remedy(job: Json) -> str:
    """What to write in place of the words that numProcPerNode took in releases before Trainer 2.2."""
    trainer = spec.get("trainer") if isinstance(spec := job.get("spec"), dict) else None
    processes = trainer.get("numProcPerNode") if isinstance(trainer, dict) else None
    if not isinstance(processes, str):
        return ""
    if processes.isdecimal():
        return f"; write {processes} without quotes"
    return "; numProcPerNode is a number: leave it out for auto, which is a process for each GPU, else for each CPU"


def _verdict(faults: list[FieldError], warnings: list[str]) -> AdmissionResponse:
    return denied(aggregate(faults), warnings=warnings) if faults else allowed(warnings=warnings)


def _warnings(runtime: Json) -> list[str]:
    """Warnings about the job's runtime, which may be an edited snapshot."""
    metadata = shaped_if_possible(runtime.get("metadata"), ObjectMeta)
    is_shared = runtime.get("kind") == CLUSTER_TRAINING_RUNTIMES.kind
    return runtime_validation.reference_warnings(metadata) if metadata and is_shared else []


def _build_error(job: TrainJob, runtime: Json) -> str:
    """Why a job of this runtime cannot be built; empty when it can."""
    try:
        priority_classes(job, runtime)
    except BuildError as error:
        return str(error)
    return ""


def validate_runtime(request: AdmissionRequest) -> AdmissionResponse:
    """Only on creation, as upstream."""
    if request.operation != "CREATE":
        return allowed()
    return _judged_runtime(request, lambda runtime: ([], runtime_validation.errors(runtime)))


def validate_cluster_runtime(request: AdmissionRequest) -> AdmissionResponse:
    """Warns of a deprecated runtime on creation. Updates are validated too, unlike those of a TrainingRuntime, and refused only
    for new faults."""

    def check(runtime: TrainingRuntime) -> tuple[list[str], list[FieldError]]:
        is_new = request.operation == "CREATE"
        warnings = runtime_validation.creation_warnings(runtime.metadata) if is_new else []
        return warnings, runtime_validation.errors(runtime)

    return _judged_runtime(request, check)


def _judged_runtime(
    request: AdmissionRequest, check: Callable[[TrainingRuntime], tuple[list[str], list[FieldError]]]
) -> AdmissionResponse:
    if changes_nothing_judged(request):
        return allowed()
    try:
        runtime = shaped(request.object, TrainingRuntime)
        runtime_spec(request.object or {})
    except (ShapeError, BuildError) as error:
        return denied(f"{request.kind.kind} cannot be read: {error}", code=400)
    warnings, faults = check(runtime)
    if request.old_object is not None:
        faults = new_errors(faults, _faults(request.old_object, check))
    return _verdict(faults, warnings)


def _faults(obj: Json, check: Callable[[TrainingRuntime], tuple[list[str], list[FieldError]]]) -> list[FieldError]:
    """What a runtime as it is stored would be refused for; nothing for one that cannot be read."""
    try:
        runtime_spec(obj)
        return check(shaped(obj, TrainingRuntime))[1]
    except (ShapeError, BuildError):
        return []


def with_patch_times(job: Json, old: Json | None, now: datetime) -> Json:
    """The job with a time on each runtimePatch: a new one keeps its own, an unchanged one its old, a changed one gets `now`."""
    patches = _patches(job)
    if not patches:
        return job
    before = {patch.get("manager"): patch for patch in _patches(old or {})}
    stamped = [_stamped(patch, before.get(patch.get("manager")), rfc3339(now)) for patch in patches]
    return {**job, "spec": {**job["spec"], "runtimePatches": stamped}}


def _patches(job: Json) -> list[Json]:
    """The patches of a job that `go_decode_error` let through; a null among them is an empty one, as Go reads it."""
    return [patch or {} for patch in (job.get("spec") or {}).get("runtimePatches") or []]


def _stamped(patch: Json, before: Json | None, now: str) -> Json:
    if before is None:
        return patch if patch.get("time") else {**patch, "time": now}
    if _untimed(patch) == _untimed(before):
        return {**patch, "time": before["time"]} if before.get("time") else _untimed(patch)
    return {**patch, "time": now}


def _untimed(patch: Json) -> Json:
    return {field: value for field, value in patch.items() if field != "time"}
