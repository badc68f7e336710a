"""Which region an s3:// address is asked for in, and at which host."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from moto.server import ThreadedMotoServer

from initializers.conftest import OF_AWS, Initialize
from shunter.initializers.s3 import client
from shunter.initializers.settings import settings

pytestmark = pytest.mark.integration

KEYS = {"ACCESS_KEY_ID": "AKIAEXAMPLE", "SECRET_ACCESS_KEY": "s3cr3t-of-the-store"}


class Gate(ThreadingHTTPServer):
    """Before a store: notes the region that each request is signed for, and sends those for another than its own there, as AWS
    does."""

    daemon_threads = True

    def __init__(self, store: str) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.store = urlsplit(store).netloc
        self.own = ""
        """Any, when empty."""
        self.regions: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Passing(BaseHTTPRequestHandler):
    server: Gate

    def do_GET(self) -> None:
        signed = re.search(r"Credential=[^/]+/[0-9]+/([^/]+)/", self.headers.get("Authorization", ""))
        region = signed[1] if signed else ""
        self.server.regions.append(region)
        if self.server.own and region != self.server.own:
            self._answer(301, {"x-amz-bucket-region": self.server.own}, b"<Error><Code>PermanentRedirect</Code></Error>")
            return
        store = HTTPConnection(self.server.store, timeout=10)
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        store.request(self.command, self.path, body=sent, headers=dict(self.headers))
        answer = store.getresponse()
        body = answer.read()
        self._answer(answer.status, dict(answer.getheaders()), body)
        store.close()

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.do_GET()

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("server", "date", "connection", "transfer-encoding"):
                self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    made: Any = boto3.client("s3", endpoint_url=url, aws_access_key_id="x", aws_secret_access_key="y", region_name="us-east-1")
    made.create_bucket(Bucket="data")
    made.put_object(Bucket="data", Key="one.csv", Body=b"1,2")
    yield url
    server.stop()


@pytest.fixture
def gate(store: str) -> Iterator[Gate]:
    server = Gate(store)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


SAID: list[Any] = [
    pytest.param({"REGION": "eu-west-3"}, "eu-west-3", id="REGION"),
    pytest.param({"AWS_REGION": "eu-west-1"}, "eu-west-1", id="AWS_REGION of the pod"),
    pytest.param({"AWS_DEFAULT_REGION": "eu-central-1"}, "eu-central-1", id="AWS_DEFAULT_REGION of the pod"),
    pytest.param({"REGION": "eu-west-3", "AWS_REGION": "eu-west-1"}, "eu-west-3", id="REGION before the pod's"),
    pytest.param(
        {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-central-1"}, "eu-west-1", id="AWS_REGION before AWS_DEFAULT_REGION"
    ),
    pytest.param({"REGION": ""}, "us-east-1", id="nobody"),
]


@pytest.mark.parametrize(("said", "region"), [*SAID, pytest.param({"REGION": "auto"}, "auto", id="a store that has none")])
def test_a_store_of_ones_own_is_asked_in_the_region_that_is_said(
    gate: Gate, initialize: Initialize, said: dict[str, str], region: str
) -> None:
    assert initialize("s3://data/one.csv", ENDPOINT=gate.url, **KEYS, **said).content() == {"one.csv": b"1,2"}
    assert set(gate.regions) == {region}


@pytest.mark.parametrize(("said", "region"), SAID)
def test_a_role_is_asked_for_in_the_same_region(gate: Gate, initialize: Initialize, said: dict[str, str], region: str) -> None:
    initialize("s3://data/one.csv", ENDPOINT=gate.url, ROLE_ARN="arn:aws:iam::123456789012:role/trainer", **KEYS, **said)
    assert set(gate.regions) == {region}


@pytest.mark.parametrize(
    ("said", "host"),
    [
        *(pytest.param(*one.values, id=one.id) for one in SAID),
        pytest.param({"REGION": "auto"}, "us-east-1", id="auto, which is no region of AWS"),
        pytest.param({"REGION": "auto", "AWS_REGION": "eu-west-1"}, "eu-west-1", id="auto, and the pod's"),
    ],
)
def test_aws_is_asked_at_a_host_that_exists(said: dict[str, str], host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OF_AWS:
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    asked = client(settings("dataset", {"STORAGE_URI": "s3://data/one.csv", **KEYS, **said}))

    def stop(request: Any, **_: Any) -> None:
        raise StoppedError(urlsplit(request.url).netloc)

    asked.meta.events.register("before-send.s3", stop)
    with pytest.raises(StoppedError) as stopped:
        asked.head_object(Bucket="data", Key="one.csv")
    place = "s3.amazonaws.com" if host == "us-east-1" else f"s3.{host}.amazonaws.com"
    assert stopped.value.host == f"data.{place}"


class StoppedError(Exception):
    """A request on the point of being sent."""

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.host = host


@pytest.mark.parametrize(
    "said", [{}, {"REGION": "eu-west-1"}, {"AWS_REGION": "eu-north-1"}], ids=["nothing", "REGION", "AWS_REGION"]
)
def test_a_bucket_in_another_region_is_found(
    gate: Gate, initialize: Initialize, monkeypatch: pytest.MonkeyPatch, said: dict[str, str]
) -> None:
    gate.own = "ap-south-1"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", gate.url)
    assert initialize("s3://data/one.csv", **KEYS, **said).content() == {"one.csv": b"1,2"}
    assert gate.regions[-1] == "ap-south-1"
