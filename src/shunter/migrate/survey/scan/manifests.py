"""Kubernetes objects that name v1 kinds or select v1 pods: RBAC rules, policies, selectors. Files that are not YAML (templates)
are scanned line by line instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import yaml

from shunter.api.yaml import Loader
from shunter.migrate.conversion.source.size import refuse_depth
from shunter.migrate.conversion.source.yaml_nodes import nodes
from shunter.migrate.findings import Topic
from shunter.migrate.v1_texts.reference import ANY_KIND, ANY_PLURAL, KINDS, V1_GROUP, Reference, names_v1_object
from shunter.migrate.v1_texts.rules import LABELS_OF_V2
from shunter.operator.training.names import PREFIX as V1_PREFIX

RBAC = Topic(
    id="SCAN030",
    title="RBAC rules for v1 jobs",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "The roles name resources of the group kubeflow.org. They grant nothing on TrainJobs, so users and pipelines that may "
        "create v1 jobs are denied when they create TrainJobs."
    ),
    remedy="Add a rule for apiGroups [trainer.kubeflow.org], resources [trainjobs, trainingruntimes] with the same verbs.",
)
SELECTOR = Topic(
    id="SCAN031",
    title="a selector on labels of v1 pods",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "A NetworkPolicy, Service, PodDisruptionBudget or affinity that selects by training.kubeflow.org/* selects no v2 pod: "
        "the policy does not apply and the service has no endpoints, without an error."
    ),
    remedy="Also select by jobset.sigs.k8s.io/jobset-name=<job>.",
)
MONITOR = Topic(
    id="SCAN032",
    title="a monitor of v1 pods or of the v1 operator",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "A PodMonitor or ServiceMonitor that selects v1's labels finds no pods of v2, so their metrics are not collected."
    ),
    remedy="Select jobset.sigs.k8s.io/jobset-name (operator Exists) for training pods.",
)
POLICY = Topic(
    id="SCAN033",
    title="an admission policy that matches v1 kinds",
    severity="error",
    other_impact="advisory",
    change="manual",
    grade="N",
    explanation=(
        "Kyverno, Gatekeeper, admission webhooks and ValidatingAdmissionPolicies match by kind or resource. Their requirements "
        "for v1 jobs (images, labels, limits) are not enforced for TrainJobs, so a migration bypasses them."
    ),
    remedy=(
        "Also match TrainJob and TrainingRuntime of trainer.kubeflow.org, and check the paths in the expressions: they differ."
    ),
    effort=3,
)
WORKFLOW = Topic(
    id="SCAN034",
    title="a workflow that waits for, or selects, a v1 job",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "Katib's trial templates and Argo's resource steps define in terms of v1 which condition ends a job and which pod is "
        "the primary one. With a TrainJob they would never end."
    ),
    remedy="Wait for the condition Complete; Katib: primaryContainerName node, primaryPodLabels by the completion index 0.",
    effort=3,
)
ARGO_CD = Topic(
    id="SCAN035",
    title="a setting of Argo CD about v1 kinds",
    severity="warning",
    change="manual",
    grade="N",
    explanation=(
        "ignoreDifferences, lists of resources of an AppProject and customizations in argocd-cm name kubeflow.org and a kind. "
        "They have no effect on TrainJobs: Argo CD reverts what it ignored before, for example the spec.suspend that Kueue sets, "
        "so that a training stops or starts out of its turn; or a project does not allow TrainJobs."
    ),
    remedy="Add the same for group trainer.kubeflow.org, kind TrainJob; its path for suspending is /spec/suspend.",
)

_ARGO_CD_KINDS = ("Application", "ApplicationSet", "AppProject")
_CUSTOMIZATION = re.compile(rf"resource\.customizations\.\w+\.{re.escape(V1_GROUP)}_(?:{'|'.join(KINDS)})")
"""A key of argocd-cm."""
_RBAC_KINDS = ("Role", "ClusterRole")
_MONITOR_KINDS = ("PodMonitor", "ServiceMonitor")
_POLICY_KINDS = (
    "ClusterPolicy", "Policy", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",
    "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "AssignMetadata", "Assign", "ModifySet",
)  # fmt: skip
_POLICY_GROUPS = ("constraints.gatekeeper.sh/", "templates.gatekeeper.sh/", "kyverno.io/", "policies.kyverno.io/")
_WORKFLOW_FIELDS = ("successCondition", "failureCondition")
_QUOTED = re.compile(rf"[\"'](?:{ANY_KIND}|{ANY_PLURAL})[\"']")
"""A kind in an expression: CEL, Rego."""


class Found(NamedTuple):
    """The references in the objects of one file."""

    references: list[Reference]
    jobs: list[range]
    """Lines, from 1, of v1 jobs: they are converted, not scanned."""


def references(text: str) -> Found:
    """The references in the objects of a text; none if it is not YAML."""
    found = Found([], [])
    try:
        refuse_depth(text)
        loader = Loader(text)
    except yaml.YAMLError:
        return found
    try:
        while loader.check_node():
            node = loader.get_node()
            if isinstance(node, yaml.MappingNode):
                _object(node, found)
    except (yaml.YAMLError, RecursionError):
        return Found([], [])
    finally:
        loader.dispose()
    return found


def _object(node: yaml.MappingNode, found: Found) -> None:
    kind, version = _scalar(node, "kind"), _scalar(node, "apiVersion")
    items = _value(node, "items")
    if kind.endswith("List") and isinstance(items, yaml.SequenceNode):
        for item in items.value:
            if isinstance(item, yaml.MappingNode):
                _object(item, found)
    elif kind in KINDS and version == f"{V1_GROUP}/v1":
        found.jobs.append(range(node.start_mark.line + 1, node.end_mark.line + (2 if node.end_mark.column else 1)))
    elif kind in _RBAC_KINDS:
        found.references.extend(_rbac_rules(node))
    elif kind in _POLICY_KINDS or version.startswith(_POLICY_GROUPS):
        found.references.extend(_policy(node, kind))
    else:
        found.references.extend(_argo_cd(node, kind, version))
        found.references.extend(_selectors(node, kind))
        found.references.extend(_conditions(node, kind))


def _rbac_rules(node: yaml.MappingNode) -> Iterator[Reference]:
    for rule in _sequence(_value(node, "rules")):
        groups = [group.value for group in _sequence(_value(rule, "apiGroups"))]
        if V1_GROUP not in groups:
            continue
        for resource in _sequence(_value(rule, "resources")):
            if isinstance(resource, yaml.ScalarNode) and (names_v1_object(resource.value) or resource.value == "*"):
                verbs = ", ".join(str(verb.value) for verb in _sequence(_value(rule, "verbs")))
                title = _title(node, _scalar(node, "kind"))
                says = f"{title} allows {verbs or 'nothing'} on {resource.value} of {V1_GROUP} only."
                yield _reference(
                    RBAC,
                    resource,
                    says,
                    f"Add apiGroups [trainer.kubeflow.org], resources [trainjobs, trainingruntimes], verbs [{verbs}].",
                )


def _policy(node: yaml.MappingNode, kind: str) -> Iterator[Reference]:
    for scalar in _scalars(node):
        if names_v1_object(scalar.value) or _QUOTED.search(scalar.value):
            yield _reference(POLICY, scalar, f"{_title(node, kind)} matches {_shown(scalar.value)}, not TrainJobs.", "")
    for rule in nodes(node):
        groups = [group.value for group in _sequence(_value(rule, "apiGroups"))]
        for matched in (*_sequence(_value(rule, "resources")), *_sequence(_value(rule, "kinds"))) if V1_GROUP in groups else ():
            if isinstance(matched, yaml.ScalarNode) and matched.value in ("*", "*/*"):
                says = f"{_title(node, kind)} matches all kinds of {V1_GROUP}, not TrainJobs."
                yield _reference(POLICY, matched, says, "")


def _argo_cd(node: yaml.MappingNode, kind: str, version: str) -> Iterator[Reference]:
    if kind in _ARGO_CD_KINDS and version.startswith("argoproj.io/"):
        for rule in nodes(node):
            named = _value(rule, "kind")
            if _scalar(rule, "group") == V1_GROUP and isinstance(named, yaml.ScalarNode) and named.value in (*KINDS, "*"):
                of = "all kinds" if named.value == "*" else named.value
                yield _reference(
                    ARGO_CD, named, f"{_title(node, kind)} has a setting for {of} of {V1_GROUP}, not for TrainJobs.", ""
                )
    elif kind == "ConfigMap":
        for key, _ in _entries(node):
            if _CUSTOMIZATION.fullmatch(key.value):
                yield _reference(ARGO_CD, key, f"{_title(node, kind)} has {key.value}, and nothing for TrainJobs.", "")


def _shown(value: str) -> str:
    """The value; for an expression, the kind in it."""
    found = _QUOTED.search(value)
    return found[0].strip("\"'") if found else value


def _selectors(node: yaml.MappingNode, kind: str) -> Iterator[Reference]:
    topic = MONITOR if kind in _MONITOR_KINDS else SELECTOR
    for scalar in _scalars(node, keys=True):
        if scalar.value.startswith(V1_PREFIX):
            key = scalar.value.removeprefix(V1_PREFIX)
            instead = f"Pods of v2 carry {LABELS_OF_V2[key]}." if key in LABELS_OF_V2 else ""
            says = f"{_title(node, kind)} uses the label {scalar.value}, which no pod of v2 has."
            yield _reference(topic, scalar, says, instead)


def _conditions(node: yaml.MappingNode, kind: str) -> Iterator[Reference]:
    for key, value in _entries(node):
        if key.value not in _WORKFLOW_FIELDS or not isinstance(value, yaml.ScalarNode):
            continue
        if "replicaStatuses" in value.value or ("Succeeded" in value.value and _makes_jobs(node)):
            yield _reference(WORKFLOW, key, f"{_title(node, kind)}: {key.value} is {value.value!r}.", "")


def _makes_jobs(node: yaml.Node) -> bool:
    return any(kind in scalar.value for scalar in _scalars(node) for kind in KINDS)


def _reference(topic: Topic, node: yaml.ScalarNode, message: str, remedy: str) -> Reference:
    mark = node.start_mark
    return Reference(topic, mark.line + 1, mark.column + 1, len(node.value), message, remedy)


def _title(node: yaml.MappingNode, kind: str) -> str:
    """`NetworkPolicy rendezvous`; of what is no object, such as values of a chart, `The file`."""
    return f"{kind} {_name(node)}".strip() or "The file"


def _name(node: yaml.MappingNode) -> str:
    metadata = _value(node, "metadata")
    return _scalar(metadata, "name") if isinstance(metadata, yaml.MappingNode) else ""


def _scalar(node: yaml.Node, key: str) -> str:
    value = _value(node, key)
    return str(value.value) if isinstance(value, yaml.ScalarNode) else ""


def _value(node: yaml.Node, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((inner for name, inner in node.value if isinstance(name, yaml.ScalarNode) and name.value == key), None)


def _sequence(node: yaml.Node | None) -> list[yaml.Node]:
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _scalars(node: yaml.Node, *, keys: bool = False) -> Iterator[yaml.ScalarNode]:
    """The scalar values below a node, with `keys` the keys of mappings as well."""
    return (inner for inner in nodes(node, keys=keys) if isinstance(inner, yaml.ScalarNode))


def _entries(node: yaml.Node) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    """Every key below a node with its value."""
    for inner in nodes(node):
        if isinstance(inner, yaml.MappingNode):
            yield from ((key, value) for key, value in inner.value if isinstance(key, yaml.ScalarNode))
