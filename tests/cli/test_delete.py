"""`shunter delete`: what it asks and says; whole deletions are in tests/e2e."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from one_job import JOB, OneJob
from shunter.cli import delete
from shunter.kube.client import Client
from shunter.kube.transport import Response


class Deleting(OneJob):
    """A server with one job, which is gone once it has been deleted."""

    def __init__(self) -> None:
        super().__init__({"type": "DELETED", "object": JOB})
        self.deleted: list[str] = []

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        if method == "DELETE":
            self.deleted.append(path)
        return await super().request(method, path, params=params, headers=headers, body=body)


def test_a_job_is_deleted_without_a_question(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    server, nobody = Deleting(), io.StringIO()
    nobody.close()  # who reads from it fails
    monkeypatch.setattr(sys, "stdin", nobody)
    monkeypatch.setattr(delete, "connect", lambda *_: SimpleNamespace(client=Client(server), embedded=None))
    delete.delete("train", namespace="team")
    assert server.deleted == ["/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/train"]
    assert capsys.readouterr().err == "deleted TrainJob team/train\n"
