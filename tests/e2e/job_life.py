"""Lives of jobs, side by side: each has a namespace of its own and containers that do what its story tells them, when it does.

A container takes commands from a named pipe, so that the story decides when a process ends and how.
"""

from __future__ import annotations

import asyncio
import errno
import os
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from e2e.running_cluster import Cluster
from faults.history import History
from player.shape import Json
from shunter.api.resources import CONFIG_MAPS, CORE_EVENTS, PODS, ROLES, SERVICE_ACCOUNTS, SERVICES, Resource
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.cli.describe import described
from shunter.cluster.target import Target
from shunter.kube import kubeconfig
from shunter.kube.client import connect

AT_ONCE = 14
"""Lives that are led at one time: enough that waiting costs little, and few enough for two cores."""
SECONDS = 45.0
"""How long anything may take on a busy machine."""
QUIET = 0.4
"""Seconds without a change after which a life is taken to be at rest."""
KINDS: Mapping[str, JobKind] = {kind.resource.kind: kind for kind in JOB_KINDS}
KEPT = (PODS, SERVICES, CONFIG_MAPS, SERVICE_ACCOUNTS, ROLES)
ITS_OWN = ("default", "kube-root-ca.crt")
"""What every namespace has."""
INCIDENTAL = ("SuccessfulCreatePod", "SuccessfulCreateService", "ContainersNotReady", "ContainersNotInitialized")
"""Events that tell of each creation, or of a pod that was seen on its way up."""
OBEDIENT = 'while read -r command <"/told/$POD"; do eval "$command"; done'


