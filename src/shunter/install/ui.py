"""The web page in a cluster (`shunter ui serve`): a Deployment without rights of its own, its Service, and who may reach it.

With `token` the page sends the viewers' own tokens on, and its pods have none. With `proxy` its account may impersonate users,
and the groups that are named; it may do nothing else.
"""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, DEPLOYMENTS, NETWORK_POLICIES, SERVICE_ACCOUNTS, SERVICES
from shunter.install.names import LABELS, UI, UI_PORT, UI_SELECTOR
from shunter.install.objects import obj
from shunter.install.template import AllOf, Each, Equals, Item, Namespace, Not, On, Text, Value, When
from shunter.install.workload import CONTAINER_SECURITY, POD_SECURITY, container_image, placement

ENABLED = On("ui.enabled")
PROXY = Equals("ui.auth", "proxy")
CA_DIRECTORY, SECRET_DIRECTORY = "/etc/kube-root-ca", "/etc/shunter/proxy"
CA_CONFIG_MAP = "kube-root-ca.crt"
"""What Kubernetes puts into every namespace: the CA of the API server."""
SECRET_KEY = "secret"


def ui() -> list[When]:
    """All of it, when the page is enabled."""
    impersonates = AllOf((ENABLED, PROXY))
    account = {"kind": "ServiceAccount", "name": UI, "namespace": Namespace()}
    role = {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": UI}
    ports = [{"name": "page", "port": 80, "targetPort": "page", "protocol": "TCP"}]
    # Sessions are in the memory of one pod.
    service = {"selector": UI_SELECTOR, "ports": ports, "sessionAffinity": "ClientIP"}
    policy = {
        "podSelector": {"matchLabels": UI_SELECTOR},
        "policyTypes": ["Ingress"],
        "ingress": [
            {
                "ports": [{"port": "page", "protocol": "TCP"}],
                "from": When(On("ui.ingressFrom"), Value("ui.ingressFrom")),
            }
        ],
    }
    return [
        When(ENABLED, obj(SERVICE_ACCOUNTS, UI, automountServiceAccountToken=False)),
        When(impersonates, obj(CLUSTER_ROLES, UI, rules=_impersonation())),
        When(impersonates, obj(CLUSTER_ROLE_BINDINGS, UI, roleRef=role, subjects=[account])),
        When(ENABLED, obj(SERVICES, UI, labels=UI_SELECTOR, spec=service)),
        When(AllOf((ENABLED, On("networkPolicy.enabled"))), obj(NETWORK_POLICIES, UI, spec=policy)),
        When(ENABLED, _deployment()),
    ]


def _impersonation() -> list[Any]:
    """RBAC has no way to name users by a pattern: the page itself refuses those that begin with `system:`."""
    groups = {"apiGroups": [""], "resources": ["groups"], "verbs": ["impersonate"], "resourceNames": Value("ui.proxy.groups")}
    # Without names it would mean all groups.
    return [
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]},
        When(On("ui.proxy.groups"), groups),
    ]


def _deployment() -> Json:
    spec = {
        "replicas": Value("ui.replicas"),
        "selector": {"matchLabels": UI_SELECTOR},
        "template": {"metadata": {"labels": {**LABELS, **UI_SELECTOR}}, "spec": _pod()},
    }
    return obj(DEPLOYMENTS, UI, labels=UI_SELECTOR, spec=spec)


def _pod() -> Json:
    return {
        "serviceAccountName": UI,
        "automountServiceAccountToken": When(PROXY, True, False),
        **placement(),
        "securityContext": POD_SECURITY,
        "terminationGracePeriodSeconds": 10,
        "containers": [_container()],
        "volumes": [
            {"name": "scratch", "emptyDir": {"sizeLimit": "16Mi"}},
            When(Not(PROXY), {"name": "kube-root-ca", "configMap": {"name": CA_CONFIG_MAP}}),
            When(PROXY, {"name": "proxy", "secret": {"secretName": Value("ui.proxy.secretName")}}),
        ],
    }


def _container() -> Json:
    probe = {"path": "/healthz", "port": "page"}
    return {
        "name": "ui",
        "image": container_image(),
        "imagePullPolicy": Value("image.pullPolicy"),
        "command": ["shunter"],
        "args": _arguments(),
        "ports": [{"name": "page", "containerPort": UI_PORT, "protocol": "TCP"}],
        "livenessProbe": {"httpGet": probe, "periodSeconds": 20, "failureThreshold": 3},
        "readinessProbe": {"httpGet": probe, "periodSeconds": 5, "timeoutSeconds": 3},
        "startupProbe": {"httpGet": probe, "periodSeconds": 2, "failureThreshold": 30},
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": [
            # Python's ssl reads certificates from files only.
            {"name": "scratch", "mountPath": "/tmp"},
            When(Not(PROXY), {"name": "kube-root-ca", "mountPath": CA_DIRECTORY, "readOnly": True}),
            When(PROXY, {"name": "proxy", "mountPath": SECRET_DIRECTORY, "readOnly": True}),
        ],
    }


def _arguments() -> list[Any]:
    """TLS ends at the ingress: the page says https in its addresses and listens without."""
    return [
        "ui",
        "serve",
        f"--port={UI_PORT}",
        Text(("--auth=", Value("ui.auth"))),
        Text(("--url=https://", Value("ui.host"))),
        When(Not(PROXY), "--server=https://kubernetes.default.svc"),
        When(Not(PROXY), f"--certificate-authority={CA_DIRECTORY}/ca.crt"),
        When(PROXY, Text(("--user-header=", Value("ui.proxy.userHeader")))),
        When(AllOf((PROXY, On("ui.proxy.groupsHeader"))), Text(("--groups-header=", Value("ui.proxy.groupsHeader")))),
        When(PROXY, f"--proxy-secret-file={SECRET_DIRECTORY}/{SECRET_KEY}"),
        When(On("ui.frameAncestors"), Text(("--frame-ancestors=", Value("ui.frameAncestors")))),
        Each("namespaces", Text(("--namespace=", Item()))),
        When(On("ui.readOnly"), "--read-only"),
    ]
