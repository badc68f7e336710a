"""A TrainJob's runtimePatches, merged into the template of its runtime.

Which lists of a JobSetSpec a patch merges, and by which key, say the struct tags of Go's JobSet and Kubernetes types;
`api.strategic_merge` does the merging. tests/operator/trainer/test_runtime_patches.py holds the tables to Kubernetes' schemas.
"""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.meta import Json
from shunter.api.strategic_merge import Field, MergeError, strategic_merge
from shunter.api.trainer.trainjob import RuntimePatch
from shunter.operator.trainer.go_encoding import without_empty
from shunter.operator.trainer.model import BuildError

MERGE_KEYS = {
    "containers": "name",
    "dependsOn": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "finalizers": "",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "ports": "containerPort",
    "replicatedJobs": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""Lists that merge, by field name, and the key of their items; empty for lists of strings."""


def merged_template(template: Json, patches: Iterable[RuntimePatch]) -> Json:
    """The runtime's template with the patches merged in their order: a later one wins. Of a patch's metadata only labels
    and annotations count."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    for patch in patches:
        patched = patch.training_runtime_spec.get("template") or {}
        added = patched.get("metadata") or {}
        labels = {**labels, **(added.get("labels") or {})}
        annotations = {**annotations, **(added.get("annotations") or {})}
        spec = merged_spec(spec, patched.get("spec") or {})
    return {**template, "metadata": {**metadata, "labels": labels, "annotations": annotations}, "spec": spec}


def merged_spec(jobset_spec: Json, patch: Json) -> Json:
    """A patch merged in; replicated jobs keep the runtime's order, unknown ones come first."""
    merged = merged_jobset_spec(jobset_spec, patch)
    places = {job.get("name"): place for place, job in enumerate(jobset_spec.get("replicatedJobs") or [])}
    if merged.get("replicatedJobs"):
        merged["replicatedJobs"] = sorted(merged["replicatedJobs"], key=lambda job: places.get(job.get("name"), 0))
    return merged


def merged_jobset_spec(original: Json, patch: Json) -> Json:
    """The original with the patch merged in; neither is changed. Empty values of the patch count as absent, as in Go's encoding.
    Raises BuildError for lists whose items cannot be distinguished."""
    try:
        return strategic_merge(original, without_empty(patch), _KIND)
    except MergeError as error:
        raise BuildError(f"a runtime patch cannot be merged: {error}") from None
    except RecursionError:
        raise BuildError("a runtime patch cannot be merged: it is nested too deeply") from None


class _Kind:
    """Every object of a JobSetSpec: a field of one name is patched the same way wherever it stands."""

    name = "JobSetSpec"

    def field(self, name: str, *, is_list: bool) -> Field:
        return Field("merge" if is_list and name in MERGE_KEYS else "", MERGE_KEYS.get(name, ""), self)


_KIND = _Kind()
