"""Requests of kubelets for client certificates are approved without anybody's decision, where who made them has the right to it.

Source: k8s.io/kubernetes 1.36 `controller/certificates/approver`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from logging import getLogger
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import CERTIFICATE_SIGNING_REQUESTS, SUBJECT_ACCESS_REVIEWS
from shunter.cluster.controllers.certificates.signers import KUBELET_CLIENT, kubelet_client_fault
from shunter.cluster.controllers.certificates.views import SigningRequest
from shunter.kube.cache.informer import Informer
from shunter.kube.client import Client
from shunter.kube.controllers.executor import Executor
from shunter.kube.controllers.plan import Patch, Plan, Ref
from shunter.kube.errors import ApiError
from shunter.kube.tls.requests import subject_of

log = getLogger(__name__)

PERIOD = 1.0
LONGEST_PAUSE = 60.0
"""Seconds between two looks at a request whose maker has no right to it, at most: it doubles with each look."""


class Right(NamedTuple):
    """To create a subresource of requests, which approves one, and what the condition says then."""

    subresource: str
    message: str


OWN = Right("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview.")
ANY = Right("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.")


def rights(request: SigningRequest) -> Sequence[Right]:
    """The rights of which one approves the request: none for requests that people decide on, or have decided. Pure."""
    if request.certificate or request.has("Approved") or request.has("Denied") or request.spec.signer_name != KUBELET_CLIENT:
        return ()
    subject = subject_of(request.spec.request)
    if kubelet_client_fault(subject, request.spec.usages):
        return ()
    return (OWN, ANY) if request.spec.username == subject.common_name else (ANY,)


def review(request: SigningRequest, right: Right) -> Json:
    """The question whether the maker of a request has a right. Pure."""
    spec = request.spec
    attributes = {
        "group": CERTIFICATE_SIGNING_REQUESTS.group,
        "version": "*",
        "resource": CERTIFICATE_SIGNING_REQUESTS.plural,
        "subresource": right.subresource,
        "verb": "create",
    }
    asked = {
        "user": spec.username,
        "uid": spec.uid,
        "groups": list(spec.groups),
        "extra": spec.extra,
        "resourceAttributes": attributes,
    }
    return SUBJECT_ACCESS_REVIEWS.typed({"metadata": {}, "spec": asked})


def approved(request: SigningRequest, right: Right) -> Plan:
    """The write that approves a request. Pure."""
    condition = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": right.message}
    patch = {
        "metadata": {"resourceVersion": request.metadata.resource_version},
        "status": {"conditions": [*request.conditions, condition]},
    }
    ref = Ref.of(CERTIFICATE_SIGNING_REQUESTS, request.metadata)
    return Plan(writes=(Patch(ref=ref, patch=patch, subresource="approval"),))


class Approver:
    """Looks at the requests each second."""

    def __init__(self, client: Client, requests: Informer[SigningRequest]) -> None:
        self._client = client
        self._requests = requests
        self._executor = Executor(client)
        self._pauses: dict[str, tuple[float, float]] = {}
        """By uid: when to look again, and the pause before that."""

    async def run(self) -> None:
        """Works until it is cancelled."""
        await self._requests.wait_synced()
        while True:
            requests = {one.metadata.uid: one for one in self._requests.store.list()}
            self._pauses = {uid: pause for uid, pause in self._pauses.items() if uid in requests}
            for uid, request in requests.items():
                due, pause = self._pauses.get(uid, (0.0, PERIOD / 2))
                if time.monotonic() >= due:
                    pause = min(2 * pause, LONGEST_PAUSE)
                    self._pauses[uid] = time.monotonic() + pause, pause
                    await self._look(request)
            await asyncio.sleep(PERIOD)

    async def _look(self, request: SigningRequest) -> None:
        try:
            for right in rights(request):
                answer: Json = await self._client.create(SUBJECT_ACCESS_REVIEWS, review(request, right))
                if answer["status"]["allowed"]:
                    await self._executor.execute(approved(request, right))
                    return
        except ApiError as error:
            log.warning("request %s for a certificate: %s", request.metadata.name, error.message)
        except Exception:
            log.exception("internal error while looking at the request %s for a certificate", request.metadata.name)
