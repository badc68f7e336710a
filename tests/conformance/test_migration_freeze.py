"""The freeze of v1 on a real control plane: first it warns whoever makes a v1 job, then it refuses. Others are not disturbed."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from pathlib import Path

import msgspec
import pytest

from control_plane import ControlPlane
from e2e.real_cluster import CRDS
from migrate.moving.moves import Moves, pytorch_job
from shunter.api.meta import Json
from shunter.kube import kubeconfig
from shunter.kube.client import connect

pytestmark = pytest.mark.conformance

KUBECTL = str(Path(sys.executable).parent / "kubectl")
PATIENCE_SECONDS = 30.0


class Kubectl:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def __call__(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [KUBECTL, "--kubeconfig", str(self._plane.kubeconfig), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)

    def makes(self, job: Json) -> subprocess.CompletedProcess[str]:
        """What a user is told who makes the job; nothing is made."""
        return self("create", "--dry-run=server", "-f", "-", stdin=msgspec.json.encode(job).decode())

    def until(self, job: Json, said: str) -> subprocess.CompletedProcess[str]:
        """The answer that says so: a policy takes a moment to be known to the API server."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while said not in (done := self.makes(job)).stderr:
            assert time.monotonic() < deadline, done
        return done


async def test_the_freeze_warns_then_refuses_and_goes_with_a_rollback(control_plane: ControlPlane, tmp_path: Path) -> None:
    kubectl = Kubectl(control_plane)
    for name in ("pytorchjobs.kubeflow.org", "trainjobs.trainer.kubeflow.org", "trainingruntimes.trainer.kubeflow.org"):
        assert kubectl("apply", "--server-side", "-f", str(CRDS / f"{name}.yaml")).returncode == 0
    deadline = time.monotonic() + PATIENCE_SECONDS
    while kubectl("get", "pytorchjobs,trainjobs,trainingruntimes").returncode != 0:
        assert time.monotonic() < deadline
    connection = kubeconfig.load(control_plane.kubeconfig)
    async with connect(connection) as client:
        moves = Moves(client, connection, f"frozen-{uuid.uuid4().hex[:8]}", tmp_path)
        await moves.make_namespace()
        new, elsewhere = pytorch_job("new", moves.namespace), pytorch_job("new", "default")
        warned = await moves.plan()
        assert warned.freeze == "warn"
        assert (await moves.apply(warned)).is_complete
        answer = kubectl.until(new, "Warning: Validation failed for ValidatingAdmissionPolicy")
        assert answer.returncode == 0
        assert "make a TrainJob" in answer.stderr
        denied = msgspec.structs.replace(warned, freeze="deny")
        assert (await moves.apply(denied)).is_complete
        assert kubectl.until(new, "denied request: jobs of kubeflow.org/v1 are being moved").returncode != 0
        assert kubectl.makes(elsewhere).returncode == 0
        await moves.roll_back(denied)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while kubectl.makes(new).returncode != 0:
            assert time.monotonic() < deadline
