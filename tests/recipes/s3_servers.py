"""S3 servers on this machine, each with a bucket `models`: versitygw, which is a real one, and moto, which imitates one."""

from __future__ import annotations

import json
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import requests
from moto.server import ThreadedMotoServer

from control_plane import answers, free_ports
from recipes.ranks import eventually

TRAINER = {"access": "trainer", "secret": "trainers-own", "role": "user"}
"""An account beside root, as versitygw keeps it."""


class S3Server(ABC):
    def __init__(self, host: str, port: int) -> None:
        self.url = f"http://{host}:{port}"
        self.s3 = self.client("s3", "root", "root")
        self.s3.create_bucket(Bucket="models")

    @abstractmethod
    def user_without(self, action: str) -> dict[str, str]:
        """The environment of one who may do everything else with the bucket."""

    def client(self, service: str, key: str, secret: str) -> Any:
        keys = {"aws_access_key_id": key, "aws_secret_access_key": secret}
        return boto3.client(service, endpoint_url=self.url, region_name="us-east-1", **keys)

    def environment(self, key: str = "root", secret: str = "root") -> dict[str, str]:
        keys = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
        return {"AWS_ENDPOINT_URL": self.url, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", **keys}

    def size(self, prefix: str) -> int:
        """Bytes of all objects whose names begin so."""
        return sum(found["Size"] for found in self.s3.list_objects_v2(Bucket="models", Prefix=prefix).get("Contents", []))

    def names(self) -> list[str]:
        return sorted(found["Key"] for found in self.s3.list_objects_v2(Bucket="models").get("Contents", []))


class Versitygw(S3Server):
    def user_without(self, action: str) -> dict[str, str]:
        """By a policy of the bucket."""
        rest = {"Principal": {"AWS": [TRAINER["access"]]}, "Resource": ["arn:aws:s3:::models", "arn:aws:s3:::models/*"]}
        # Listing is an action on the bucket, the others are on objects.
        resource = "arn:aws:s3:::models" if action == "s3:ListBucket" else "arn:aws:s3:::models/*"
        denied = {**rest, "Effect": "Deny", "Action": action, "Resource": resource}
        policy = {"Version": "2012-10-17", "Statement": [{**rest, "Effect": "Allow", "Action": "s3:*"}, denied]}
        self.s3.put_bucket_policy(Bucket="models", Policy=json.dumps(policy))
        return self.environment(TRAINER["access"], TRAINER["secret"])


class _Moto(S3Server):
    def user_without(self, action: str) -> dict[str, str]:
        """By a policy of the user, as moto looks at no bucket's. From now on the server asks who it is."""
        self._asks_after(1_000_000_000)
        iam = self.client("iam", "root", "root")
        user = action.replace(":", "-")
        iam.create_user(UserName=user)
        statements = [
            {"Effect": "Allow", "Action": "s3:*", "Resource": "*"},
            {"Effect": "Deny", "Action": action, "Resource": "*"},
        ]
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        iam.put_user_policy(UserName=user, PolicyName="p", PolicyDocument=policy)
        key = iam.create_access_key(UserName=user)["AccessKey"]
        self._asks_after(0)
        return self.environment(key["AccessKeyId"], key["SecretAccessKey"])

    def _asks_after(self, requests_from_now: int) -> None:
        requests.post(f"{self.url}/moto-api/reset-auth", data=str(requests_from_now).encode(), timeout=10).raise_for_status()


@contextmanager
def versitygw(program: Path, directory: Path, host: str = "127.0.0.1") -> Iterator[S3Server]:
    """`program` is what `conformance/build s3server` prints. Objects lie in `directory`. `host` is an address of this machine."""
    (directory / "users.json").write_text(json.dumps({"accessAccounts": {TRAINER["access"]: TRAINER}}))
    (port,) = free_ports(1)
    with open(directory / "log", "wb") as log:
        process = subprocess.Popen(
            [program, f"{host}:{port}", directory], stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        eventually(lambda: process.poll() is not None or answers(f"http://{host}:{port}/health"))
        assert process.poll() is None, (directory / "log").read_text()
        yield Versitygw(host, port)
    finally:
        process.kill()
        process.communicate()


@contextmanager
def moto(host: str = "127.0.0.1") -> Iterator[S3Server]:
    server = ThreadedMotoServer(ip_address=host, port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        yield _Moto(host, port)
        requests.post(f"http://{host}:{port}/moto-api/reset-auth", data=b"1000000000", timeout=10)
        requests.post(f"http://{host}:{port}/moto-api/reset", timeout=10)
    finally:
        server.stop()
