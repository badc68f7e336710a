"""Python's `run` follows a job as the command does; whole runs are in tests/e2e/test_run_program.py."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.transport import Response
from shunter.launch.running import followed, run

JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "train", "namespace": "team", "uid": "1", "resourceVersion": "1"},
    "spec": {},
}
FAILED = {**JOB, "status": {"conditions": [{"type": "Failed", "status": "True", "message": "jobset failed"}]}}
ENDED = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-01-01T00:00:00Z"}}
LABELS = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": "node"}
POD = {
    "metadata": {
        "name": "train-node-0-0-x",
        "namespace": "team",
        "uid": "2",
        "labels": {**LABELS, "batch.kubernetes.io/job-completion-index": "0"},
    },
    "spec": {"containers": [{"name": "node"}, {"name": "sidecar"}], "initContainers": [{"name": "fetch"}]},
    "status": {
        "phase": "Failed",
        "initContainerStatuses": [{"name": "fetch", "state": DONE}],
        "containerStatuses": [{"name": "node", "state": ENDED}, {"name": "sidecar", "state": DONE}],
    },
}
LOGS = {"fetch": "fetched", "node": "ValueError: no data", "sidecar": "copied"}


class OneJob:
    """A server with one job, which ends by the first change, and its pod."""

    def __init__(self, change: Json) -> None:
        self._change = change

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        items = {"trainjobs": [JOB], "pods": [POD]}.get(path.rpartition("/")[2], [])
        return Response(200, {}, msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items}))

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if path.endswith("/log"):
            line = LOGS[params["container"]]
            yield (f"2026-01-01T00:00:00Z {line}\n" if params.get("timestamps") == "true" else f"{line}\n").encode()
            return
        if path.endswith("/trainjobs"):
            yield msgspec.json.encode(self._change) + b"\n"
        await asyncio.Event().wait()

    async def close(self) -> None:
        return


async def test_a_failure_is_told_in_the_words_of_the_command_with_all_its_containers(capsys: pytest.CaptureFixture[str]) -> None:
    ended = await followed(Client(OneJob({"type": "MODIFIED", "object": FAILED})), JOB, timeout=20)
    assert (ended.name, ended.namespace, ended.succeeded) == ("train", "team", False)
    assert ended.message == "TrainJob team/train failed: node-0: exit code 1: ValueError: no data"
    said = capsys.readouterr()
    assert sorted(said.out.splitlines()) == ["[node-0 fetch] fetched", "[node-0 sidecar] copied", "[node-0] ValueError: no data"]
    assert "-- Failed: jobset failed\n" in said.err
    assert said.err.count("ValueError: no data") == 1


async def test_a_job_that_somebody_deletes_has_not_succeeded_and_says_so() -> None:
    ended = await followed(Client(OneJob({"type": "DELETED", "object": JOB})), JOB, timeout=20)
    assert (ended.succeeded, ended.message) == (False, "TrainJob team/train was deleted")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"env_from": ["hub"]}, "--env-from 'hub' does not name a Secret"),
        ({"fabric": "token-ring"}, "token-ring"),
        ({"labels": {"team": "a b"}}, "--label team=a b"),
        ({"grace": "soon"}, "--grace"),
    ],
    ids=["secret", "fabric", "label", "time"],
)
def test_what_no_cluster_could_mean_is_refused_before_one_is_started(
    options: dict[str, Any], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(InputError, match=re.escape(told)):
        run("train.py", **options)
    assert not (tmp_path / "state").exists()
