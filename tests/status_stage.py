"""A TrainJob at an embedded API server, and tokens for those who report about it."""

from __future__ import annotations

from typing import NamedTuple

from fault_transport import FaultTransport, RecordingTransport
from shunter.api.meta import Json
from shunter.api.resources import PODS, SERVICE_ACCOUNTS, TRAIN_JOBS
from shunter.kube.client import Client
from shunter.operator.trainer.statusserver.place import audience
from shunter.operator.trainer.statusserver.pods import ReportingPods

JOB = "mnist"


class Stage(NamedTuple):
    """One namespace with a job in it. `sent` are the requests of `client`, and `faults` happen to them."""

    namespace: str
    client: Client
    sent: RecordingTransport
    faults: FaultTransport
    jobset_uid: dict[str, str] = {}
    """Of jobs, by name."""

    def pods(self) -> ReportingPods:
        """What a server asks about pods: the job's JobSet is the one that `jobset_uid` names."""
        return ReportingPods(self.client, lambda job: self.jobset_uid.get(job.name, ""))

    async def pod(self, jobset_uid: str, name: str = "pod") -> None:
        """A pod of that JobSet."""
        metadata = {"name": name, "labels": {"jobset.sigs.k8s.io/jobset-uid": jobset_uid}}
        spec = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
        await self.client.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, self.namespace)

    async def token(self, *, job: str = JOB, audiences: list[str] | None = None, pod: str = "") -> str:
        spec: Json = {"audiences": audiences or [audience(self.namespace, job)]}
        if pod:
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": pod}
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
