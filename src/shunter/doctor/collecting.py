"""Reads the evidence of a job from the API server, in parallel, and only what this job needs. What may not be read is named in
the evidence; the rest is read all the same."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Iterable, Sequence

import msgspec

from shunter.api.core import container_statuses, native_sidecars
from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.api.ownership import controller_uid
from shunter.api.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    NETWORK_POLICIES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    SECRETS,
    Resource,
)
from shunter.doctor.case import Case
from shunter.doctor.evidence import Evidence, Log, Missing
from shunter.doctor.launcher import has_launcher, host_file_name
from shunter.doctor.redaction import credentials_in, redacted
from shunter.doctor.rights import Rights, rights_in
from shunter.doctor.rules.cluster.k02_room import insufficient
from shunter.doctor.rules.logs.t07_address import CLIENT
from shunter.doctor.rules.logs.texts import matching
from shunter.jobs.evidence import evidence_of
from shunter.jobs.logs.reading import CONCURRENT_LOGS
from shunter.jobs.training_pods import training_container
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, BadRequest, ConnectionProblem, NotFound, ServerTimeout
from shunter.operator.diagnosis import failed
from shunter.operator.overview import is_pod_of

TAIL_LINES = 1000
"""Lines of each log, from its end."""
LIMIT_BYTES = 512 * 1024
MOST_LOGS = 256
"""Pods whose logs are read; those that failed first."""
POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "PodMetrics", "pods")


async def api_evidence(
    client: Client,
    job: Json,
    *,
    reads_secrets: bool = True,
    most_logs: int = MOST_LOGS,
    events: Sequence[Json] | None = None,
) -> Evidence:
    """The evidence of the job, without credentials. Secrets are read only to mask their values in logs. `events` are those about
    the job, from a caller that watches them; by default those of its namespace are listed."""
    return (await _Reader(client, job, reads_secrets, most_logs, events).read())[0]


async def api_evidence_and_credentials(client: Client, job: Json) -> tuple[Evidence, set[str]]:
    """`api_evidence`, and the values that are masked in it: processes have them in their command lines. To be forgotten with the
    diagnosis."""
    return await _Reader(client, job, reads_secrets=True, most_logs=MOST_LOGS, events=None).read()


class _Reader:
    """Reads the evidence of one job."""

    def __init__(self, client: Client, job: Json, reads_secrets: bool, most_logs: int, events: Sequence[Json] | None) -> None:
        self._client = client
        self._job = job
        self._reads_secrets = reads_secrets
        self._most_logs = most_logs
        self._events = events
        self._namespace: str = job["metadata"]["namespace"]
        self._missing: dict[str, Missing] = {}
        self._silent_nodes: set[str] = set()
        """The nodes that do not answer with logs."""
        self._free = asyncio.Semaphore(CONCURRENT_LOGS)
        self._rights = Rights(namespace=self._namespace)

    async def read(self) -> tuple[Evidence, set[str]]:
        """Reads in two rounds: the job's objects, then its logs and what those objects need. Without credentials, and those."""
        self._rights, found, claims, node_events = await asyncio.gather(
            rights_in(self._client, self._namespace),
            evidence_of(self._client, self._job, self._events),
            self._listed(PERSISTENT_VOLUME_CLAIMS),
            self._listed(CORE_EVENTS, "default", field_selector="involvedObject.kind=Node", what="node events"),
        )
        for kind in found.unread:
            self._refused(kind)
        evidence = Evidence(
            job=self._job,
            at=self._client.now(),
            pods=tuple(pod for pod in found.pods if is_pod_of(self._job, pod)),
            events=(*found.events, *node_events),
            children=tuple(found.children),
            workloads=None if found.workloads is None else tuple(found.workloads),
            position=found.position,
            claims=tuple(claims),
        )
        logs, nodes, cpu, secrets, hosts = await asyncio.gather(
            self._logs(evidence.pods),
            self._nodes(evidence),
            self._cpu(evidence),
            self._secrets(evidence.pods),
            self._hosts(evidence),
        )
        evidence = msgspec.structs.replace(evidence, logs=logs, nodes=nodes, cpu=cpu, children=(*evidence.children, *hosts))
        case = Case(evidence, evidence.at)
        neighbours, policies = await asyncio.gather(self._neighbours(case), self._policies(case))
        evidence = msgspec.structs.replace(
            evidence,
            neighbours=neighbours,
            policies=policies,
            missing=tuple(self._missing.values()),
            events=_related_events(evidence),
        )
        known = await asyncio.to_thread(credentials_in, evidence, secrets)
        return await asyncio.to_thread(redacted, evidence, known), known

    def _refused(self, what: str, error: ApiError | None = None) -> None:
        """Records that something could not be read, with the missing permission or the server's message."""
        why = self._rights.refusal("list", what) if error is None or error.code == 403 else error.message
        self._missing.setdefault(what, Missing(what=what, why=why))

    async def _listed(self, resource: Resource, namespace: str = "", *, field_selector: str = "", what: str = "") -> list[Json]:
        """The objects of the job's namespace, or of another; empty if the kind is not served, or refused, which is recorded."""
        where = (namespace or self._namespace) if resource.namespaced else ""
        try:
            page = await self._client.list(resource, where, field_selector=field_selector)
        except NotFound:
            return []
        except ConnectionProblem:
            raise
        except ApiError as error:
            self._refused(what or resource.plural, error)
            return []
        return list(page.items)

    async def _logs(self, pods: Sequence[Json]) -> tuple[Log, ...]:
        """The logs of each container that trains, initializes or failed: of its current run and the one before. If there are too
        many pods, those that failed come first."""
        chosen = sorted(pods, key=lambda pod: not _has_failed(pod))[: self._most_logs]
        containers = [one for pod in chosen for one in _containers(pod)]
        if containers and not self._rights.allows("get", "pods/log"):
            self._missing["logs"] = Missing(what="logs", why=self._rights.refusal("get", "pods/log"))
            return ()
        if len(pods) > len(chosen):
            self._missing["logs"] = Missing(what="logs", why=f"the logs of {len(chosen)} of {len(pods)} pods were read")
        read = await asyncio.gather(*(self._log_of(pod, container, previous) for pod, container, previous in containers))
        if silent := sorted(self._silent_nodes):
            why = f"node {silent[0]} does not respond" if len(silent) == 1 else f"nodes {', '.join(silent)} do not respond"
            self._missing["logs"] = Missing(what="logs", why=why, is_refused=False)
        return tuple(log for log in read if log is not None)

    async def _log_of(self, pod: Json, container: str, previous: bool) -> Log | None:
        """The log; None if there is none, or it cannot be read. A node that does not respond is waited for no second time."""
        async with self._free:
            if pod["spec"].get("nodeName", "") in self._silent_nodes:
                return None
            return await self._log(pod, container, previous)

    async def _log(self, pod: Json, container: str, previous: bool) -> Log | None:
        name = pod["metadata"]["name"]
        chunks = self._client.logs(
            name, self._namespace, container=container, previous=previous, timestamps=True, tail_lines=TAIL_LINES
        )
        found = bytearray()
        try:
            async for chunk in chunks:
                found += chunk
                del found[:-LIMIT_BYTES]
        except (NotFound, BadRequest):
            return None  # The container has not started, or its log is gone.
        except ServerTimeout:
            self._silent_nodes.add(pod["spec"].get("nodeName", ""))
            return None
        except ConnectionProblem:
            raise
        except ApiError as error:
            why = self._rights.refusal("get", "pods/log") if error.code == 403 else error.message
            self._missing.setdefault("logs", Missing(what="logs", why=why))
            return None
        return Log(pod=name, container=container, text=found.decode(errors="replace"), is_previous=previous)

    async def _nodes(self, evidence: Evidence) -> tuple[Json, ...]:
        """The nodes, only for a job that does not run in full: a large cluster has many."""
        case = Case(evidence, evidence.at)
        if case.runs_in_full or case.overview.state == "Succeeded":
            return ()
        return tuple(await self._listed(NODES))

    async def _hosts(self, evidence: Evidence) -> list[Json]:
        """The ConfigMap that lists the nodes of a TrainJob with MPI: it says whether the launcher is one of them."""
        if not has_launcher(self._job, evidence.pods, Case(evidence, evidence.at).jobset):
            return []
        found = await self._listed(CONFIG_MAPS, field_selector=f"metadata.name={host_file_name(self._job)}")
        return [{"kind": CONFIG_MAPS.kind, **one} for one in found if controller_uid(one) == self._job["metadata"]["uid"]]

    async def _cpu(self, evidence: Evidence) -> dict[str, float]:
        """The cores that each pod uses, if the cluster serves metrics."""
        if not Case(evidence, evidence.at).runs_in_full:
            return {}
        names = {pod["metadata"]["name"] for pod in evidence.pods}
        try:
            page = await self._client.list(POD_METRICS, self._namespace)
        except ConnectionProblem:
            raise
        except ApiError as error:
            is_refused = error.code == 403
            why = self._rights.refusal("list", "pods.metrics.k8s.io") if is_refused else "the cluster serves no metrics"
            self._missing["metrics"] = Missing(what="metrics", why=why, is_refused=is_refused)
            return {}
        return {
            item["metadata"]["name"]: float(
                sum(parse((one.get("usage") or {}).get("cpu", 0)) for one in item.get("containers") or ())
            )
            for item in page.items
            if item["metadata"]["name"] in names
        }

    async def _neighbours(self, case: Case) -> tuple[Json, ...]:
        """Scheduled pods of all namespaces, if a pod of the job does not fit on a node."""
        texts = [text for _, text, _ in case.pods_blocked_by(("Unschedulable",))]
        if not insufficient(texts):
            return ()
        try:
            page = await self._client.list(PODS, "", field_selector="spec.nodeName!=")
        except ConnectionProblem:
            raise
        except ApiError:
            return ()  # The verdict then does not name the pods that hold the resource.
        return tuple(_holder(pod) for pod in page.items)

    async def _policies(self, case: Case) -> tuple[Json, ...]:
        return tuple(await self._listed(NETWORK_POLICIES)) if matching(case, CLIENT) else ()

    async def _secrets(self, pods: Iterable[Json]) -> set[str]:
        """The values of Secrets that containers get as variables, to mask them in logs. They are not kept."""
        names = {name for pod in pods for name in _secret_names(pod)} if self._reads_secrets else set()
        if not names or not self._rights.allows("get", "secrets"):
            return set()
        read = await asyncio.gather(
            *(self._client.get(SECRETS, name, self._namespace) for name in sorted(names)), return_exceptions=True
        )
        found: set[str] = set()
        for one in read:
            if isinstance(one, dict):
                found.update(text for value in (one.get("data") or {}).values() if (text := _decoded(value)))
        return found


