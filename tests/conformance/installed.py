"""The operator as it is installed, without a kubelet: its objects applied to a real control plane, its process beside it.

The process runs as the installation's ServiceAccount, and is reached through its Service: an EndpointSlice names this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Self

import pytest
import yaml

from control_plane import ControlPlane, free_ports
from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CUSTOM_RESOURCE_DEFINITIONS,
    ENDPOINT_SLICES,
    ROLE_BINDINGS,
    ROLES,
    Resource,
)
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.install import manifests, values
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.errors import NotFound, ServerProblem

NAMESPACE = "shunter-system"
SERVICE = "shunter-webhook"
SECRET = "shunter-webhook-certificate"
USER = f"system:serviceaccount:{NAMESPACE}:shunter-operator"
GROUPS = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated")
CONTAINER = {"name": "pytorch", "image": "python"}
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
INSTALLED_FIRST = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service")
INSTALLED_LAST = ("ClusterTrainingRuntime", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def definitions() -> list[Json]:
    """Our CustomResourceDefinitions; JobSet's is the control plane's."""
    found = [yaml.load(path.read_text(), yaml.CSafeLoader) for path in sorted(CRDS.glob("*.yaml"))]
    return [definition for definition in found if not definition["metadata"]["name"].startswith("jobsets.")]


async def install(
    client: Client, *, namespaces: Sequence[str] = (), crds: Sequence[Json] | None = None, config: Json | None = None
) -> None:
    """Applies CRDs and all objects of an installation but its Deployment, whose place the tests take."""
    for definition in definitions() if crds is None else crds:
        await client.apply(CUSTOM_RESOURCE_DEFINITIONS, definition)
        await established(client, definition["metadata"]["name"])
    given = values.checked({"namespaces": list(namespaces), "config": config or {}})
    objects = manifests.manifests(given, namespace=NAMESPACE)
    for kinds in (INSTALLED_FIRST, INSTALLED_LAST):
        for body in objects:
            if body["kind"] in kinds:
                await client.apply(resource_of(body), body, field_validation="Strict")


async def established(client: Client, name: str, *, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        definition = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name)
        conditions = (definition.get("status") or {}).get("conditions") or []
        if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
            return
    raise AssertionError(f"CustomResourceDefinition {name} is not established")


def resource_of(body: Json) -> Resource:
    """Where an object is posted."""
    group, _, version = body["apiVersion"].rpartition("/")
    kind = body["kind"]
    plural = f"{kind.lower()}s"
    return Resource(group, version, kind, plural, "namespace" in body["metadata"])


def installed_rules(namespaces: Sequence[str] = ()) -> list[tuple[str, Json]]:
    """Every rule that binds the operator: the namespace it holds in (empty: everywhere), and the rule."""
    objects = manifests.manifests(values.checked({"namespaces": list(namespaces)}), namespace=NAMESPACE)
    roles = {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one["rules"]
        for one in objects
        if one["kind"] in (CLUSTER_ROLES.kind, ROLES.kind)
    }
    found = []
    for binding in objects:
        if binding["kind"] not in (CLUSTER_ROLE_BINDINGS.kind, ROLE_BINDINGS.kind):
            continue
        if not any(subject["kind"] == "ServiceAccount" for subject in binding["subjects"]):
            continue
        where = binding["metadata"].get("namespace", "")
        reference = binding["roleRef"]
        role = roles[reference["kind"], where if reference["kind"] == ROLES.kind else "", reference["name"]]
        found += [(where, rule) for rule in role]
    return found


class Replica:
    """One operator process, started with the flags of the installed Deployment."""

    def __init__(
        self,
        plane: ControlPlane,
        directory: Path,
        name: str = "a",
        *,
        cert_dir: Path | None = None,
        flags: Sequence[str] = (),
        launcher: Sequence[str] = (),
    ) -> None:
        """`launcher` is a command that changes what the process may do and then becomes it."""
        self.address = machine_address()
        self.webhook_port, health, metrics = free_ports(3)
        self.health = f"127.0.0.1:{health}"
        self.metrics = f"127.0.0.1:{metrics}"
        self.log = directory / f"operator-{name}.log"
        self.slice = f"{SERVICE}-{name}"
        config = directory / f"kubeconfig-{name}"
        config.write_text(json.dumps(service_account(plane)))
        certificate = f"--webhook-cert-dir={cert_dir}" if cert_dir else f"--webhook-secret={SECRET}"
        self._command = [
            *launcher,
            *(str(Path(sys.executable).with_name("shunter")), "operator", f"--kubeconfig={config}"),
            *(f"--webhook-service={SERVICE}", certificate),
            *(f"--webhook-host={self.address}", f"--webhook-port={self.webhook_port}"),
            *(f"--health-probe-bind-address={self.health}", f"--metrics-bind-address={self.metrics}"),
            *flags,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=environment)

    @property
    def pid(self) -> int:
        assert self._process is not None, "the replica was started"
        return self._process.pid

    def stop(self, *, kill: bool = False) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            self._process.wait(30)
            self._process = None

    def readiness(self) -> tuple[int, str]:
        """Status and text of /readyz?verbose; status 0 while nothing listens."""
        return _get(f"http://{self.health}/readyz?verbose")

    def metric(self, name: str) -> float:
        """The sum of a metric's series."""
        lines = _get(f"http://{self.metrics}/metrics")[1].splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if re.match(rf"{name}[{{ ]", line))

    def wait_ready(self, *, seconds: float = 60.0) -> None:
        eventually(
            lambda: self.readiness()[0] == 200, what=lambda: f"{self.readiness()[1]}\n{self.log.read_text()}", seconds=seconds
        )


