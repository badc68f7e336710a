"""The I/O layer of what signs and removes requests for certificates, beside what approves them."""

from __future__ import annotations

from shunter.api.resources import CERTIFICATE_SIGNING_REQUESTS
from shunter.cluster.controllers.certificates.approval import Approver
from shunter.cluster.controllers.certificates.plan import Observed, plan
from shunter.cluster.controllers.certificates.views import SigningRequest
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.kube.client import Client
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key
from shunter.kube.tls.certificates import KeyPair

COMPONENT = "certificate-controller"


def register(manager: Manager, client: Client, *, authority: KeyPair | None) -> None:
    """Adds the controllers. None as the authority signs nothing."""
    requests = manager.informer(CERTIFICATE_SIGNING_REQUESTS, SigningRequest)

    def observe(key: Key) -> Observed | None:
        request = requests.store.get(key)
        return None if request is None else Observed(request=request, authority=authority)

    manager.controller(
        "certificate-signing-requests",
        FunctionReconciler(observe, plan),
        primary=requests,
        recorder=manager.recorder(COMPONENT),
    )
    manager.background("certificate-approver", Approver(client, requests).run)
