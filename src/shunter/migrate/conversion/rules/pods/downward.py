"""What containers get of their own pod (downward API): labels of v1 are not there any more, names are others."""

from __future__ import annotations

from shunter.api.batch import COMPLETION_INDEX
from shunter.api.jobset import JOBSET_NAME, REPLICATED_JOB
from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.rules.pods.placement import kept_labels
from shunter.migrate.findings import Topic
from shunter.migrate.paths import mappings
from shunter.operator.training.names import JOB_NAME, REPLICA_INDEX, REPLICA_TYPE
from shunter.operator.training.names import PREFIX as V1_PREFIX

_KEYED = late_pattern(r"metadata\.(labels|annotations)\['([^']*)'\]")
_COMPLETION_INDEX = f"metadata.annotations['{COMPLETION_INDEX}']"
_JOB_INDEX = "metadata.labels['jobset.sigs.k8s.io/job-index']"

READ_ELSEWHERE = Topic(
    id="POD005",
    title="a value of the downward API is read from a different label",
    severity="warning",
    change="semantic-change",
    grade="Q",
    explanation=(
        "The labels of v1 (training.kubeflow.org/job-name, replica-index) do not exist in v2. The reference now reads the "
        "values with the same meaning: the JobSet's name, and the index of the pod in its Job."
    ),
    remedy="Nothing if the meaning is the same; the message shows where it is not.",
    effort=0,
    limits_proof=True,
)
COUNTS_ALL = Topic(
    id="POD016",
    title="the index of a container counts different pods in v2",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "The v1 label replica-index counts the pods of one role, so the Master and the first Worker are both 0. In v2 these "
        "roles are one group with one index over all pods, so each Worker gets a different number than in v1. A program that "
        "uses it as a rank or a shard reads other data, or waits for a pod that does not exist; one that adds 1 for the Master "
        "counts it twice."
    ),
    remedy="Change the program to an index that includes the Master, or use RANK; then suppress with --accept POD016.",
    effort=3,
    acceptable=True,
    limits_proof=True,
)
NOT_KNOWN = Topic(
    id="POD006",
    title="a container reads a label that pods of v2 do not have",
    severity="error",
    change="manual",
    grade="L",
    explanation="The variable or file would be empty in v2: no v2 label has the same meaning.",
    remedy="Pass the value to the program by an argument or a variable of its own; or suppress with --accept POD006.",
    effort=3,
    acceptable=True,
)
POD_NAME = Topic(
    id="POD007",
    title="a container reads its pod name, which ends in random characters in v2",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "A v1 pod is named JOB-worker-3, and programs extract their index from the name. In v2 it is named JOB-node-0-4-x7k2p: "
        "the rank is followed by random characters, and counts the Master as 0."
    ),
    remedy="Read the rank from RANK or JOB_COMPLETION_INDEX instead of the pod's name.",
    limits_proof=True,
)
ALL_LABELS = Topic(
    id="POD019",
    title="a container reads all labels or annotations of its pod",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v1 the variable or file contains training.kubeflow.org/job-name, replica-type and replica-index; in v2 it contains "
        "labels of JobSet and Job instead. A program that reads its role or index from it finds nothing, or a different number. "
        "In v2 the annotations include those of JobSet and Job, for example batch.kubernetes.io/job-completion-index."
    ),
    remedy="Read the rank from RANK or JOB_COMPLETION_INDEX; --v1-labels also adds the v1 labels to pods.",
    explains=("none",),
    limits_proof=True,
)
OWN_DIRECTORY = Topic(
    id="POD018",
    title="a directory of a volume is named after the pod",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "In v1 a pod keeps its name after a restart, JOB-worker-0, and finds its directory again. In v2 the name ends in random "
        "characters that change with each restart: the pod gets an empty directory, and a program that resumes from its last "
        "checkpoint starts from scratch."
    ),
    remedy=(
        "Use $(JOB_COMPLETION_INDEX), which v2 sets, in subPathExpr and rename the directories; then suppress with --accept "
        "POD018."
    ),
    effort=3,
    acceptable=True,
    explains=("none",),
    limits_proof=True,
)
_WHOLE_LABELS, _WHOLE_ANNOTATIONS = "metadata.labels", "metadata.annotations"


