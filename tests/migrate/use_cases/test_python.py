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

import pytest
import yaml

from migrate.proof.jobs import pytorch
from shunter import migrate
from shunter.api.resources import NAMESPACES
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import InputError
from shunter.kube.client import Client

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs/migration/python.md").read_text()


def block(heading: str) -> str:
    """The code under a heading of the page."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return dedent("".join(line for line in section.splitlines(keepends=True) if line.startswith("    ") or not line.strip()))


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


@pytest.mark.integration
async def test_a_plan_names_the_jobs_of_a_namespace(client: Client) -> None:
    namespace = f"python-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    job = pytorch(1, run_policy={"suspend": True})
    job["metadata"]["namespace"] = namespace
    await client.create(PYTORCH_JOBS, job)
    plan = await migrate.plan(client, migrate.PlanOptions(namespaces=(namespace,)))
    assert [item.title for item in plan.items] == [f"PyTorchJob {namespace}/bert"]


def test_the_code_for_clusters_names_what_is_there() -> None:
    code = ast.parse(block("Plan, apply, compare"))
    imports = [node for node in ast.walk(code) if isinstance(node, ast.ImportFrom) and node.module]
    assert all(hasattr(import_module(str(node.module)), name.name) for node in imports for name in node.names)
    of_migrate = {
        node.attr for node in ast.walk(code) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "migrate"
    }
    assert of_migrate == {"PlanOptions", "apply", "compare", "plan"}
    assert all(callable(getattr(migrate, name)) for name in of_migrate)
