"""The inventory of a cluster: every page of every kind, also those that other processes convert."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from faults.planes import Plane
from shunter.api.resources import NAMESPACES, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, Resource
from shunter.api.training.kinds import JOB_KINDS
from shunter.kube.client import Client
from shunter.migrate.conversion.source import live
from shunter.migrate.conversion.suppression import parsed
from shunter.migrate.options import Options
from shunter.migrate.survey.inventory.collecting import InventoryOptions, of_cluster
from shunter.migrate.survey.inventory.fleet import fleet

pytestmark = pytest.mark.integration

WANTED = InventoryOptions(Options(suspend=True), datetime(2026, 11, 21, tzinfo=UTC))
RESOURCES = {kind.resource.kind: kind.resource for kind in JOB_KINDS}


def job(name: str, kind: str = "PyTorchJob", policy: str = "Never") -> dict[str, Any]:
    container = {
        "name": "pytorch" if kind == "PyTorchJob" else "tensorflow",
        "image": "trainer:1",
        "command": ["torchrun", "a.py"],
    }
    role = {"replicas": 1, "restartPolicy": policy, "template": {"spec": {"containers": [container]}}}
    specs = {"pytorchReplicaSpecs": {"Master": role}} if kind == "PyTorchJob" else {"tfReplicaSpecs": {"Worker": role}}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name}, "spec": specs}


@pytest.fixture
async def namespace(client: Client) -> str:
    name = f"inventory-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


async def created(client: Client, namespace: str, *jobs: dict[str, Any]) -> None:
    for value in jobs:
        resource: Resource = RESOURCES[value["kind"]]
        await client.create(resource, value, namespace)


async def test_jobs_of_all_kinds_are_classed(client: Client, namespace: str) -> None:
    await created(client, namespace, job("a"), job("b", policy="Always"), job("c", kind="TFJob"))
    entries, findings = await of_cluster(client, [namespace], WANTED)
    found = fleet(entries)
    assert findings == []
    assert found.kinds == {"PyTorchJob": 2, "TFJob": 1}
    assert {row.name: row.job_class for row in found.entries}["b"] == "blocked"
    assert {row.state for row in found.entries} == {"Created"}


async def test_what_is_taken_on_does_not_block(client: Client, namespace: str) -> None:
    await created(client, namespace, job("b", policy="Always"))
    known = parsed("suppressions:\n- {id: RESTART001, reason: it loops}", "migration.yaml")
    entries, _ = await of_cluster(client, [namespace], WANTED._replace(known=known))
    assert [row.job_class for row in entries] == ["complex"]


async def test_pages_after_the_first_come_from_other_processes(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await created(client, namespace, *(job(f"job-{number}") for number in range(5)))
    monkeypatch.setattr(Client.pages, "__kwdefaults__", {**(Client.pages.__kwdefaults__ or {}), "limit": 2})
    counts: list[int] = []
    entries, _ = await of_cluster(client, [namespace], WANTED, advance=counts.append)
    assert sorted(row.name for row in entries) == [f"job-{number}" for number in range(5)]
    assert sorted(counts) == [0, 0, 0, 0, 0, 1, 2, 2]


async def test_all_jobs_are_read_in_order(client: Client, namespace: str) -> None:
    await created(client, namespace, job("b"), job("a"), job("a", kind="TFJob"))
    found = await live.jobs(client, [namespace])
    assert [source.title for source in found.jobs] == [
        f"PyTorchJob {namespace}/a", f"PyTorchJob {namespace}/b", f"TFJob {namespace}/a",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "said"),
    [(("inventory", "-o", "csv"), "PyTorchJob"), (("report", "--output-dir", "out"), "out/index.html")],
    ids=["inventory", "report"],
)
async def test_the_commands_read_a_cluster(
    client: Client, namespace: str, plane: Plane, tmp_path: Path, verb: tuple[str, ...], said: str
) -> None:
    await created(client, namespace, job("a"))
    command = [sys.executable, "-m", "shunter.cli.main", "migrate", *verb, "--cluster", "-n", namespace]
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "NO_COLOR": "1"}
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout + done.stderr


async def test_a_report_on_a_cluster_that_does_not_list_a_kind_says_so_and_ends_with_3(
    client: Client, namespace: str, plane: Plane, tmp_path: Path
) -> None:
    token = await token_that_may_list(client, namespace, "pytorchjobs")
    config = yaml.load(plane.kubeconfig.read_text(), yaml.CSafeLoader)
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "shunter.cli.main", "migrate", "report", "--cluster", "-n", namespace]
    environment = {**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig"), "NO_COLOR": "1"}
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "INPUT008 TFJobs of namespace" in done.stderr
    assert "Not all was read" in (tmp_path / "migration-report" / "index.md").read_text()


async def token_that_may_list(client: Client, namespace: str, plural: str) -> str:
    """The token of a service account that may list one kind of v1 jobs in its namespace, and do nothing else."""
    api, metadata = "rbac.authorization.k8s.io", {"name": "reader", "namespace": namespace}
    await client.create(SERVICE_ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    rule = {"apiGroups": ["kubeflow.org"], "resources": [plural], "verbs": ["get", "list"]}
    await client.create(ROLES, {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]})
    subject = {"kind": "ServiceAccount", **metadata}
    role = {"apiGroup": api, "kind": "Role", "name": "reader"}
    binding = {"apiVersion": f"{api}/v1", "kind": "RoleBinding", "metadata": metadata, "subjects": [subject], "roleRef": role}
    await client.create(ROLE_BINDINGS, binding)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await client.create(SERVICE_ACCOUNTS, request, namespace, subresource="token", name="reader")
    return str(answer["status"]["token"])
