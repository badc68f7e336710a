"""s3://, from a real S3 server on loopback (moto)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from initializers.conftest import Initialize, Run
from shunter.errors import EnvironmentProblem
from shunter.initializers import fetching
from shunter.initializers.files import Checksum
from shunter.initializers.s3 import S3, stated

pytestmark = pytest.mark.integration

KEYS = {"ACCESS_KEY_ID": "AKIAEXAMPLE", "SECRET_ACCESS_KEY": "s3cr3t-of-the-store"}
BIG = bytes(range(256)) * 20_000
OBJECTS = {"train/a.json": b"{}", "train/deep/b.bin": BIG, "train/c.tmp": b"x", "training/other": b"no", "one.csv": b"1,2"}


class Store:
    """A bucket with objects."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bucket = f"b-{uuid.uuid4().hex[:8]}"
        self.client: Any = boto3.client(
            "s3", endpoint_url=url, aws_access_key_id="x", aws_secret_access_key="y", region_name="us-east-1"
        )
        self.client.create_bucket(Bucket=self.bucket)
        for key, body in OBJECTS.items():
            self.client.put_object(Bucket=self.bucket, Key=key, Body=body)
        self.client.put_object(Bucket=self.bucket, Key="train/folder/", Body=b"")

    def uri(self, prefix: str) -> str:
        return f"s3://{self.bucket}/{prefix}"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def store(url: str) -> Store:
    return Store(url)


@pytest.fixture
def fetch(store: Store, initialize: Initialize) -> Any:
    def run(prefix: str, **environment: str) -> Run:
        return initialize(store.uri(prefix), ENDPOINT=store.url, **{**KEYS, **environment})

    return run


@pytest.mark.parametrize("prefix", ["train", "train/"])
def test_everything_below_the_prefix_is_fetched_but_what_is_ignored(fetch: Any, prefix: str) -> None:
    done = fetch(prefix, IGNORE_PATTERNS="*.tmp")
    assert (done.code, done.content()) == (0, {"a.json": b"{}", "deep/b.bin": BIG})


def test_the_whole_bucket_is_fetched(fetch: Any) -> None:
    assert fetch("").content() == OBJECTS


def test_one_object_is_fetched(fetch: Any) -> None:
    assert fetch("one.csv").content() == {"one.csv": b"1,2"}
    assert fetch("train/deep/b.bin").content()["b.bin"] == BIG


def test_a_run_after_a_complete_one_fetches_nothing(fetch: Any) -> None:
    fetch("train/")
    assert fetch("train/").lines[-1].startswith("Complete: 3 files, 0 B fetched in ")


def test_a_fetch_that_broke_off_is_gone_on_with(store: Store, fetch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt loses its connection in the middle, at the level of what boto3 reads."""
    offsets: list[int] = []
    original = S3.fetch

    def breaking(self: S3, file: Any, part: Any, advance: Any) -> None:
        offsets.append(part.stat().st_size if part.exists() else 0)
        if len(offsets) == 1:
            part.write_bytes(BIG[:1_000_000])
            raise EnvironmentProblem("The connection broke.")
        original(self, file, part, advance)

    monkeypatch.setattr(S3, "fetch", breaking)
    done = fetch("train/deep/")
    assert (done.code, done.content(), offsets) == (0, {"b.bin": BIG}, [0, 1_000_000])


def test_a_damaged_object_is_not_accepted(store: Store, fetch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 2)
    monkeypatch.setattr("shunter.initializers.s3.stated", lambda head: Checksum("md5", "0" * 32))
    done = fetch("one.csv")
    assert (done.code, done.content()) == (3, {})
    assert "one.csv is damaged: its md5 is" in done.last_line


@pytest.mark.parametrize(
    ("head", "checksum"),
    [
        ({"ETag": f'"{"a" * 32}"'}, Checksum("md5", "a" * 32)),
        ({"ETag": f'"{"a" * 32}-3"'}, None),
        ({"ETag": f'"{"a" * 32}"', "ServerSideEncryption": "aws:kms"}, None),
        ({"ETag": f'"{"a" * 32}"', "ChecksumSHA256": "AAEC"}, Checksum("sha256", "000102")),
        ({"ETag": f'"{"a" * 32}-3"', "ChecksumCRC32": "AAECAw==", "ChecksumType": "FULL_OBJECT"}, Checksum("crc32", "00010203")),
        ({"ETag": f'"{"a" * 32}-3"', "ChecksumSHA256": "AAEC", "ChecksumType": "COMPOSITE"}, None),
    ],
)
def test_what_the_store_knows_of_an_object(head: dict[str, str], checksum: Checksum | None) -> None:
    assert stated(head) == checksum


@pytest.mark.parametrize("algorithm", ["SHA256", "SHA1", "CRC32"])
def test_checksums_that_the_store_keeps_are_held_to(store: Store, fetch: Any, algorithm: str) -> None:
    store.client.put_object(Bucket=store.bucket, Key="kept", Body=b"abc", ChecksumAlgorithm=algorithm)
    assert fetch("kept").content() == {"kept": b"abc"}


def test_objects_that_came_in_parts_are_fetched(store: Store, fetch: Any) -> None:
    upload = store.client.create_multipart_upload(Bucket=store.bucket, Key="parts")["UploadId"]
    bodies = [b"a" * 5 * 2**20, b"b"]
    parts = [
        {
            "PartNumber": number,
            "ETag": store.client.upload_part(Bucket=store.bucket, Key="parts", UploadId=upload, PartNumber=number, Body=body)[
                "ETag"
            ],
        }
        for number, body in enumerate(bodies, 1)
    ]
    store.client.complete_multipart_upload(Bucket=store.bucket, Key="parts", UploadId=upload, MultipartUpload={"Parts": parts})
    assert fetch("parts").content() == {"parts": b"".join(bodies)}


def test_a_role_is_taken_on(store: Store, fetch: Any) -> None:
    done = fetch("one.csv", ROLE_ARN="arn:aws:iam::123456789012:role/trainer", REGION="us-east-1")
    assert (done.code, done.last_line) == (0, "")


def test_a_bucket_for_everybody_needs_no_credentials(
    store: Store, initialize: Initialize, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store.client.put_object_acl(Bucket=store.bucket, Key="one.csv", ACL="public-read")
    assert initialize(store.uri("one.csv"), ENDPOINT=store.url).content() == {"one.csv": b"1,2"}


@pytest.mark.parametrize(
    ("uri", "code", "said"),
    [
        ("s3://no-such-bucket-here/a", 2, "S3 says NoSuchBucket: "),
        ("{bucket}none", 2, "holds nothing below 'none'. Look at the address."),
    ],
)
def test_what_is_not_there_is_named(store: Store, initialize: Initialize, uri: str, code: int, said: str) -> None:
    done = initialize(uri.format(bucket=store.uri("")), ENDPOINT=store.url, **KEYS)
    assert done.code == code
    assert said in done.last_line


def test_a_store_that_is_away_is_named(initialize: Initialize) -> None:
    done = initialize("s3://bucket/a", ENDPOINT="http://127.0.0.1:1", **KEYS)
    assert done.code == 3
    assert "http://127.0.0.1:1" in done.last_line
    assert done.last_line.endswith("Look at ENDPOINT, REGION and the pod's network.")