class Endpoints:
    """Plays kubelet and endpoint slice controller: the webhooks' Service leads to the replicas that say that they are ready."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._replicas: list[Replica] = []
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._following is not None
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)
        for replica in list(self._replicas):
            await self.remove(replica)

    def add(self, replica: Replica) -> None:
        self._replicas.append(replica)

    async def remove(self, replica: Replica) -> None:
        """As when its pod begins to end."""
        self._replicas.remove(replica)
        with contextlib.suppress(NotFound):
            await self._client.delete(ENDPOINT_SLICES, replica.slice, NAMESPACE)

    async def _follow(self) -> None:
        known: dict[str, bool] = {}
        while True:
            for replica in list(self._replicas):
                is_ready = (await asyncio.to_thread(replica.readiness))[0] == 200
                if known.get(replica.slice) != is_ready and replica in self._replicas:
                    await self._client.apply(ENDPOINT_SLICES, self._slice(replica, is_ready))
                    known[replica.slice] = is_ready
            await asyncio.sleep(0.2)

    def _slice(self, replica: Replica, is_ready: bool) -> Json:
        labels = {"kubernetes.io/service-name": SERVICE, "endpointslice.kubernetes.io/managed-by": "tests.shunter.dev"}
        return {
            "apiVersion": ENDPOINT_SLICES.api_version,
            "kind": ENDPOINT_SLICES.kind,
            "metadata": {"name": replica.slice, "namespace": NAMESPACE, "labels": labels},
            "addressType": "IPv4",
            "ports": [{"name": "webhook", "port": replica.webhook_port, "protocol": "TCP"}],
            "endpoints": [{"addresses": [replica.address], "conditions": {"ready": is_ready}}],
        }


async def is_admitting(client: Client, namespace: str = "default") -> bool:
    """Whether a job may be created, for all that the webhooks have to say."""
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": {"containers": [CONTAINER]}}}}}
    head = {"apiVersion": PYTORCH_JOBS.api_version, "kind": PYTORCH_JOBS.kind, "metadata": {"generateName": "a-"}}
    try:
        await client.create(PYTORCH_JOBS, {**head, "spec": spec}, namespace, dry_run=True)
    except ServerProblem:
        return False
    return True


async def is_there(client: Client, resource: Resource, name: str, namespace: str) -> bool:
    try:
        await client.get(resource, name, namespace)
    except NotFound:
        return False
    return True


async def until(condition: Callable[[], Awaitable[bool]], what: Callable[[], str] = str, *, seconds: float = 120.0) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not await condition():  # noqa: ASYNC110 -- the condition is the server's
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"not within {seconds:.0f} s: {what()}")


def service_account(plane: ControlPlane) -> Json:
    """A kubeconfig with the rights and the namespace that the installed pod has."""
    content: Json = json.loads(plane.kubeconfig_for(USER, GROUPS).read_text())
    content["contexts"][0]["context"]["namespace"] = NAMESPACE
    return content


def as_operator(plane: ControlPlane) -> Client:
    return connect(kubeconfig.load(plane.kubeconfig_for(USER, GROUPS)), component="tests")


def admin(plane: ControlPlane) -> Client:
    return connect(kubeconfig.load(plane.kubeconfig), component="tests")


def machine_address() -> str:
    """An address of this machine that is not loopback: endpoints may not be."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("198.51.100.1", 9))
        return str(probe.getsockname()[0])


def eventually(condition: Callable[[], object], *, what: Callable[[], str] = lambda: "", seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what()}"
        time.sleep(0.05)


def _get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)
