"""The kinds of apps/v1 and their relatives: their defaults, and what is counted of them.

Source: k8s.io/kubernetes 1.36 `apis/apps/v1` and `apis/core/v1` defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.api.meta import Json, annotations_of
from shunter.api.names import label_faults
from shunter.api.resources import PERSISTENT_VOLUME_CLAIMS, Resource
from shunter.cluster.apiserver.builtin.pod.defaults import default_pod_spec
from shunter.cluster.apiserver.builtin.pod.gated_fields import drop_gated_fields
from shunter.cluster.apiserver.builtin.pod.warnings import named_template_warnings, pod_template_warnings, template_warnings
from shunter.cluster.apiserver.builtin.rules.workload_status import (
    daemon_set_status_errors,
    deployment_status_errors,
    replica_set_status_errors,
    stateful_set_status_errors,
)
from shunter.cluster.apiserver.builtin.rules.workloads import (
    controller_revision_errors,
    daemon_set_errors,
    deployment_errors,
    pod_template_errors,
    replica_set_errors,
    replication_controller_errors,
    stateful_set_errors,
)
from shunter.cluster.apiserver.builtin.typed import WORKLOAD_SCALE, typed
from shunter.cluster.apiserver.kinds import Kind, Objects, StoredField

_REVISIONS = 10
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def kinds() -> list[Kind]:
    """ReplicationController, PodTemplate, ControllerRevision, DaemonSet, Deployment, ReplicaSet and StatefulSet. PodTemplates,
    ControllerRevisions and DaemonSets cannot be scaled."""
    return [
        typed(
            Resource("", "v1", "ReplicationController", "replicationcontrollers"),
            short_names=("rc",),
            default_propagation="Orphan",
            categories=("all",),
            has_status=True,
            scale=WORKLOAD_SCALE,
            selectable_fields=("status.replicas",),
            stored_fields={"status.replicas": StoredField(("status.replicas",), "0")},
            pod_spec="spec.template.spec",
            default=_default_replication_controller,
            validate=replication_controller_errors,
            warnings=named_template_warnings,
            validate_status=replica_set_status_errors,
        ),
        typed(
            Resource("", "v1", "PodTemplate", "podtemplates"),
            returns_deleted=True,
            pod_spec="template.spec",
            default=_default_pod_template,
            validate=pod_template_errors,
            warnings=pod_template_warnings,
        ),
        typed(
            Resource("apps", "v1", "ControllerRevision", "controllerrevisions"),
            tracks_generation=False,
            validate=controller_revision_errors,
        ),
        _workload(
            "DaemonSet",
            "daemonsets",
            "ds",
            default=_default_daemon_set,
            prepare=_prepare_daemon_set,
            validate=daemon_set_errors,
            validate_status=daemon_set_status_errors,
        ),
        _workload(
            "Deployment",
            "deployments",
            "deploy",
            default=_default_deployment,
            validate=deployment_errors,
            validate_status=deployment_status_errors,
            prepare=_count_annotations,
            prepare_status=_keep_labels,
            scale=WORKLOAD_SCALE,
        ),
        _workload(
            "ReplicaSet",
            "replicasets",
            "rs",
            default=_default_replica_set,
            validate=replica_set_errors,
            warnings=named_template_warnings,
            validate_status=replica_set_status_errors,
            scale=WORKLOAD_SCALE,
        ),
        _workload(
            "StatefulSet",
            "statefulsets",
            "sts",
            default=_default_stateful_set,
            validate=stateful_set_errors,
            prepare=_prepare_stateful_set,
            name_faults=label_faults,
            warnings=_stateful_set_warnings,
            validate_status=stateful_set_status_errors,
            scale=WORKLOAD_SCALE,
        ),
    ]


def _stateful_set_warnings(stateful_set: Json, old: Json | None, objects: Objects) -> list[str]:
    found = template_warnings(stateful_set, old, objects)
    if stateful_set["spec"].get("revisionHistoryLimit", 0) < 0:
        detail = "a negative value retains all historical revisions; a value >= 0 is recommended"
        found.append(f"spec.revisionHistoryLimit: {detail}")
    return found


def _workload(
    kind: str,
    plural: str,
    short_name: str,
    *,
    warnings: Callable[[Json, Json | None, Objects], list[str]] = template_warnings,
    **rest: Any,
) -> Kind:
    return typed(
        Resource("apps", "v1", kind, plural),
        short_names=(short_name,),
        categories=("all",),
        has_status=True,
        pod_spec="spec.template.spec",
        warnings=warnings,
        **rest,
    )


def _default_pod_template(template: Json) -> None:
    default_pod_spec(template["template"]["spec"])


def _default_replication_controller(controller: Json) -> None:
    spec = controller["spec"]
    spec.setdefault("replicas", 1)
    if template := spec.get("template"):
        default_pod_spec(template["spec"])
        if labels := template["metadata"].get("labels"):
            spec["selector"] = spec.get("selector") or dict(labels)
            controller["metadata"]["labels"] = controller["metadata"].get("labels") or dict(labels)


def _default_deployment(deployment: Json) -> None:
    spec = deployment["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", _REVISIONS)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_pod_spec(spec["template"]["spec"])


def _count_annotations(deployment: Json, old: Json | None) -> None:
    """A Deployment's generation counts changes of its annotations too."""
    if old is not None and deployment["metadata"].get("annotations") != old["metadata"].get("annotations"):
        deployment["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _keep_labels(deployment: Json, old: Json | None) -> None:
    """A write of the status leaves the labels, if nothing else of the metadata, as they were."""
    labels = (old or {}).get("metadata", {}).get("labels")
    deployment["metadata"].pop("labels", None)
    if labels:
        deployment["metadata"]["labels"] = labels


def _default_daemon_set(daemon_set: Json) -> None:
    spec = daemon_set["spec"]
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", _REVISIONS)
    default_pod_spec(spec["template"]["spec"])
    daemon_set["metadata"].setdefault("annotations", {}).setdefault(_TEMPLATE_GENERATION, "1")


def _prepare_daemon_set(daemon_set: Json, old: Json | None) -> None:
    """Counts the versions of the template where controllers of old look for it."""
    generation = 1
    if old is not None:
        before = int(annotations_of(old).get(_TEMPLATE_GENERATION, "1"))
        generation = before + (daemon_set["spec"]["template"] != old["spec"]["template"])
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    annotations[_TEMPLATE_GENERATION] = str(generation)


def _default_replica_set(replica_set: Json) -> None:
    spec = replica_set["spec"]
    spec.setdefault("replicas", 1)
    default_pod_spec(spec["template"]["spec"])


def _default_stateful_set(stateful_set: Json) -> None:
    spec = stateful_set["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", _REVISIONS)
    for claim in spec.get("volumeClaimTemplates", ()):
        claim.setdefault("kind", PERSISTENT_VOLUME_CLAIMS.kind)
        claim.setdefault("apiVersion", PERSISTENT_VOLUME_CLAIMS.api_version)
        claim["spec"].setdefault("volumeMode", "Filesystem")
        claim["status"].setdefault("phase", "Pending")
    default_pod_spec(spec["template"]["spec"])


def _prepare_stateful_set(stateful_set: Json, old: Json | None) -> None:
    """A new `maxUnavailable` is dropped: the feature MaxUnavailableStatefulSet is off."""
    before = None if old is None else old["spec"]["updateStrategy"].get("rollingUpdate")
    drop_gated_fields(stateful_set["spec"]["updateStrategy"].get("rollingUpdate", {}), before, "maxUnavailable")
