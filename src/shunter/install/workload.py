"""The operator's own objects: its Deployment and what stands around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    NETWORK_POLICIES,
    POD_DISRUPTION_BUDGETS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
from shunter.api.scheduling.podgroups import VOLCANO_SCHEDULER
from shunter.install.kinds import RESOURCES
from shunter.install.names import (
    CONFIGURATION,
    HEALTH_PORT,
    LABELS,
    METRICS_PORT,
    METRICS_SELECTOR,
    METRICS_SERVICE,
    OPERATOR,
    SELECTOR,
    WEBHOOK_PORT,
    WEBHOOK_SERVICE,
)
from shunter.install.objects import obj
from shunter.install.template import Digest, Document, Each, Equals, Item, MoreThan, Not, On, Text, Value, When, all_of
from shunter.install.template import Namespace as InstallationNamespace
from shunter.operator.config import TRAIN_JOB_STATUS

SELF_MANAGED = Equals("certificates.mode", "self-managed")
HAS_GANGS = On("gangSchedulerName")
VOLCANO = Equals("gangSchedulerName", VOLCANO_SCHEDULER)
COSCHEDULING = all_of([HAS_GANGS, Not(VOLCANO)])
CERTIFICATE_DIRECTORY = "/etc/shunter/certificate"
CONFIGURATION_DIRECTORY = "/etc/shunter/configuration"
HAS_STATUS_SERVER = On(f"config.featureGates.{TRAIN_JOB_STATUS}")
STATUS_PORT = Value("config.statusServer.port")
PRIVATE = "restricted"
"""The Pod Security level: no root, no privileges, no host."""
POD_SECURITY: Json = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
CONTAINER_SECURITY: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


def namespace() -> When:
    """The Namespace, where `namespace.create`; its Pod Security level `restricted` is enforced, and reported in audits and
    warnings."""
    levels = {f"pod-security.kubernetes.io/{mode}": PRIVATE for mode in ("enforce", "audit", "warn")}
    return When(On("namespace.create"), obj(NAMESPACES, InstallationNamespace(), labels=levels))


def service_account() -> Json:
    """The account as which the operator's pods call the API server; what it may do is in `rbac.py`."""
    return obj(SERVICE_ACCOUNTS, OPERATOR)


def configuration() -> Json:
    """The ConfigMap with the operator's configuration file, which is the value `config`."""
    return obj(CONFIG_MAPS, CONFIGURATION, data={"config.yaml": Document("config")})


def services() -> list[Json]:
    """Two: that of the webhooks, with the port for pods that report their progress where that is on; and that of the metrics."""
    # Pods report their progress to the name that the certificate is for.
    status_server = When(HAS_STATUS_SERVER, _service_port("status", STATUS_PORT))
    return [
        # Never of pods that are not ready: that would include those that have just ended (operator/webhooks.py).
        _service(WEBHOOK_SERVICE, [_service_port("webhook", 443), status_server]),
        _service(METRICS_SERVICE, [_service_port("metrics", METRICS_PORT)], labels=METRICS_SELECTOR),
    ]


def disruption_budget() -> When:
    """While nodes are drained one pod stays. A single one must not hold up the drain."""
    budget = obj(POD_DISRUPTION_BUDGETS, OPERATOR, spec={"minAvailable": 1, "selector": {"matchLabels": SELECTOR}})
    return When(MoreThan("replicas", 1), budget)


def network_policy() -> When:
    """Egress stays open: where the API server is differs from cluster to cluster, and policies know no names."""
    ports: list[Any] = [{"port": port, "protocol": "TCP"} for port in ("webhook", "metrics", "health")]
    ports.append(When(HAS_STATUS_SERVER, {"port": "status", "protocol": "TCP"}))
    spec = {"podSelector": {"matchLabels": SELECTOR}, "policyTypes": ["Ingress"], "ingress": [{"ports": ports}]}
    return When(On("networkPolicy.enabled"), obj(NETWORK_POLICIES, OPERATOR, spec=spec))


