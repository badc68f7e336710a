"""The command line of each part of the control plane.

Every part has its own defaults, except where a test would only wait for them or where this machine has nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

PORTS = ("etcd", "etcd-peer", "kube-apiserver", "kube-scheduler", "jobset", "jobset-health")
"""What listens on a port of its own."""

CLIENT_RATE = 1000
"""Requests a second; by its own defaults (20) kube-controller-manager clears one test away while the next one runs."""

AUDIT_POLICY: Mapping[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}

Flags = dict[str, str | int | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What differs between control planes. `plain_pods`: admission adds nothing to pods, nor asks for their service account.
    `disabled_controllers`: those of kube-controller-manager that do not run."""

    ports: Mapping[str, int]
    audit: bool
    durable: bool
    plain_pods: bool
    feature_gates: Mapping[str, bool]
    disabled_controllers: Collection[str]


def command_line(part: str, settings: Settings) -> list[str]:
    """The arguments of a part, with paths relative to the control plane's directory."""
    return [
        f"--{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in FLAGS[part](settings).items()
    ]


def _etcd(settings: Settings) -> Flags:
    url = f"http://127.0.0.1:{settings.ports['etcd']}"
    return {
        "data-dir": "etcd",
        "listen-client-urls": url,
        "advertise-client-urls": url,
        "listen-peer-urls": f"http://127.0.0.1:{settings.ports['etcd-peer']}",
        "unsafe-no-fsync": not settings.durable,
        "log-level": "warn",
    }


def _apiserver(settings: Settings) -> Flags:
    flags: Flags = {
        "etcd-servers": f"http://127.0.0.1:{settings.ports['etcd']}",
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": settings.ports["kube-apiserver"],
        "tls-cert-file": "apiserver.crt",
        "tls-private-key-file": "apiserver.key",
        "client-ca-file": "ca.crt",
        "kubelet-client-certificate": "kubelet-client.crt",
        "kubelet-client-key": "kubelet-client.key",
        "kubelet-preferred-address-types": "InternalIP",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": "service-accounts.crt",
        "service-account-signing-key-file": "service-accounts.key",
        "service-cluster-ip-range": "10.0.0.0/16",
        "authorization-mode": "Node,RBAC",
        "allow-privileged": True,
        # Nothing routes cluster addresses here: webhooks of a Service are called at its endpoints.
        "enable-aggregator-routing": True,
    }
    if settings.plain_pods:
        flags["disable-admission-plugins"] = "ServiceAccount"
    else:
        plugins = ("NodeRestriction", "PodTolerationRestriction", "OwnerReferencesPermissionEnforcement")
        flags["enable-admission-plugins"] = ",".join(plugins)
    if settings.feature_gates:
        gates = (f"{name}={str(is_on).lower()}" for name, is_on in settings.feature_gates.items())
        flags["feature-gates"] = ",".join(gates)
    if settings.audit:
        flags |= {"audit-policy-file": "audit-policy.yaml", "audit-log-path": "audit.log"}
    return flags


def _controller_manager(settings: Settings) -> Flags:
    return {
        **_client(),
        "secure-port": 0,
        "service-account-private-key-file": "service-accounts.key",
        "root-ca-file": "ca.crt",
        "cluster-signing-cert-file": "ca.crt",
        "cluster-signing-key-file": "ca.key",
        # Until a silent node is NotReady; nodes renew their lease every 10 s.
        "node-monitor-grace-period": "30s",
        # Until an autoscaler looks again.
        "horizontal-pod-autoscaler-sync-period": "5s",
        "controllers": ",".join(["*", *(f"-{name}" for name in settings.disabled_controllers)]),
    }


def _scheduler(settings: Settings) -> Flags:
    return {**_client(), "bind-address": "127.0.0.1", "secure-port": settings.ports["kube-scheduler"]}


def _jobset(settings: Settings) -> Flags:
    return {
        "kubeconfig": "kubeconfig",
        "health-probe-bind-address": f"127.0.0.1:{settings.ports['jobset-health']}",
        "webhook-port": settings.ports["jobset"],
        "webhook-cert-dir": "webhook",
    }


def _client() -> Flags:
    return {
        "kubeconfig": "kubeconfig",
        "authentication-kubeconfig": "kubeconfig",
        "authorization-kubeconfig": "kubeconfig",
        "leader-elect": False,
        "kube-api-qps": CLIENT_RATE,
        "kube-api-burst": CLIENT_RATE,
    }


FLAGS = {
    "etcd": _etcd,
    "kube-apiserver": _apiserver,
    "kube-controller-manager": _controller_manager,
    "kube-scheduler": _scheduler,
    "jobset": _jobset,
}
