"""The copy of a job that is run again: its spec, and nothing that belongs to the first alone. Pure."""

from __future__ import annotations

import copy
from collections.abc import Collection

from shunter.api.batch import JOB_LABELS
from shunter.api.meta import LAST_APPLIED, Json, annotations_of
from shunter.api.ownership import MARKS
from shunter.api.trainer.trainjob import MANAGED_BY_US
from shunter.launch.annotations import PROGRAM, RERUN_OF
from shunter.launch.names import first_name
from shunter.operator.native_jobs import is_native
from shunter.operator.overview import is_v2, run_policy

_TOOL_MARKS = (*MARKS["labels"], *MARKS["annotations"], "app.kubernetes.io/managed-by")
"""A tool takes an object with its marks for its own, and would remove a copy."""
_OF_THE_OBJECT = (
    LAST_APPLIED,
    "kueue.x-k8s.io/prebuilt-workload-name",
    "migrate.shunter.dev/",
    "shunter.dev/",
)
"""How labels and annotations begin that say something of one object alone."""
_KUEUE_MANAGER = "kueue.x-k8s.io/"


def copied_job(job: Json, name: str, marks: Collection[str] = ()) -> Json:
    """A job of this name with the spec of another of any kind, without what belongs to that one alone: marks of tools that look
    after it, what controllers have added, suspension. Labels and annotations of its users stay, among them its queue, and of
    ours those in `marks`; an annotation names the first of the jobs that were run again."""
    metadata = job["metadata"]
    fresh: Json = {"name": name, "namespace": metadata["namespace"]}
    for field in ("labels", "annotations"):
        if kept := {key: value for key, value in (metadata.get(field) or {}).items() if key in marks or _is_users(key)}:
            fresh[field] = kept
    fresh["annotations"] = {**fresh.get("annotations", {}), RERUN_OF: name_of_first(job)}
    spec: Json = copy.deepcopy(job["spec"])
    run_policy({**job, "spec": spec}).pop("suspend", None)
    if is_v2(job) and spec.get("managedBy") == MANAGED_BY_US:  # The API server's default.
        del spec["managedBy"]
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
            template["labels"] = {key: value for key, value in labels.items() if key not in JOB_LABELS}
    return {"apiVersion": job["apiVersion"], "kind": job["kind"], "metadata": fresh, "spec": spec}


def name_of_first(job: Json) -> str:
    """The name that reruns of the job number."""
    annotations = annotations_of(job)
    return first_name(job["metadata"]["name"], program=annotations.get(PROGRAM, ""), rerun_of=annotations.get(RERUN_OF, ""))


def _is_users(key: str) -> bool:
    return key not in (*_TOOL_MARKS, *JOB_LABELS) and not key.startswith(_OF_THE_OBJECT)
