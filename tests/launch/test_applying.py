"""What becomes of a manifest that the server does not take: told at once when it is the object's fault, tried again when not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS
from shunter.errors import EnvironmentProblem, InputError, ShunterError
from shunter.kube.client import Client
from shunter.kube.manifests import Manifest
from shunter.kube.retry import RetryPolicy
from shunter.kube.transport import Response
from shunter.kube.webhooks import admission_wait
from shunter.launch import applying, submitting

MANIFEST = Manifest({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}, "a.yaml", 3)
ONCE = RetryPolicy(attempts=1)
MISFIT = "failed to create typed patch object (b/a; /v1, Kind=ConfigMap): .dta: field not declared in schema"
WEBHOOK = 'Internal error occurred: failed calling webhook "validator.example": connection refused'


class Answers:
    """A server that gives these answers, the last of them again and again."""

    def __init__(self, *answers: tuple[int, Json]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        self.asked.append(method)
        status, answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return Response(status, {}, msgspec.json.encode(answer))

    def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        raise AssertionError("nothing is streamed")

    async def close(self) -> None:
        return


def failure(code: int, message: str) -> tuple[int, Json]:
    return code, {"kind": "Status", "code": code, "message": message}


async def test_a_field_of_a_wrong_name_is_told_at_once() -> None:
    server, said = Answers(failure(500, MISFIT), (200, {})), list[str]()
    with pytest.raises(InputError, match=r"a.yaml:3: ConfigMap b/a: failed to create typed patch object .*\.dta"):
        await applying.apply(Client(server), CONFIG_MAPS, MANIFEST, said.append)
    assert server.asked == ["PATCH", "GET"], "the second is about what may have been meant"


async def test_a_webhook_that_is_away_for_a_moment_is_waited_for_and_said() -> None:
    server, said = Answers(failure(500, WEBHOOK), failure(500, WEBHOOK), (200, MANIFEST.object)), list[str]()
    assert await applying.apply(Client(server), CONFIG_MAPS, MANIFEST, said.append) == MANIFEST.object
    assert ["Trying again." in text for text in said] == [True]


async def test_a_webhook_that_stays_away_is_no_fault_of_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission_wait, "ADMISSION_SECONDS", -1.0)
    with pytest.raises(EnvironmentProblem, match=r"a.yaml:3: ConfigMap b/a: .*failed calling webhook"):
        await applying.apply(Client(Answers(failure(500, WEBHOOK))), CONFIG_MAPS, MANIFEST, print)


async def test_a_server_that_is_away_for_a_try_is_no_fault_of_the_manifest_either() -> None:
    """With --replace a job is tried before the one of its name is deleted."""
    with pytest.raises(EnvironmentProblem, match=r"a.yaml:3: ConfigMap b/a: shutting down"):
        await applying.dry_run_create(Client(Answers(failure(503, "shutting down")), retry=ONCE), CONFIG_MAPS, MANIFEST)


REFUSALS = {
    "no permission": (failure(403, "ann cannot create"), InputError),
    "expired credentials": (failure(401, "Unauthorized"), EnvironmentProblem),
    "a busy server": (failure(429, "too many requests"), EnvironmentProblem),
    "a full disk": (failure(507, "the disk of the cluster is full"), EnvironmentProblem),
    "a failure of the server": (failure(500, "Internal error occurred: etcdserver: leader changed"), EnvironmentProblem),
    "a field of a wrong name": (failure(500, MISFIT), InputError),
}


@pytest.mark.parametrize(("answer", "kind"), REFUSALS.values(), ids=REFUSALS)
async def test_manifests_and_programs_are_refused_with_the_same_exit_code(
    answer: tuple[int, Json], kind: type[ShunterError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission_wait, "ADMISSION_SECONDS", -1.0)
    client = Client(Answers(answer), retry=ONCE)
    with pytest.raises(kind, match="ConfigMap b/a"):
        await applying.apply(client, CONFIG_MAPS, MANIFEST, print)
    with pytest.raises(kind, match="ConfigMap b/a"):
        await submitting.write(client, CONFIG_MAPS, MANIFEST.object, print)
