"""A job of the cluster once more, under a free name: the same program and options, or the same spec.

What has been trained is never trained on under its own name: checkpoints are found by it. So names that the job's own number
follows (`train` of `train-2`) are not used again, even where no job has them any more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection

from shunter.api import ownership
from shunter.api.meta import Json, annotations_of
from shunter.api.resources import TRAIN_JOBS, Resource
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists
from shunter.launch.marks import PROGRAM
from shunter.launch.names import earlier_names, free_name, unnumbered
from shunter.launch.submitting import job_names, resubmit, silent, write
from shunter.operator.native_jobs import is_native
from shunter.operator.overview import is_v2, run_policy

_TOOL_MARKS = (
    ownership.ARGO_TRACKING,
    ownership.ARGO_INSTANCE,
    ownership.FLUX_KUSTOMIZATION,
    ownership.FLUX_HELM_RELEASE,
    ownership.HELM_RELEASE,
    ownership.HELM_NAMESPACE,
    "app.kubernetes.io/managed-by",
)
"""A tool takes an object with its marks for its own, and would remove a copy."""
_OF_THE_OBJECT = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "kueue.x-k8s.io/prebuilt-workload-name",
    "migrate.shunter.dev/",
    "shunter.dev/",
)
"""How labels and annotations begin that say something of one object alone."""
_OF_THE_JOB_CONTROLLER = ("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name")
"""Labels by which Kubernetes' Job controller knows the pods of a Job."""
_KUEUE_MANAGER = "kueue.x-k8s.io/"


async def rerun(
    client: Client,
    resource: Resource,
    job: Json,
    *,
    name: str = "",
    taken: Collection[str] = (),
    tell: Callable[[str], None] = silent,
) -> Json:
    """The job that was made, under `name` or else a free one: NAME-2, NAME-3, ... Raises InputError for a given name that is
    taken, when the code of a program is no longer in the cluster, and for whatever the server refuses."""
    metadata = job["metadata"]
    namespace, used = metadata["namespace"], {*taken, *earlier_names(metadata["name"])}
    if resource == TRAIN_JOBS and PROGRAM in annotations_of(job):
        return (await resubmit(client, job, name=name, taken=used, tell=tell)).job
    used |= await job_names(client, namespace)
    while True:
        chosen = name or free_name(unnumbered(metadata["name"]), used)
        try:
            return await write(client, resource, copied_job(job, chosen), tell)
        except AlreadyExists:
            if name:
                title = f"{resource.kind} {namespace}/{name}"
                raise InputError(f"--name {name}: {title} exists.", "Use another name, or none (one is chosen then).") from None
            used.add(chosen)


def copied_job(job: Json, name: str) -> Json:
    """A job of this name with the spec of another of any kind, without what belongs to that one alone: marks of tools that look
    after it, what controllers have added, suspension. Labels of its users stay, among them its queue."""
    metadata = job["metadata"]
    fresh: Json = {"name": name, "namespace": metadata["namespace"]}
    for field in ("labels", "annotations"):
        if kept := {key: value for key, value in (metadata.get(field) or {}).items() if _is_users(key)}:
            fresh[field] = kept
    spec: Json = copy.deepcopy(job["spec"])
    run_policy({**job, "spec": spec}).pop("suspend", None)
    if is_v2(job) and spec.get("runtimePatches"):
        spec["runtimePatches"] = [
            {field: value for field, value in patch.items() if field != "time"}
            for patch in spec["runtimePatches"]
            if not patch["manager"].startswith(_KUEUE_MANAGER)
        ]
    if is_native(job) and not spec.get("manualSelector"):
        spec.pop("selector", None)
        template = spec["template"].get("metadata") or {}
        if labels := template.get("labels"):
            template["labels"] = {key: value for key, value in labels.items() if key not in _OF_THE_JOB_CONTROLLER}
    return {"apiVersion": job["apiVersion"], "kind": job["kind"], "metadata": fresh, "spec": spec}


def _is_users(key: str) -> bool:
    return key not in (*_TOOL_MARKS, *_OF_THE_JOB_CONTROLLER) and not key.startswith(_OF_THE_OBJECT)
