"""v1's definitions at the end, on an API server of their own: they go when nothing needs them, and can come back."""

from __future__ import annotations

import base64
import gzip
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import forked_command
from cluster.api_server import RunningApiServer, start_api_server
from migrate.moving.moves import Screen, pytorch_job
from migrate.moving.test_planning import plan
from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, SECRETS, VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.discovery import served_versions
from shunter.migrate.moving import remove_v1
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import text
from shunter.migrate.moving.step_decisions import intended
from shunter.migrate.moving.steps import freeze_steps
from shunter.migrate.moving.v1_crds import V1_CRDS, CrdRemoval

pytestmark = pytest.mark.integration


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningApiServer]:
    running = start_api_server(tmp_path / "state")
    yield running
    running.stop()


@pytest.fixture
async def client(server: RunningApiServer) -> AsyncIterator[Client]:
    async with connect(kubeconfig.load(server.kubeconfig)) as found:
        yield found


def release(manifest: Json, *, revision: int = 1, status: str = "deployed") -> Json:
    """A release as Helm keeps it."""
    said = {"name": "jobs", "manifest": msgspec.yaml.encode(manifest).decode()}
    packed = base64.b64encode(gzip.compress(msgspec.json.encode(said)))
    labels = {"owner": "helm", "name": "jobs", "status": status, "version": str(revision)}
    metadata = {"name": f"sh.helm.release.v1.jobs.v{revision}", "namespace": "default", "labels": labels}
    data = {"release": base64.b64encode(packed).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "helm.sh/release.v1", "data": data}


async def finalized(client: Client, directory: Path, meanwhile: Callable[[], Awaitable[object]] | None = None) -> dict[str, str]:
    """What became of each definition that did not go. `meanwhile` happens while the user reads what goes."""
    found = await remove_v1.read(client)
    if meanwhile is not None:
        await meanwhile()
    with Journal(directory, "p1", client, "default") as journal:
        await journal.load()
        going = [removal for removal in found if removal.step is not None]
        outcomes, stay = await remove_v1.delete(client, going, journal, Screen(), directory / "definitions")
    assert all(outcome.is_complete for outcome in outcomes)
    return {removal.crd: removal.why for removal in [*found, *stay] if removal.step is None}


async def test_definitions_go_and_can_be_applied_again(client: Client, tmp_path: Path) -> None:
    assert await finalized(client, tmp_path) == {}
    assert PYTORCH_JOBS.api_version not in await served_versions(client)
    for name in V1_CRDS:
        kept: Json = msgspec.yaml.decode((tmp_path / "definitions" / f"{name}.yaml").read_bytes())
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, kept, field_validation="Strict")
    assert PYTORCH_JOBS.api_version in await served_versions(client)


async def test_a_definition_stays_while_there_are_jobs_or_a_release_holds_them(client: Client, tmp_path: Path) -> None:
    await client.create(PYTORCH_JOBS, pytorch_job("bert", "default", suspend=True))
    job = {**pytorch_job("held", "default"), "kind": "TFJob", "spec": {"tfReplicaSpecs": {}}}
    await client.create(SECRETS, release(job))
    assert await finalized(client, tmp_path) == {
        "pytorchjobs.kubeflow.org": "1 of its objects exist: PyTorchJob default/bert",
        "tfjobs.kubeflow.org": "Helm releases hold objects of it and could not be upgraded any more: default/jobs",
    }
    assert await client.get(PYTORCH_JOBS, "bert", "default")


async def test_a_definition_stays_when_a_job_of_it_is_made_while_the_user_reads(client: Client, tmp_path: Path) -> None:
    stays = await finalized(client, tmp_path, lambda: client.create(PYTORCH_JOBS, pytorch_job("bert", "default", suspend=True)))
    assert stays == {"pytorchjobs.kubeflow.org": "1 of its objects exist: PyTorchJob default/bert"}
    assert await client.get(PYTORCH_JOBS, "bert", "default")
    assert {path.stem for path in (tmp_path / "definitions").iterdir()} == V1_CRDS.keys() - stays.keys()


