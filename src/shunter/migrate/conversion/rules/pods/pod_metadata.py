"""Labels and annotations of the pods. What v1's operator or Kueue write there is left out; v1's labels are kept on request."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shunter.api.batch import JOB_LABELS
from shunter.api.meta import Json
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.rules.pods.placement import kept_labels
from shunter.migrate.conversion.rules.pods.written_metadata import BY_KUEUE, by_kueue, by_v1
from shunter.migrate.findings import Topic
from shunter.operator.training.names import REPLICA_TYPE, replica_type_labels

_KUEUE_GATES = ("kueue.x-k8s.io/topology", "kueue.x-k8s.io/admission")
_ISTIO_INJECTION = "sidecar.istio.io/inject"

SIDECARS = Topic(
    id="POD009",
    title="the job ends when all containers of its pods have ended",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="Q",
    explanation=(
        "A pod is finished when all its containers have ended, in v1 and in v2. A sidecar that never exits keeps the job "
        "running after the training. v1 may have ended such a job by the exit code of the training container alone; v2 does not."
    ),
    remedy="Make the sidecar an init container with restartPolicy Always: Kubernetes stops it with the pod.",
)
MESH = Topic(
    id="POD010",
    title="a service mesh may add its proxy to the pods",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="Q",
    explanation=(
        "In v2 nodes reach each other under names of a headless service. An Istio proxy with strict mTLS breaks this, and "
        "prevents pods from ending. The v1 SDK disabled injection in every template; this template enables it."
    ),
    remedy=f'Set the annotation {_ISTIO_INJECTION}: "false" on the pods unless the mesh is needed.',
)
FINALIZERS = Topic(
    id="POD012",
    title="finalizers of pods are kept",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The controller that removes these finalizers selects v1 pods. If it does not select v2 pods, which "
        "have other labels, its pods "
        "can never be deleted, and neither can their Job."
    ),
    remedy="Find out which controller removes them, and whether it selects pods of Jobs.",
    effort=3,
)
OF_KUEUE = Topic(
    id="POD013",
    title="changes by Kueue in the pod templates are dropped",
    severity="info",
    change="lossless",
    grade="Q",
    explanation=(
        "When Kueue admits a job, it adds labels, an annotation with its workload and scheduling gates to the pod templates. It "
        "does the same for the TrainJob; the values written for the v1 job would refer to a workload that no longer exists, and "
        "the gates would never be removed."
    ),
    remedy="No action needed.",
    effort=0,
    explains=("labels.kueue.x-k8s.io/*", "annotations.kueue.x-k8s.io/*", "spec.schedulingGates*"),
)
OF_SEVERAL_ROLES = Topic(
    id="POD015",
    title="the role label is dropped if one group replaces several roles",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "--v1-labels sets training.kubeflow.org/* labels on pods. All pods of a group share one template, so the role label "
        "cannot distinguish Master and Worker."
    ),
    remedy="Select by job-name, and by batch.kubernetes.io/job-completion-index: the Master has index 0.",
    effort=0,
)
OF_JOBS = Topic(
    id="POD020",
    title="a label that Jobs set themselves is dropped",
    severity="warning",
    change="lossy",
    grade="L",
    explanation=(
        "v2 pods belong to Jobs. The Job controller labels them with the Job's name and uid (job-name and controller-uid, among "
        "others), and the API server rejects a Job whose template sets other values: the TrainJob would never start."
    ),
    remedy="Set a label with a name of your own on the pods, and select that.",
    explains=tuple(f"labels.{key}" for key in JOB_LABELS),
)


def apply(draft: Draft) -> None:
    """Leaves out what v1, Kueue and Jobs write there, and scheduling gates of Kueue. Finalizers stay, and are reported; so are
    sidecars."""
    for group in draft.groups:
        metadata = group.pod.get("metadata") or {}
        _leave_to_jobs(draft, group, metadata)
        written_by_kueue = [f"{field} {key}" for field in BY_KUEUE for key in by_kueue(metadata, field)]
        for field in BY_KUEUE:
            _leave_out(draft, group, metadata, field, partial(by_kueue, field=field), "Kueue writes it")
        _leave_out(draft, group, metadata, "labels", by_v1, "v1 writes it, whatever the template says")
        if draft.options.v1_labels:
            labels = replica_type_labels(draft.job, group.roles[0])
            if REPLICA_TYPE not in kept_labels(draft):
                del labels[REPLICA_TYPE]
                draft.report(OF_SEVERAL_ROLES, draft.template_paths(group)[0], f"Pods of {group.name} have no {REPLICA_TYPE}.")
            group.pod["metadata"] = {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}
        elif not metadata:
            group.pod.pop("metadata", None)
        if metadata.get("finalizers"):
            path = (*draft.template_paths(group)[0], "metadata", "finalizers")
            draft.report(FINALIZERS, path, f"Pods of {group.name} have the finalizers {', '.join(metadata['finalizers'])}.")
        written_by_kueue += _open_gates(draft, group)
        if written_by_kueue:
            draft.report(OF_KUEUE, draft.template_paths(group)[0], f"Left out of {group.name}: {', '.join(written_by_kueue)}.")
        _look_at_sidecars(draft, group)


def _leave_out(draft: Draft, group: Group, metadata: Json, field: str, written: Callable[[Json], list[str]], why: str) -> None:
    for key in written(metadata):
        del metadata[field][key]
        if not metadata[field]:
            del metadata[field]
    # A role may have what the first one does not.
    for template in draft.template_paths(group):
        given = draft.given((*template, "metadata"))
        for key in written(given) if isinstance(given, dict) else ():
            draft.default((*template, "metadata", field, key), why)


def _leave_to_jobs(draft: Draft, group: Group, metadata: Json) -> None:
    """Drops the labels of which the Job controller decides the value."""
    for key in [key for key in metadata.get("labels") or {} if key in JOB_LABELS]:
        value = metadata["labels"].pop(key)
        for template in draft.template_paths(group):
            path = (*template, "metadata", "labels", key)
            draft.report_if_given(OF_JOBS, path, f"Pods have {key}={value} in v1; in v2 the Job controller sets {key}.")


def _open_gates(draft: Draft, group: Group) -> list[str]:
    """Gates that Kueue closed would never be opened by it again; they stand in live jobs only. Returns what was left out."""
    spec = group.pod["spec"]
    gates = spec.get("schedulingGates") or []
    kept = [(index, gate) for index, gate in enumerate(gates) if gate.get("name") not in _KUEUE_GATES]
    if len(kept) == len(gates):
        return []
    spec["schedulingGates"] = [gate for _, gate in kept]
    places = {old: new for new, (old, _) in enumerate(kept)}
    for template in draft.template_paths(group):
        for index in range(len(gates)):
            path = (*template, "spec", "schedulingGates", index)
            if index in places:
                target = (*draft.pod_template_path(group), "spec", "schedulingGates", places[index])
                draft.carry(path, "TrainingRuntime", target)
            else:
                draft.default(path, "Kueue closes its gates itself")
    return [f"gate {gate['name']}" for index, gate in enumerate(gates) if index not in places]


def _look_at_sidecars(draft: Draft, group: Group) -> None:
    template = draft.template_paths(group)[0]
    names = [str(container.get("name", "")) for container in group.pod["spec"]["containers"]]
    if len(names) > 1:
        others = [name for index, name in enumerate(names) if index != draft.container_index(group.roles[0])]
        path = (*template, "spec", "containers", names.index(others[0]))
        draft.report(SIDECARS, path, f"Pods of {group.name} end when {', '.join(others)} has ended as well.")
    for field in ("annotations", "labels"):
        if ((group.pod.get("metadata") or {}).get(field) or {}).get(_ISTIO_INJECTION) == "true":
            draft.report(
                MESH, (*template, "metadata", field, _ISTIO_INJECTION), f"Pods of {group.name} request a proxy of the mesh."
            )