def apply(draft: Draft) -> None:
    """Puts v2's counterpart in the place of each label of v1 that is read, and reports it; also what has no counterpart."""
    for group in draft.groups:
        _look_at_directories(draft, group)
        for path, reference in mappings(group.pod["spec"], ("spec",)):
            if path[-1] != "fieldRef":
                continue
            field = str(reference.get("fieldPath") or "")
            place = (*draft.template_paths(group)[0], *path, "fieldPath")
            if field == "metadata.name":
                draft.report(POD_NAME, place, "The pod's name is read here.")
            if field == _WHOLE_LABELS and not draft.options.v1_labels:
                draft.report(ALL_LABELS, place, f"All labels are read here; {REPLICA_INDEX} is not among them in v2.")
            if field == _WHOLE_ANNOTATIONS:
                says = f"All annotations are read here; {COMPLETION_INDEX} is among them in v2."
                remedy = "Let the program look up the annotations that it needs by name."
                draft.report(ALL_LABELS, place, says, remedy=remedy)
            keyed = _KEYED.fullmatch(field)
            if keyed is None or not keyed[2].startswith(V1_PREFIX) or keyed[2] in kept_labels(draft):
                continue
            counterpart = _counterpart(group, keyed[2])
            if counterpart is None:
                draft.report(NOT_KNOWN, place, f"{field} does not exist in v2.")
                continue
            reference["fieldPath"], note = counterpart
            draft.changed(group, (*path, "fieldPath"), f"{counterpart[0]} in v2")
            others = _other_indices(draft, group) if keyed[2] == REPLICA_INDEX else []
            topic = COUNTS_ALL if others else READ_ELSEWHERE
            draft.report(topic, place, " ".join([f"{keyed[2]} is read from {counterpart[0]}{note}.", *others]))


def _look_at_directories(draft: Draft, group: Group) -> None:
    """Says where a volume's directory is called by the pod's name."""
    for field in ("initContainers", "containers"):
        for number, container in enumerate(group.pod["spec"].get(field) or ()):
            names = {
                variable["name"]
                for variable in container.get("env") or ()
                if ((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath") == "metadata.name"
            }
            for index, mount in enumerate(container.get("volumeMounts") or ()):
                expression = str(mount.get("subPathExpr") or "")
                if any(f"$({name})" in expression for name in names):
                    place = (*draft.template_paths(group)[0], "spec", field, number, "volumeMounts", index, "subPathExpr")
                    text = (
                        f"{mount.get('mountPath')} is the directory {expression} of the volume, a new one after each start in v2."
                    )
                    draft.report(OWN_DIRECTORY, place, text)


def _other_indices(draft: Draft, group: Group) -> list[str]:
    """Reports what changes for pods whose role stands behind another one in the group."""
    found, before = [], 0
    for role in group.roles:
        last = draft.job.replica_count(role) - 1
        if before and last == 0:
            found.append(f"{role} 0 gets 0 in v1 and {before} in v2.")
        elif before and last > 0:
            found.append(f"{role} 0 to {last} get 0 to {last} in v1 and {before} to {before + last} in v2.")
        before += last + 1
    return found


def _counterpart(group: Group, key: str) -> tuple[str, str] | None:
    """Where v2 says it, and what is to be known about it."""
    if key == JOB_NAME:
        return f"metadata.labels['{JOBSET_NAME}']", ""
    if key == REPLICA_TYPE:
        return f"metadata.labels['{REPLICATED_JOB}']", f", which is {group.name}"
    if key == REPLICA_INDEX:
        counts = f", which counts {' and '.join(group.roles)} together" if len(group.roles) > 1 else ""
        return _COMPLETION_INDEX if group.replicas == 1 else _JOB_INDEX, counts
    return None
