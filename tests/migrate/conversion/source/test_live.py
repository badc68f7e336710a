"""Jobs of a cluster, read page by page."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import sys
import uuid

import pytest
import yaml

from faults.planes import Plane
from shunter.api.meta import Json
from shunter.api.resources import NAMESPACES, SECRETS, TRAINING_RUNTIMES
from shunter.api.training.pytorch import KIND as PYTORCH_JOB
from shunter.api.training.tensorflow import KIND as TF_JOB
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.migrate.conversion.source.helm_release import manifest_of_release
from shunter.migrate.conversion.source.live import KINDS, jobs, require_namespaces

pytestmark = pytest.mark.integration


def job(name: str, namespace: str, **labels: str) -> Json:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "example.org/train:1"}]}}
    specs = {"Master": {"replicas": 1, "restartPolicy": "Never", "template": template}}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": {"pytorchReplicaSpecs": specs}}


async def test_jobs_are_found_by_namespace_and_labels_with_kind_and_version(client: Client) -> None:
    spaces = [f"live-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    for space in spaces:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        for name in ("b", "a"):
            await client.create(PYTORCH_JOB.resource, job(name, space, team=name))
    counted: list[int] = []
    found = await jobs(client, spaces, read=counted.append)
    assert [source.title for source in found.jobs] == [f"PyTorchJob {space}/{name}" for space in sorted(spaces) for name in "ab"]
    assert {source.api_version for source in found.jobs} == {"kubeflow.org/v1"}
    assert str(found.jobs[0].place(("spec",))) == f"{found.jobs[0].title}:.spec"
    assert (sum(counted), found.findings) == (4, ())
    chosen = await jobs(client, spaces[:1], label_selector="team=b")
    assert [source.name for source in chosen.jobs] == ["b"]
    assert (await jobs(client, spaces, kinds=[TF_JOB.resource])).jobs == ()
    assert len(KINDS) == 6


async def test_a_kind_that_the_cluster_does_not_serve_has_no_jobs(client: Client) -> None:
    unknown = PYTORCH_JOB.resource._replace(plural="pytorchtrains")
    assert await jobs(client, kinds=[unknown]) == ((), ())


async def test_a_namespace_that_does_not_exist_is_no_namespace_without_jobs(client: Client) -> None:
    with pytest.raises(InputError, match="namespace no-such-team does not exist in the cluster"):
        await require_namespaces(client, ["", "default", "no-such-team"])


async def convert(plane: Plane, *arguments: str) -> tuple[int, list[Json], str]:
    """The exit code, the manifests, and what was told."""
    command = [sys.executable, "-m", "shunter.cli.main", "migrate", "convert", "--kubeconfig", str(plane.kubeconfig), *arguments]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, told = await process.communicate()
    return process.returncode or 0, list(filter(None, yaml.safe_load_all(out))), told.decode()


async def test_convert_reads_a_cluster_and_suspends_what_comes_of_it(client: Client, plane: Plane) -> None:
    space = f"live-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    await client.create(PYTORCH_JOB.resource, job("a", space))
    code, (runtime, train_job), told = await convert(plane, "--cluster", "-n", space)
    assert (code, "1 of 1 job converted" in told) == (0, True), told
    assert (runtime["kind"], runtime["metadata"]["namespace"]) == ("TrainingRuntime", space)
    assert train_job["spec"]["suspend"] is True
    assert "uid" not in train_job["metadata"]


async def test_convert_takes_the_runtimes_that_the_cluster_has(client: Client, plane: Plane) -> None:
    space = f"live-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    await client.create(PYTORCH_JOB.resource, job("a", space))
    _, (runtime, _), _ = await convert(plane, "--cluster", "-n", space)
    await client.create(TRAINING_RUNTIMES, runtime)
    await client.create(PYTORCH_JOB.resource, job("b", space))
    _, found, told = await convert(plane, "--cluster", "-n", space)
    assert [one["kind"] for one in found] == ["TrainJob", "TrainJob"], told
    assert [one["spec"]["runtimeRef"]["name"] for one in found] == [runtime["metadata"]["name"]] * 2
    _, (listed,), _ = await convert(plane, "--cluster", "-n", space, "-o", "json")
    assert [one["kind"] for one in listed["items"]] == ["TrainJob", "TrainJob"]


async def test_convert_reads_what_a_helm_release_installed(client: Client, plane: Plane) -> None:
    space = f"live-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    for revision, name in ((1, "old"), (2, "new")):
        release = {"name": "train", "manifest": f"---\n# Source: train/templates/job.yaml\n{yaml.safe_dump(job(name, space))}"}
        packed = base64.b64encode(gzip.compress(json.dumps(release).encode()))
        metadata = {"name": f"sh.helm.release.v1.train.v{revision}", "labels": {"owner": "helm", "name": "train"}}
        body = {"metadata": {**metadata, "namespace": space}, "data": {"release": base64.b64encode(packed).decode()}}
        await client.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", **body})
    code, (_, train_job), told = await convert(plane, "--helm-release", "train", "-n", space)
    assert (code, train_job["metadata"]["name"]) == (0, "new"), told
    code, found, told = await convert(plane, "--helm-release", "absent", "-A")
    assert (code, "there is no Helm release absent" in told) == (1, True), told
    code, found, told = await convert(plane, "--helm-release", "absent", "-n", space)
    assert (code, found) == (1, [])
    assert f"there is no Helm release absent in namespace {space}" in told


async def test_a_helm_release_of_a_name_that_two_namespaces_have_is_refused(client: Client) -> None:
    spaces = sorted(f"live-{uuid.uuid4().hex[:8]}" for _ in range(2))
    for revision, space in enumerate(spaces):
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        packed = base64.b64encode(json.dumps({"name": "twice", "manifest": "kind: A\n"}).encode())
        metadata = {"name": f"sh.helm.release.v1.twice.v{revision}", "labels": {"owner": "helm", "name": "twice"}}
        body = {"metadata": {**metadata, "namespace": space}, "data": {"release": base64.b64encode(packed).decode()}}
        await client.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", **body})
    with pytest.raises(InputError, match=f"in the namespaces {spaces[0]}, {spaces[1]}"):
        await manifest_of_release(client, "", "twice")
    assert await manifest_of_release(client, spaces[0], "twice") == "kind: A\n"