def job(kind: str, roles: Mapping[str, tuple[int, str]], *, script: str = OBEDIENT, **run_policy: Any) -> Json:
    """A job `j`; roles map to their number of replicas and restart policy."""
    definition = KINDS[kind]
    container = {
        "name": definition.container,
        "image": "any:1",
        "command": ["sh", "-c", script],
        "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    }
    pod = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    replica_specs = {
        role: {"replicas": replicas, "restartPolicy": policy, "template": {"spec": pod}}
        for role, (replicas, policy) in roles.items()
    }
    return {
        "apiVersion": definition.resource.api_version,
        "kind": kind,
        "metadata": {"name": "j"},
        "spec": {definition.replica_specs: replica_specs, "runPolicy": run_policy},
    }


class Life:
    """The job `j` of one namespace, as its user and an onlooker see it."""

    def __init__(self, cluster: Cluster, history: History, namespace: str, directory: Path) -> None:
        self.cluster = cluster
        self.client = history.client
        self.history = history
        self.namespace = namespace
        self.resource: Resource = PODS
        self.uid = ""
        self._told = directory

    async def begins(self, wanted: Json) -> None:
        """Creates the job."""
        self.resource = KINDS[wanted["kind"]].resource
        for name in self._pod_names(wanted):
            if not (self._told / name).exists():
                os.mkfifo(self._told / name)
                os.chmod(self._told / name, 0o666)
        for spec in wanted["spec"][KINDS[wanted["kind"]].replica_specs].values():
            pod = spec["template"]["spec"]
            pod["volumes"] = [{"name": "told", "hostPath": {"path": str(self._told)}}]
            pod["containers"][0]["volumeMounts"] = [{"name": "told", "mountPath": "/told"}]
        made = await self.client.create(self.resource, wanted, self.namespace, view=dict)
        self.uid = made["metadata"]["uid"]

    async def tell(self, pod: str, command: str) -> None:
        """Has the pod's container run a command: it must be waiting for one."""
        async with asyncio.timeout(SECONDS):
            while True:
                try:
                    pipe = os.open(self._told / pod, os.O_WRONLY | os.O_NONBLOCK)
                except OSError as error:
                    if error.errno != errno.ENXIO:
                        raise
                    await asyncio.sleep(0.02)  # a pipe tells nobody that it has a reader
                    continue
                os.write(pipe, f"{command}\n".encode())
                os.close(pipe)
                return

    async def patch(self, spec: Json) -> None:
        await self.client.patch(self.resource, "j", self.namespace, {"spec": spec})

    async def scale(self, workers: int) -> None:
        """What `kubectl scale` does."""
        await self.client.patch(self.resource, "j", self.namespace, {"spec": {"replicas": workers}}, subresource="scale")

    async def evict(self, pod: str) -> None:
        """What `kubectl drain` does to a pod."""
        metadata = {"name": pod, "namespace": self.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        await self.client.create(PODS, body, subresource="eviction", name=pod)

    async def until(self, condition: Callable[[], Any], *, seconds: float = SECONDS) -> None:
        await self.history.until(condition, seconds=seconds, otherwise=lambda: str(self.shown()))

    async def runs(self, *pods: str) -> None:
        """Returns when these pods run, none of them on its way out."""
        await self.until(lambda: all(self.is_running(pod) for pod in pods))

    async def becomes(self, state: str) -> None:
        """Returns when this is the job's state."""
        await self.until(lambda: self.states[-1:] == [state])

    async def comes_to_rest(self, **shown: Any) -> None:
        """Fails unless the job shows just this, and goes on doing so."""
        with suppress(AssertionError):
            await self.until(lambda: self.shown().items() >= shown.items())
            await self.history.quiet(self.namespace, seconds=QUIET)
        found = self.shown()
        different = [f"{name} is {found[name]}, not {wanted}" for name, wanted in shown.items() if found[name] != wanted]
        assert not different, "\n".join(different)

    async def is_described(self, *words: str) -> None:
        """Fails unless `shunter describe` says all this."""
        client = connect(kubeconfig.load(self.cluster.kubeconfig), component="test")
        text = "\n".join(await described(Target(client, None, ""), "j", self.namespace))
        missing = [one for one in words if one not in text]
        assert not missing, f"not said: {missing}\n{text}"

    def shown(self) -> Json:
        """What a person can see of the job: conditions in order, states so far, events, what is there, counters."""
        return {
            "conditions": [
                f"{one['type']}={one['status']} {one['reason']}: {one['message']}" for one in self.status.get("conditions", [])
            ],
            "states": self.states,
            "events": sorted(
                f"{event['reason']}: {event['message']}".replace(self.namespace, "NS")
                for event in self.history.present(CORE_EVENTS, self.namespace)
                if event["involvedObject"].get("uid") == self.uid and event["reason"] not in INCIDENTAL
            ),
            "left": [
                " ".join(filter(None, (kind.kind, obj["metadata"]["name"], obj.get("status", {}).get("phase", ""))))
                for kind in KEPT
                for obj in self.history.present(kind, self.namespace)
                if obj["metadata"]["name"] not in ITS_OWN
            ],
            "counts": {
                role: {what: number for what, number in counts.items() if what != "selector"}
                for role, counts in self.status.get("replicaStatuses", {}).items()
            },
            "has_ended": "completionTime" in self.status,
        }

    @property
    def status(self) -> Json:
        found = self.history.get(self.resource, self.namespace, "j")
        status: Json = (found or {}).get("status", {})
        return status

    @property
    def states(self) -> list[str]:
        """The state column of `kubectl get` over time."""
        states: list[str] = []
        for seen in self.history.of(self.resource, self.namespace):
            conditions = seen.object.get("status", {}).get("conditions")
            if seen.object["metadata"]["uid"] == self.uid and conditions and states[-1:] != [conditions[-1]["type"]]:
                states.append(conditions[-1]["type"])
        return states

    @property
    def is_gone(self) -> bool:
        found = self.history.get(self.resource, self.namespace, "j")
        return found is None or found["metadata"]["uid"] != self.uid

    def pod(self, name: str) -> Json:
        return self.history.get(PODS, self.namespace, name) or {}

    def is_running(self, pod: str) -> bool:
        found = self.pod(pod)
        statuses = found.get("status", {}).get("containerStatuses", [])
        runs = bool(statuses) and all("running" in status["state"] for status in statuses)
        return runs and "deletionTimestamp" not in found["metadata"]

    def is_owner(self, *pods: str) -> bool:
        """Whether these pods are the job's, and not those of one before it."""
        return all(
            any(owner["uid"] == self.uid for owner in self.pod(pod).get("metadata", {}).get("ownerReferences", []))
            for pod in pods
        )

    def restarts(self, pod: str) -> int:
        return sum(status["restartCount"] for status in self.pod(pod).get("status", {}).get("containerStatuses", []))

    def incarnations(self, pod: str) -> int:
        """How many pods ever had this name."""
        seen = self.history.of(PODS, self.namespace)
        return len({one.object["metadata"]["uid"] for one in seen if one.object["metadata"]["name"] == pod})

    def _pod_names(self, wanted: Json) -> list[str]:
        """Of the pods that there are, and of some that there may be after scaling."""
        roles = wanted["spec"][KINDS[wanted["kind"]].replica_specs]
        return ["j-launcher", *(f"j-{role.lower()}-{index}" for role in roles for index in range(4))]


def condition(kind: str, type: str, message: str, *, status: str = "True", cause: str = "") -> str:
    return f"{type}={status} {kind}{cause or type}: {message}"


def created(kind: str = "PyTorchJob") -> str:
    return condition(kind, "Created", f"{kind} j is created.")


def ran(kind: str = "PyTorchJob", name: str = "j") -> str:
    return condition(kind, "Running", f"{kind} {name} is running.", status="False")


def runs(kind: str = "PyTorchJob", name: str = "j") -> str:
    return condition(kind, "Running", f"{kind} {name} is running.")


EVICTION = "Pod j-worker-0 is deleted: Eviction API: evicting"
EVICTED = f"EvictionByEvictionAPI: {EVICTION}"
LOST_RANK = "RankFailed: rank 1, pod j-worker-0: EvictionByEvictionAPI: Eviction API: evicting"
SUCCEEDED = condition("PyTorchJob", "Succeeded", "PyTorchJob j is successfully completed.")


def pytorch(worker: str = "OnFailure", *, workers: int = 1, **run_policy: Any) -> Json:
    return job("PyTorchJob", {"Master": (1, "OnFailure"), "Worker": (workers, worker)}, **run_policy)


def pods(*names: str, phase: str = "Running") -> list[str]:
    """These pods and their services."""
    return [*(f"Pod {name} {phase}" for name in names), *(f"Service {name}" for name in names)]


async def running(life: Life, wanted: Json, *names: str) -> None:
    """The job is there and counts these pods as active."""
    await life.begins(wanted)
    await life.runs(*names)
    await life.becomes("Running")
    await life.until(lambda: sum(counts.get("active", 0) for counts in life.shown()["counts"].values()) == len(names))


Story = Callable[[Life], Awaitable[None]]


class Stories:
    """The stories of one module."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.stories: list[Story] = []

    def add(self, story: Story) -> Story:
        """A decorator."""
        self.names.append(story.__name__)
        self.stories.append(story)
        return story


class Ends(NamedTuple):
    """How each story ended: None, or what was wrong."""

    faults: Mapping[str, BaseException | None]

    def check(self, name: str) -> None:
        """Fails when the story of this name did not go as told."""
        if fault := self.faults[name]:
            raise fault


def lead(cluster: Cluster, stories: Sequence[Story], directory: Path) -> Ends:
    """Lives all these stories, in namespaces that are gone afterwards."""
    namespaces = [f"life-{uuid.uuid4().hex[:8]}" for _ in stories]
    cluster.create_namespace(*namespaces)
    directory.chmod(0o755)
    try:
        return Ends(asyncio.run(_led(cluster, dict(zip(namespaces, stories, strict=True)), directory)))
    finally:
        cluster.kubectl("delete", "namespace", "--wait=false", *namespaces)


async def _led(cluster: Cluster, stories: Mapping[str, Story], directory: Path) -> Mapping[str, BaseException | None]:
    resources = (*(kind.resource for kind in JOB_KINDS), *KEPT, CORE_EVENTS)
    turns = asyncio.Semaphore(AT_ONCE)
    async with History(kubeconfig.load(cluster.kubeconfig), resources) as history:

        async def led(namespace: str, story: Story) -> None:
            told = directory / namespace
            told.mkdir()
            told.chmod(0o777)
            async with turns:
                await history.until(lambda: history.get(SERVICE_ACCOUNTS, namespace, "default"))
                await story(Life(cluster, history, namespace, told))

        ends = await asyncio.gather(*(led(*one) for one in stories.items()), return_exceptions=True)
    return {story.__name__: end for story, end in zip(stories.values(), ends, strict=True)}
