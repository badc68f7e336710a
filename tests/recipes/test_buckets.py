"""Checkpoints of examples/recipes/lm.py at URLs: in a bucket of a real S3 server, and where fsspec leads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
from moto.server import ThreadedMotoServer

from recipes.ranks import Ranks, logged

pytestmark = pytest.mark.timeout(300)

OPTIONS = ("--sequence", 16, "--dim", 32, "--heads", 2, "--global-batch", 12, "--parallel", "fsdp")
STEPS = 8


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[int, float]:
    """The losses of two ranks that nobody disturbs."""
    return Ranks(tmp_path_factory.mktemp("expected"), 2, *OPTIONS, "--steps", STEPS).losses()


class Server:
    """An S3 server on this machine with a bucket `models`."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.s3 = self.client("s3", "root", "root")
        self.s3.create_bucket(Bucket="models")

    def client(self, service: str, key: str, secret: str) -> Any:
        keys = {"aws_access_key_id": key, "aws_secret_access_key": secret}
        return boto3.client(service, endpoint_url=self.url, region_name="us-east-1", **keys)

    def environment(self, key: str = "root", secret: str = "root") -> dict[str, str]:
        keys = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
        return {"AWS_ENDPOINT_URL": self.url, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", **keys}

    def names(self) -> list[str]:
        return sorted(found["Key"] for found in self.s3.list_objects_v2(Bucket="models").get("Contents", []))

    def user_without(self, action: str) -> dict[str, str]:
        """The environment of one who may do everything else. From now on the server asks who it is."""
        iam = self.client("iam", "root", "root")
        iam.create_user(UserName="trainer")
        statements = [
            {"Effect": "Allow", "Action": "s3:*", "Resource": "*"},
            {"Effect": "Deny", "Action": action, "Resource": "*"},
        ]
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        iam.put_user_policy(UserName="trainer", PolicyName="p", PolicyDocument=policy)
        key = iam.create_access_key(UserName="trainer")["AccessKey"]
        requests.post(f"{self.url}/moto-api/reset-auth", data=b"0", timeout=10).raise_for_status()
        return self.environment(key["AccessKeyId"], key["SecretAccessKey"])


@pytest.fixture
def server() -> Iterator[Server]:
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    try:
        _, port = moto.get_host_and_port()
        yield Server(port)
        requests.post(f"http://127.0.0.1:{port}/moto-api/reset-auth", data=b"1000000000", timeout=10)
        requests.post(f"http://127.0.0.1:{port}/moto-api/reset", timeout=10)
    finally:
        moto.stop()


def test_a_training_goes_on_from_a_bucket_with_another_number_of_ranks(
    server: Server, expected: dict[int, float], tmp_path: Path
) -> None:
    """Two ranks save four times, keep one, and three go on; half a checkpoint is passed over."""
    place = ("--checkpoint-dir", "s3://models/runs/lm", "--save-every", 1, "--keep", 1)
    before = Ranks(tmp_path / "before", 2, *OPTIONS, *place, "--steps", 4, environments=(server.environment(),) * 2)
    assert before.exit_codes() == [0, 0], before.printed()
    assert server.names() == ["runs/lm/step-4/.metadata", "runs/lm/step-4/__0_0.distcp", "runs/lm/step-4/__1_0.distcp"]
    server.s3.put_object(Bucket="models", Key="runs/lm/step-6/__0_0.distcp", Body=b"half")
    server.s3.put_object(Bucket="models", Key="runs/lm-2/step-9/.metadata", Body=b"of another job")
    after = Ranks(tmp_path / "after", 3, *OPTIONS, *place, "--steps", STEPS, environments=(server.environment(),) * 3)
    losses = after.losses()
    assert "from step 4 to 8" in after.printed()
    assert "saved step 8" in after.printed()
    assert list(losses) == [5, 6, 7, 8]
    assert max(abs(losses[step] - expected[step]) for step in losses) <= 1e-5
    assert [key for key in server.names() if key.endswith("/.metadata")] == [
        "runs/lm-2/step-9/.metadata",
        "runs/lm/step-8/.metadata",
    ]


def test_a_place_of_fsspec_does_the_same(expected: dict[int, float], tmp_path: Path) -> None:
    place = ("--checkpoint-dir", f"file://{tmp_path}/lm", "--save-every", 1, "--keep", 1)
    before = Ranks(tmp_path / "before", 2, *OPTIONS, *place, "--steps", 4)
    assert before.exit_codes() == [0, 0], before.printed()
    after = Ranks(tmp_path / "after", 1, *OPTIONS, *place, "--steps", STEPS)
    losses = after.losses()
    assert list(losses) == [5, 6, 7, 8]
    assert max(abs(losses[step] - expected[step]) for step in losses) <= 1e-5
    assert [path.parent.name for path in (tmp_path / "lm").glob("*/.metadata")] == ["step-8"]


def test_a_bucket_without_rights_is_told_in_one_sentence_before_anything_is_trained(server: Server, tmp_path: Path) -> None:
    tried = {
        "nowhere": server.environment(),
        "models": server.user_without("s3:PutObject"),
    }
    for bucket, environment in tried.items():
        ranks = Ranks(tmp_path / bucket, 2, *OPTIONS, "--checkpoint-dir", f"s3://{bucket}/lm", environments=(environment,) * 2)
        assert ranks.exit_codes() == [2, 2], ranks.printed()
        errors = [line for line in ranks.printed().splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, ranks.printed()
        assert errors[0].endswith("--checkpoint-dir must be a directory that all nodes share, or a bucket that they may change.")
        assert "Traceback" not in ranks.printed()
        assert logged(ranks.log) == {}


def test_who_may_not_delete_is_told_before_anything_is_trained(server: Server, tmp_path: Path) -> None:
    """The connector logs a refused deletion and goes on: what is half removed would look complete."""
    environment = server.user_without("s3:DeleteObject")
    ranks = Ranks(tmp_path, 1, *OPTIONS, "--checkpoint-dir", "s3://models/lm", environments=(environment,))
    assert ranks.exit_codes() == [2], ranks.printed()
    assert "cannot be deleted. --checkpoint-dir must be" in ranks.printed()
    assert logged(ranks.log) == {}
