"""The exit code of `run` with manifests: the outcome of all jobs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from one_job import FAILED, JOB, OneJob
from shunter.api.meta import Json
from shunter.cli import main, run
from shunter.cluster.target import Target
from shunter.kube.client import Client
from shunter.kube.transport import Response

SUCCEEDED = {**JOB, "status": {"conditions": [{"type": "Complete", "status": "True", "message": "all ranks ended"}]}}
TRAIN_JOB = {"name": "trainjobs", "kind": "TrainJob", "namespaced": True}


class TakesOneJob(OneJob):
    """A server on which the job is new, and then changes so."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        if method == "PATCH":
            return Response(201, {}, msgspec.json.encode(JOB))
        if path.endswith("/v1alpha1"):
            return Response(200, {}, msgspec.json.encode({"resources": [TRAIN_JOB]}))
        if path.endswith("/trainjobs/train"):
            return Response(404, {}, msgspec.json.encode({"kind": "Status", "code": 404, "reason": "NotFound"}))
        return await super().request(method, path, params=params, headers=headers, body=body)


@pytest.mark.parametrize(
    ("end", "options", "code"),
    [(SUCCEEDED, (), 0), (FAILED, (), 1), (None, (), 1), (JOB, ("--timeout", "1ms"), 1)],
    ids=["succeeded", "failed", "deleted", "still running"],
)
def test_the_exit_code_is_the_outcome_of_the_job(
    end: Json | None, options: tuple[str, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = {"type": "MODIFIED", "object": end} if end else {"type": "DELETED", "object": JOB}
    client = Client(TakesOneJob(change))
    monkeypatch.setattr(run, "connect_or_start", lambda *_, **__: Target(client, None, "https://server"))
    (tmp_path / "job.yaml").write_text(json.dumps(JOB))
    monkeypatch.setattr(sys, "argv", ["shunter", "run", str(tmp_path / "job.yaml"), *options])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == code