HELD: dict[str, tuple[list[str], bool]] = {
    "deployed": (["deployed"], True),
    "only a failed install": (["failed"], True),
    "an install that hangs": (["pending-install"], True),
    "a failed upgrade": (["superseded", "deployed:other", "failed"], True),
    "a failed upgrade away from it": (["deployed", "failed:other"], True),
    "upgraded away from it": (["superseded", "deployed:other"], False),
    "uninstalled, with its history": (["superseded", "uninstalled"], False),
}


@pytest.mark.parametrize("case", HELD.values(), ids=list(HELD))
async def test_what_of_a_helm_release_needs_a_definition(case: tuple[list[str], bool], client: Client) -> None:
    revisions, needed = case
    job = pytorch_job("held", "default")
    for number, revision in enumerate(revisions, start=1):
        status, _, other = revision.partition(":")
        manifest = {**job, "apiVersion": "v1", "kind": "ConfigMap"} if other else job
        await client.create(SECRETS, release(manifest, revision=number, status=status))
    [removal] = await remove_v1.read(client, ["pytorchjobs.kubeflow.org"])
    assert (removal.step is None) is needed


def test_a_freeze_that_is_left_is_taken_away_by_the_next_run_and_once(tmp_path: Path, client: Client) -> None:
    frozen = msgspec.structs.replace(plan(), freeze="warn")
    gone: list[CrdRemoval] = []
    with Journal(tmp_path, "p1", client, "default") as journal:
        for step in freeze_steps(frozen):
            journal.note(msgspec.structs.replace(intended(step, None), phase="done", uid="1"))
        steps = remove_v1.unfreeze_steps(frozen, journal, gone)
        assert [step.resource for step in steps] == [VALIDATING_POLICY_BINDINGS, VALIDATING_POLICIES]
        for step in steps:
            journal.note(msgspec.structs.replace(intended(step, None), phase="done", uid="1"))
        assert remove_v1.unfreeze_steps(frozen, journal, gone) == []


async def test_finalize_and_its_rollback_as_a_user_meets_them(client: Client, server: RunningApiServer, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text(msgspec.structs.replace(plan(), cluster="")))
    await client.create(PYTORCH_JOBS, pytorch_job("bert", "default", suspend=True))

    def migrate(*arguments: str) -> tuple[int, str]:
        environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "NO_COLOR": "1", "COLUMNS": "300"}
        done = forked_command.shunter("migrate", *arguments, "--plan", str(path), environment=environment, stdin="")
        return done.returncode, done.stdout + done.stderr

    code, said = migrate("apply", "--finalize", "--yes")
    assert code == 6, said
    assert "pytorchjobs.kubeflow.org: 1 of its objects exist" in said
    await client.delete(PYTORCH_JOBS, "bert", "default")
    code, said = migrate("apply", "--finalize", "--yes")
    assert code == 0, said
    assert PYTORCH_JOBS.api_version not in await served_versions(client)
    _, said = migrate("rollback", "--dry-run")
    for name in V1_CRDS:
        assert f"would create CustomResourceDefinition {name}: this plan deleted it" in said
    copy = tmp_path / "plan.yaml.definitions" / "tfjobs.kubeflow.org.yaml"
    kept = copy.read_text()
    copy.write_text(kept.replace("scope: Namespaced", "scope: Cluster"))
    code, said = migrate("rollback", "--yes")
    assert code == 6, said
    assert "refuse CustomResourceDefinition tfjobs.kubeflow.org: its copy is not here" in said
    assert f"undone: {len(V1_CRDS) - 1} of {len(V1_CRDS)} writes" in said
    await client.create(PYTORCH_JOBS, pytorch_job("bert", "default", suspend=True))
    copy.write_text(kept)
    code, said = migrate("rollback", "--yes")
    assert (code, said.splitlines()) == (
        0,
        ["create CustomResourceDefinition tfjobs.kubeflow.org: this plan deleted it", "undone: 1 of 1 write"],
    )