def deployment() -> Json:
    """The operator's. Another configuration makes new pods, one after another, while the old ones still answer webhooks."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    # A pod reads its configuration once: another one makes new pods.
    template = {
        "metadata": {"labels": {**LABELS, **SELECTOR}, "annotations": {"shunter.dev/configuration": Digest("config")}},
        "spec": _pod(),
    }
    spec = {
        "replicas": Value("replicas"),
        "strategy": strategy,
        "selector": {"matchLabels": SELECTOR},
        "template": template,
    }
    return obj(DEPLOYMENTS, OPERATOR, labels=SELECTOR, spec=spec)


def _pod() -> Json:
    """Runs under Pod Security `restricted` and OpenShift's restricted-v2, which chooses the user: none is named here."""
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": SELECTOR},
        }
        for key in ("kubernetes.io/hostname", "topology.kubernetes.io/zone")
    ]
    return {
        "serviceAccountName": OPERATOR,
        **placement(),
        "securityContext": POD_SECURITY,
        "topologySpreadConstraints": spread,
        "terminationGracePeriodSeconds": 30,
        "containers": [_container()],
        "volumes": [
            {"name": "configuration", "configMap": {"name": CONFIGURATION}},
            # Python's ssl reads certificates from files only.
            {"name": "scratch", "emptyDir": {"sizeLimit": "16Mi"}},
            When(
                Not(SELF_MANAGED),
                {"name": "certificate", "secret": {"secretName": Value("certificates.secretName")}},
            ),
        ],
    }


def placement() -> Json:
    """Parts of a pod: where its image is from, and where it may run."""
    return {
        "imagePullSecrets": When(On("image.pullSecrets"), Value("image.pullSecrets")),
        "priorityClassName": When(On("priorityClassName"), Value("priorityClassName")),
        "nodeSelector": When(On("nodeSelector"), Value("nodeSelector")),
        "tolerations": When(On("tolerations"), Value("tolerations")),
    }


def container_image() -> When:
    """`REPOSITORY@DIGEST` where the values have a digest, else `REPOSITORY:TAG`."""
    tagged, pinned = ":", "@"
    return When(
        On("image.digest"),
        Text((Value("image.repository"), pinned, Value("image.digest"))),
        Text((Value("image.repository"), tagged, Value("image.tag"))),
    )


def _container() -> Json:
    ports = {"webhook": WEBHOOK_PORT, "metrics": METRICS_PORT, "health": HEALTH_PORT}
    return {
        "name": "operator",
        "image": container_image(),
        "imagePullPolicy": Value("image.pullPolicy"),
        "command": ["shunter"],
        "args": _arguments(),
        "ports": [
            *({"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports.items()),
            When(HAS_STATUS_SERVER, {"name": "status", "containerPort": STATUS_PORT, "protocol": "TCP"}),
        ],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "periodSeconds": 20, "failureThreshold": 3},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}, "periodSeconds": 5, "timeoutSeconds": 3},
        "startupProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "periodSeconds": 2, "failureThreshold": 60},
        "resources": When(On("resources"), Value("resources")),
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": [
            {"name": "configuration", "mountPath": CONFIGURATION_DIRECTORY, "readOnly": True},
            {"name": "scratch", "mountPath": "/tmp"},
            When(Not(SELF_MANAGED), {"name": "certificate", "mountPath": CERTIFICATE_DIRECTORY, "readOnly": True}),
        ],
    }


def _arguments() -> list[object]:
    return [
        "operator",
        f"--config={CONFIGURATION_DIRECTORY}/config.yaml",
        *(When(On(f"kinds.{kind}"), f"--kind={kind}") for kind in RESOURCES),
        Each("namespaces", Text(("--namespace=", Item()))),
        When(HAS_GANGS, Text(("--gang-scheduler-name=", Value("gangSchedulerName")))),
        When(
            On("mpiKubectlDeliveryImage"),
            Text(("--mpi-kubectl-delivery-image=", Value("mpiKubectlDeliveryImage"))),
        ),
        When(
            On("pytorchInitContainerImage"),
            Text(("--pytorch-init-container-image=", Value("pytorchInitContainerImage"))),
        ),
        f"--webhook-service={WEBHOOK_SERVICE}",
        When(
            SELF_MANAGED,
            Text(("--webhook-secret=", Value("certificates.secretName"))),
            f"--webhook-cert-dir={CERTIFICATE_DIRECTORY}",
        ),
    ]


def _service_port(name: str, number: int | Value) -> Json:
    return {"name": name, "port": number, "targetPort": name, "protocol": "TCP"}


def _service(name: str, ports: Sequence[Any], *, labels: Mapping[str, Any] = {}) -> Json:
    return obj(SERVICES, name, labels=labels, spec={"selector": SELECTOR, "ports": ports})
