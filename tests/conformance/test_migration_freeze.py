"""The freeze of v1 on a real control plane: first it warns whoever makes a v1 job, then it refuses. Others are not disturbed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from control_plane import ControlPlane
from e2e.real_cluster import CRDS
from fault_transport import RecordingTransport
from migrate.moving.moves import NOW, Moves, pytorch_job
from shunter.api.meta import Json
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.transport import HttpTransport
from shunter.migrate.moving.backup import saving
from shunter.migrate.moving.backup.index import read_index
from shunter.migrate.moving.planning import PlanOptions

pytestmark = pytest.mark.conformance

KUBECTL = str(Path(sys.executable).parent / "kubectl")
PATIENCE_SECONDS = 30.0


class Kubectl:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def __call__(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [KUBECTL, "--kubeconfig", str(self._plane.kubeconfig), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)

    def serves_jobs(self) -> None:
        """Returns when jobs of both generations are served."""
        for name in ("pytorchjobs.kubeflow.org", "trainjobs.trainer.kubeflow.org", "trainingruntimes.trainer.kubeflow.org"):
            assert self("apply", "--server-side", "-f", str(CRDS / f"{name}.yaml")).returncode == 0
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self("get", "pytorchjobs,trainjobs,trainingruntimes").returncode != 0:
            assert time.monotonic() < deadline

    def makes(self, job: Json) -> subprocess.CompletedProcess[str]:
        """What a user is told who makes the job; nothing is made."""
        return self("create", "--dry-run=server", "-f", "-", stdin=msgspec.json.encode(job).decode())

    def until(self, job: Json, said: str) -> subprocess.CompletedProcess[str]:
        """The answer that says so: a policy takes a moment to be known to the API server."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while said not in (done := self.makes(job)).stderr:
            assert time.monotonic() < deadline, done
        return done


@pytest.fixture
def kubectl(control_plane: ControlPlane) -> Kubectl:
    kubectl = Kubectl(control_plane)
    kubectl.serves_jobs()
    return kubectl


@pytest.fixture
async def moves(control_plane: ControlPlane, kubectl: Kubectl, tmp_path: Path) -> AsyncIterator[Moves]:
    """Of a namespace of their own, on a server that serves jobs."""
    connection = kubeconfig.load(control_plane.kubeconfig)
    async with connect(connection) as client:
        moves = Moves(client, connection, f"moved-{uuid.uuid4().hex[:8]}", tmp_path)
        await moves.make_namespace()
        yield moves


async def test_the_freeze_warns_then_refuses_and_goes_with_a_rollback(kubectl: Kubectl, moves: Moves) -> None:
    new, elsewhere = pytorch_job("new", moves.namespace), pytorch_job("new", "default")
    warned = await moves.plan()
    assert warned.freeze == "warn"
    assert (await moves.apply(warned)).is_complete
    answer = kubectl.until(new, "Warning: Validation failed for ValidatingAdmissionPolicy")
    assert answer.returncode == 0
    assert "create a TrainJob" in answer.stderr
    denied = msgspec.structs.replace(warned, freeze="deny")
    assert (await moves.apply(denied)).is_complete
    assert kubectl.until(new, "denied request: jobs of kubeflow.org/v1 are being moved").returncode != 0
    assert kubectl.makes(elsewhere).returncode == 0
    await moves.roll_back(denied)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while kubectl.makes(new).returncode != 0:
        assert time.monotonic() < deadline


async def test_a_replacement_under_deny_is_backed_up_before_and_after_v1_is_refused(
    kubectl: Kubectl, moves: Moves, tmp_path: Path
) -> None:
    recorded = RecordingTransport(HttpTransport(moves.connection, user_agent="shunter-migrate"))
    await moves.submit("waits", suspend=True)
    await moves.finish(PYTORCH_JOBS, "waits", "Suspended")
    plan = await moves.plan(PlanOptions(strategy="replacement"))
    assert plan.freeze == "deny"
    try:
        assert (await moves.apply(plan, client=Client(recorded, field_manager="shunter-migrate"))).is_complete
    finally:
        await recorded.close()
    asked = [write.path for write in recorded.writes if write.params.get("dryRun")]
    assert asked == [f"/apis/kubeflow.org/v1/namespaces/{moves.namespace}/pytorchjobs"]
    paths = [(write.method, write.path) for write in recorded.writes]
    denied = next(at for at, (method, path) in enumerate(paths) if method == "PATCH" and "policybindings/" in path)
    assert paths.index(("POST", asked[0])) < denied
    kubectl.until(pytorch_job("new", moves.namespace), "denied request: jobs of kubeflow.org/v1 are being moved")
    shutil.rmtree(tmp_path / "backup")
    # As when a run was interrupted, or waited for jobs to end: by now the plan's own policy refuses the dry run.
    assert (await moves.apply(plan)).is_complete
    assert [entry.name for entry in read_index(tmp_path / "backup").objects if entry.kind == "PyTorchJob"] == ["waits"]
    await moves.roll_back(plan)


async def test_a_replacement_denies_new_jobs_while_old_ones_end_and_goes_on_when_run_again(
    kubectl: Kubectl, moves: Moves, tmp_path: Path
) -> None:
    await moves.submit("runs")
    await moves.submit("waits", suspend=True)
    await moves.finish(PYTORCH_JOBS, "waits", "Suspended")
    plan = await moves.plan(PlanOptions(strategy="replacement"))
    assert list((await moves.apply(plan)).active) == [f"PyTorchJob {moves.namespace}/runs (Created)"]
    assert not (tmp_path / "backup").exists()
    kubectl.until(pytorch_job("new", moves.namespace), "denied request: jobs of kubeflow.org/v1 are being moved")
    await moves.finish(PYTORCH_JOBS, "runs", "Succeeded")
    assert (await moves.apply(plan)).is_complete
    assert len(read_index(tmp_path / "backup").objects) == 2
    assert await moves.train_job("waits") != {}
    await moves.roll_back(plan)


async def test_the_freeze_does_not_hide_that_the_server_would_not_take_an_object_back(
    kubectl: Kubectl, moves: Moves, tmp_path: Path
) -> None:
    plan = await moves.plan(PlanOptions(freeze="deny"))
    assert (await moves.apply(plan)).is_complete
    kubectl.until(pytorch_job("new", moves.namespace), "denied request: jobs of kubeflow.org/v1 are being moved")
    job = pytorch_job("bert", moves.namespace)
    job["spec"]["noSuchField"] = 1
    index = await saving.take(moves.client, tmp_path / "backup", [job], server="here", now=NOW)
    assert "noSuchField" in index.refused[0].refused
    await moves.roll_back(plan)
