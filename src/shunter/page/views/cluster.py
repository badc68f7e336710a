"""The view of the cluster: nodes and what is requested of them, waiting jobs and why they wait, queues, the operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from shunter.api.formats.quantity import parse
from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.api.resources import NODES, PODS
from shunter.api.scheduling.pod_requests import PodRequests, gpus_of, is_gpu, requested
from shunter.doctor.rank_locations import spans
from shunter.jobs.pods_up import requested_ranks
from shunter.kube.client import Client
from shunter.migrate.survey.inventory.gpu_hours import gpus
from shunter.operator.native_jobs import is_native, pods_at_once
from shunter.operator.overview import is_v1
from shunter.operator.pod_places import NATIVE_ROLE, V2_ROLE, place_by_labels
from shunter.page.cluster_readings import (
    OPERATOR_KINDS,
    QUEUES,
    operator_state,
    operator_text,
    queue_rows,
    server_version,
)
from shunter.page.views.jobs import open_jobs
from shunter.page.views.view import Observed, Parameters, Reading, Rows, View, Viewer, Watch
from shunter.page.wire import ClusterSummary, JobRow, NodeRow

OPERATOR_SECONDS = 15.0
QUEUE_SECONDS = 15.0
VERSION_SECONDS = 600.0
HOLDS_A_NODE = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
"""Selects pods that are scheduled, and have not ended."""
MOST_JOBS = 12
"""How many jobs are named for a node."""
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


class KeptPod(NamedTuple):
    """What is kept of a pod that holds resources of a node."""

    node: str
    cpu: float
    memory: int
    gpus: int
    job: str
    """`bert-large`, or `bert-large worker` where ranks are counted by role; empty for a pod of no training job."""
    place: int


class Cluster:
    """The view. Waiting jobs are taken from the list of jobs (`open_jobs`)."""

    def __init__(self, viewer: Viewer) -> None:
        self._is_embedded = viewer.page.is_embedded
        self._jobs = open_jobs(viewer, Parameters())
        self._job_watches = {watch.name for watch in self._jobs.watches}
        self.watches = (
            Watch("nodes", NODES, kept_node, ("cluster", "nodes"), "Nodes are not shown."),
            Watch(
                "holders",
                PODS,
                kept_holder,
                ("cluster", "nodes"),
                "The resources that pods request are not shown: this needs the pods of all namespaces.",
                field_selector=HOLDS_A_NODE,
                is_of_all=True,
            ),
            *(watch._replace(collections=("waiting",)) for watch in self._jobs.watches),
        )
        self.readings = (
            *(self._of_jobs(reading) for reading in self._jobs.readings if reading.name == "why"),
            Reading(
                "operator",
                self._operator,
                OPERATOR_SECONDS,
                OPERATOR_KINDS,
                "The state of the operator (installed, ready, leader) is only partly known.",
                is_of_all=True,
            ),
            Reading("queues", _queues, QUEUE_SECONDS, QUEUES, "Kueue's queues, or their quotas, are not shown.", is_of_all=True),
            Reading("version", _version, VERSION_SECONDS),
        )

    def rows(self, observed: Observed, now: float) -> Rows:
        """The summary, nodes by name, waiting jobs and queues. Figures of nodes are None if the viewer may not list the objects
        they are counted from."""
        nodes = observed.objects["nodes"]
        may_read_nodes, may_read_pods = "nodes" not in observed.refused, "holders" not in observed.refused
        by_node = grouped_by(observed.objects["holders"].values(), lambda pod: pod.node)
        rows = [node_row(node, by_node.get(node.name, ()) if may_read_pods else None) for node in nodes.values()]
        waiting = [
            row
            for row in self._jobs.rows(self._jobs_of(observed), now)["jobs"]
            if isinstance(row, JobRow) and row.state == "Waiting"
        ]
        jobs = {uid: kept for found in self._jobs_of(observed).objects.values() for uid, kept in found.items()}
        asked = [gpus_requested_by(jobs[row.id].object) for row in waiting]
        summary = ClusterSummary(
            id="cluster",
            version=observed.readings.get("version", ""),
            nodes=len(rows) if may_read_nodes else None,
            ready=sum(row.is_ready and row.is_schedulable for row in rows) if may_read_nodes else None,
            gpus=sum(row.gpus for row in rows) if may_read_nodes else None,
            gpus_asked=sum(row.gpus_asked or 0 for row in rows) if may_read_nodes and may_read_pods else None,
            waiting_jobs=len(waiting),
            waiting_gpus=sum(number or 0 for number in asked),
            is_waiting_more=None in asked,
            operator=observed.readings.get("operator", ""),
        )
        return {
            "cluster": (summary,),
            "nodes": sorted(rows, key=lambda row: row.name),
            "waiting": waiting,
            "queues": observed.readings.get("queues", ()),
        }

    async def _operator(self, client: Client, _: Observed) -> str:
        return operator_text(await operator_state(client), client.now(), is_embedded=self._is_embedded)

    def _jobs_of(self, observed: Observed) -> Observed:
        """Only the objects of the list of jobs."""
        return observed._replace(objects={name: found for name, found in observed.objects.items() if name in self._job_watches})

    def _of_jobs(self, reading: Reading) -> Reading:
        async def read(client: Client, observed: Observed) -> Any:
            return await reading.read(client, self._jobs_of(observed))

        return reading._replace(read=read)


def open_cluster(viewer: Viewer, parameters: Parameters) -> View:
    """The view for `VIEWS`."""
    return Cluster(viewer)


def kept_node(node: Json) -> NodeRow:
    """A node without what is requested of it. Pure."""
    status, spec = node.get("status") or {}, node.get("spec") or {}
    conditions = {one["type"]: one.get("status") for one in status.get("conditions") or ()}
    offered = status.get("allocatable") or status.get("capacity") or {}
    return NodeRow(
        id=node["metadata"]["uid"],
        name=node["metadata"]["name"],
        is_ready=conditions.get("Ready") == "True",
        is_schedulable=not spec.get("unschedulable", False),
        gpus=sum(int(parse(amount)) for name, amount in offered.items() if is_gpu(name)),
        cpu=float(parse(offered.get("cpu", 0))),
        memory=int(parse(offered.get("memory", 0))),
        pressure=tuple(name for name in _PRESSURES if conditions.get(name) == "True"),
    )


def kept_holder(pod: Json) -> KeptPod | None:
    """A scheduled pod, with what it requests. Pure."""
    if not pod["spec"].get("nodeName"):
        return None
    amounts = requested(msgspec.convert(pod["spec"], PodRequests))
    job, index = _job_of(pod["metadata"].get("labels") or {})
    return KeptPod(
        pod["spec"]["nodeName"],
        float(amounts.get("cpu", 0)),
        int(amounts.get("memory", 0)),
        gpus_of(pod["spec"]),
        job,
        index,
    )


def node_row(node: NodeRow, pods: Iterable[KeptPod] | None) -> NodeRow:
    """The node with what is requested of it, and by which jobs; without that if `pods` is None: not all could be read. Pure."""
    if pods is None:
        return node
    held = list(pods)
    return msgspec.structs.replace(
        node,
        gpus_asked=sum(pod.gpus for pod in held),
        cpu_asked=round(sum(pod.cpu for pod in held), 3),
        memory_asked=sum(pod.memory for pod in held),
        jobs=tuple(_job_texts(held)),
    )


def _job_texts(pods: Sequence[KeptPod]) -> list[str]:
    indexes: dict[str, list[int]] = {}
    for pod in pods:
        if pod.job:
            indexes.setdefault(pod.job, []).append(pod.place)
    texts = [f"{job} {', '.join(spans(found))}" for job, found in sorted(indexes.items())]
    return texts if len(texts) <= MOST_JOBS else [*texts[:MOST_JOBS], f"and {len(texts) - MOST_JOBS} more jobs"]


def _job_of(labels: Mapping[str, str]) -> tuple[str, int]:
    """The job of a pod by its labels, and its place in it."""
    name, role, index = place_by_labels(labels)
    return (f"{name} {role}" if name and role not in (NATIVE_ROLE, V2_ROLE) else name), index


def gpus_requested_by(job: Json) -> int | None:
    """The GPUs that all pods of a job that run at a time request together; None if only its runtime specifies them. Pure."""
    if is_v1(job):
        return gpus(job)
    if is_native(job):
        return pods_at_once(job) * gpus_of(job["spec"]["template"].get("spec") or {})
    number, resources = requested_ranks(job), (job["spec"].get("trainer") or {}).get("resourcesPerNode")
    return None if number is None or resources is None else number * gpus_of({"containers": [{"resources": resources}]})


async def _queues(client: Client, _: Observed) -> Any:
    return await queue_rows(client)


async def _version(client: Client, _: Observed) -> str:
    return await server_version(client)
