"""What a signer of kubernetes.io wants a request to be, so that it is signed.

Source: k8s.io/kubernetes 1.36 `apis/certificates/helpers.go`, `controller/certificates/signer`. `kubernetes.io/legacy-unknown` is
not among them: the API server refuses it in v1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from shunter.kube.tls.requests import Subject

CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"

_NODES = ("system:nodes",)
_NODE_PREFIX = "system:node:"
_OPTIONAL = ("digital signature", "key encipherment")


def client_fault(subject: Subject, usages: Collection[str]) -> str:
    """Why the request is not one of a client's certificate, which serves no other purpose; empty if it is."""
    for usage in usages:
        if usage not in (*_OPTIONAL, "client auth"):
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def kubelet_client_fault(subject: Subject, usages: Collection[str]) -> str:
    """Why the request is not one of a node's client certificate for the API server; empty if it is."""
    if subject.organizations != _NODES:
        return "subject organization is not system:nodes"
    for names, kind in (
        (subject.dns_names, "DNS"),
        (subject.emails, "Email"),
        (subject.addresses, "IP"),
        (subject.uris, "URI"),
    ):
        if names:
            return f"{kind} subjectAltNames are not allowed"
    return _node_fault(subject) or _usage_fault(usages, "client auth")


def kubelet_serving_fault(subject: Subject, usages: Collection[str]) -> str:
    """Why the request is not one of a node's serving certificate; empty if it is."""
    if subject.organizations != _NODES:
        return "subject organization is not system:nodes"
    if not (subject.dns_names or subject.addresses):
        return "DNS or IP subjectAltName is required"
    if subject.emails or subject.uris:
        return f"{'Email' if subject.emails else 'URI'} subjectAltNames are not allowed"
    return _usage_fault(usages, "server auth") or _node_fault(subject)


FAULTS: Mapping[str, Callable[[Subject, Collection[str]], str]] = {
    CLIENT: client_fault,
    KUBELET_CLIENT: kubelet_client_fault,
    KUBELET_SERVING: kubelet_serving_fault,
}
"""By the signer, why it does not sign such a request for these usages; empty when it does."""


def _node_fault(subject: Subject) -> str:
    return "" if subject.common_name.startswith(_NODE_PREFIX) else "subject common name does not begin with system:node:"


def _usage_fault(usages: Collection[str], purpose: str) -> str:
    if set(usages) in ({"digital signature", purpose}, {*_OPTIONAL, purpose}):
        return ""
    return f"usages did not match [{' '.join(sorted((*_OPTIONAL, purpose)))}]"
