"""The migration as functions: docs/migration/python.md, and what the commands do by them."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import uuid
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import pytest
import yaml

from faults.planes import Plane
from migrate.proof.jobs import pytorch
from shunter import migrate
from shunter.api.resources import NAMESPACES, TRAIN_JOBS, Resource
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.migrate.moving.plan import text

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs/migration/python.md").read_text()


def block(heading: str) -> str:
    """The code under a heading of the page."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return dedent("".join(line for line in section.splitlines(keepends=True) if line.startswith("    ") or not line.strip()))


@pytest.mark.integration  # git lists the kustomizations that may lie elsewhere
def test_converting_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(
        REPOSITORY / "examples/v1", tmp_path / "manifests", ignore=lambda _, names: {*names} - {"pytorch-simple.yaml"}
    )
    exec(block("Convert"), {})
    written = [*yaml.safe_load_all((tmp_path / "converted/pytorch-simple.yaml").read_text())]
    assert [(one["kind"], one["metadata"]["name"]) for one in written if one["kind"] == "TrainJob"] == [
        ("TrainJob", "pytorch-simple-v2")
    ]
    capsys.readouterr()
    exec(block("Validate"), {})
    assert capsys.readouterr().out == "PyTorchJob training/pytorch-simple pods True\n"


@pytest.mark.integration
def test_the_stream_is_what_the_command_prints(tmp_path: Path) -> None:
    path = REPOSITORY / "examples/v1/pytorch-simple.yaml"
    command = [sys.executable, "-m", "shunter.cli.main", "migrate", "convert", "-q", "-f", str(path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert migrate.convert([path]).stream() == printed


def test_a_path_that_is_not_there_is_wrong_input() -> None:
    with pytest.raises(InputError, match="no such file or directory"):
        migrate.convert(["nowhere.yaml"])


@pytest.fixture
async def namespace(client: Client) -> str:
    """One with a PyTorchJob `bert` that is suspended."""
    name = f"python-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    job = pytorch(1, run_policy={"suspend": True})
    job["metadata"]["namespace"] = name
    await client.create(PYTORCH_JOBS, job)
    return name


async def moving(namespace: str, plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs what the page says under "Plan, apply, compare", in that namespace."""
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    code = block("Plan, apply, compare").replace('"training"', repr(namespace)).replace("asyncio.run(move())", "")
    names: dict[str, Any] = {}
    exec(code, names)
    await names["move"]()


async def ended(client: Client, namespace: str, resource: Resource, type: str) -> None:
    """Says that the job `bert` has come to its end."""
    condition = {
        "type": type,
        "status": "True",
        "reason": "Test",
        "message": "",
        "lastTransitionTime": "2026-11-21T00:00:00Z",
    }
    await client.patch_status(resource, "bert", namespace, {"status": {"conditions": [condition]}})


@pytest.mark.integration
async def test_a_plan_names_the_jobs_of_a_namespace(client: Client, namespace: str) -> None:
    plan = await migrate.plan(client, migrate.PlanOptions(namespaces=(namespace,)))
    assert [item.title for item in plan.items] == [f"PyTorchJob {namespace}/bert"]


@pytest.mark.integration
async def test_a_plan_is_executed_as_the_page_says_and_a_second_call_changes_nothing(
    client: Client,
    namespace: str,
    plane: Plane,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    await moving(namespace, plane, monkeypatch)
    assert capsys.readouterr().out.splitlines()[0] == "complete"
    made = await client.get(TRAIN_JOBS, "bert", namespace)
    assert made["spec"]["suspend"], "it waits as its v1 job does"
    assert {path.name for path in tmp_path.iterdir()} >= {"plan.yaml", "plan.yaml.journal"}
    again = await migrate.apply(client, tmp_path / "plan.yaml")
    assert again.is_complete
    assert (await client.get(TRAIN_JOBS, "bert", namespace))["metadata"]["uid"] == made["metadata"]["uid"]


@pytest.mark.integration
async def test_a_plan_of_another_cluster_is_not_executed(client: Client, namespace: str, tmp_path: Path) -> None:
    plan = await migrate.plan(client, migrate.PlanOptions(namespaces=(namespace,)))
    path = tmp_path / "plan.yaml"
    path.write_text(text(msgspec.structs.replace(plan, cluster="another")))
    with pytest.raises(InputError, match="is of another cluster"):
        await migrate.apply(client, path)
    assert not (await client.list(TRAIN_JOBS, namespace)).items


@pytest.mark.integration
@pytest.mark.parametrize(("end", "verdict"), [("Complete", "equal"), ("Failed", "different")])
async def test_runs_are_compared(client: Client, namespace: str, tmp_path: Path, end: str, verdict: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text(await migrate.plan(client, migrate.PlanOptions(namespaces=(namespace,)))))
    await migrate.apply(client, path)
    await ended(client, namespace, PYTORCH_JOBS, "Succeeded")
    await ended(client, namespace, TRAIN_JOBS, end)
    found = await migrate.compare(client, "bert", namespace=namespace)
    assert found.verdict == verdict
    assert found.verdict == (await migrate.compare(client, "pytorchjob/bert", "trainjob/bert", namespace=namespace)).verdict


@pytest.mark.integration
async def test_a_job_without_a_successor_is_not_compared(client: Client, namespace: str) -> None:
    with pytest.raises(InputError, match="bert"):
        await migrate.compare(client, "bert", namespace=namespace)


def test_the_code_for_clusters_names_what_is_there() -> None:
    code = ast.parse(block("Plan, apply, compare"))
    imports = [node for node in ast.walk(code) if isinstance(node, ast.ImportFrom) and node.module]
    assert all(hasattr(import_module(str(node.module)), name.name) for node in imports for name in node.names)
    of_migrate = {
        node.attr for node in ast.walk(code) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "migrate"
    }
    assert of_migrate == {"PlanOptions", "apply", "compare", "plan"}
    assert all(callable(getattr(migrate, name)) for name in of_migrate)