def _containers(pod: Json) -> list[tuple[Json, str, bool]]:
    """The logs to read of a pod: pod, container, whether of the run before. Sidecars that start before the training are read
    only if they failed."""
    found, names = [], {training_container(pod)}
    sidecars = native_sidecars(pod)
    statuses = pod.get("status", {}).get("initContainerStatuses") or ()
    names |= {one["name"] for one in statuses if one["name"] not in sidecars and "running" in one.get("state", {})}
    for one in container_statuses(pod):
        state, last = one.get("state", {}), one.get("lastState", {})
        if one["name"] in names or failed(state) is not None:
            if "running" in state or "terminated" in state:
                found.append((pod, one["name"], False))
            if "terminated" in last:
                found.append((pod, one["name"], True))
    return found


def _has_failed(pod: Json) -> bool:
    runs = [one.get(state) or {} for one in container_statuses(pod) for state in ("state", "lastState")]
    return pod.get("status", {}).get("phase") == "Failed" or any(failed(run) is not None for run in runs)


def _holder(pod: Json) -> Json:
    """The fields of another pod that rules need."""
    metadata = {key: pod["metadata"].get(key) for key in ("name", "namespace", "ownerReferences")}
    resources = ("containers", "initContainers", "overhead", "resources")
    spec = {key: pod["spec"][key] for key in resources if key in pod["spec"]}
    for key in ("containers", "initContainers"):
        if key in spec:
            spec[key] = [{"name": one["name"], "resources": one.get("resources") or {}} for one in spec[key]]
    return {"metadata": metadata, "spec": spec, "status": {"phase": pod.get("status", {}).get("phase")}}


def _related_events(evidence: Evidence) -> tuple[Json, ...]:
    """The events about the job, its objects, its pods (also those that are gone), and their nodes."""
    name = evidence.job["metadata"]["name"]
    nodes = {pod.get("spec", {}).get("nodeName") for pod in evidence.pods}
    return tuple(
        event
        for event in evidence.events
        for about in [event.get("involvedObject", {})]
        if (about.get("name") in nodes if about.get("kind") == "Node" else str(about.get("name", "")).startswith(name))
    )


def _secret_names(pod: Json) -> Iterable[str]:
    for container in [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]:
        for variable in container.get("env") or ():
            reference = (variable.get("valueFrom") or {}).get("secretKeyRef") or {}
            if reference.get("name"):
                yield reference["name"]
        for source in container.get("envFrom") or ():
            if (source.get("secretRef") or {}).get("name"):
                yield source["secretRef"]["name"]


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
