"""A TrainJob at an embedded API server, and tokens for those who report about it."""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import SERVICE_ACCOUNTS, TRAIN_JOBS
from shunter.kube.client import Client
from shunter.kube.faults import FaultTransport, RecordingTransport
from shunter.operator.trainer.statusserver.place import audience

JOB = "mnist"


class Stage(NamedTuple):
    """One namespace with a job in it. `sent` are the requests of `client`, and `faults` happen to them."""

    namespace: str
    client: Client
    sent: RecordingTransport
    faults: FaultTransport

    async def token(self, *, job: str = JOB, audiences: list[str] | None = None) -> str:
        spec = {"audiences": audiences or [audience(self.namespace, job)]}
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = await self.client.create(SERVICE_ACCOUNTS, request, self.namespace, subresource="token", name="default")
        token: str = answer["status"]["token"]
        return token

    async def status(self) -> Json | None:
        job = await self.client.get(TRAIN_JOBS, JOB, self.namespace)
        found: Json | None = job.get("status", {}).get("trainerStatus")
        return found

    @property
    def writes(self) -> int:
        """Status writes so far."""
        return sum(request.method == "PATCH" for request in self.sent.requests)
