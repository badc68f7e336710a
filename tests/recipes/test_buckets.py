"""Checkpoints of examples/recipes/lm.py at URLs: in a bucket of a real S3 server, and where fsspec leads."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from control_plane import GoMissing, build
from recipes.ranks import Ranks, logged
from recipes.s3_servers import S3Server, Versitygw, moto, versitygw
from shunter.errors import InputError
from shunter.launch.checkpoints.bucket_access import require_bucket
from shunter.launch.checkpoints.bucket_checkpoints import (
    _s3_client,
    bucket_below,
    damage_in_bucket,
    names_in_bucket,
    refusal_of_s3,
)
from shunter.launch.checkpoints.saved import SavedStep, saved_steps, steps_of
from shunter.launch.options import Checkpoints

pytestmark = pytest.mark.timeout(300)

OPTIONS = ("--sequence", 16, "--dim", 32, "--heads", 2, "--global-batch", 12, "--parallel", "fsdp")
STEPS = 8


def steps_in_bucket(url: str, endpoint: str = "") -> list[SavedStep]:
    return steps_of(bucket_below(url, {"AWS_ENDPOINT_URL": endpoint} if endpoint else {}).files)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[int, float]:
    """The losses of two ranks that nobody disturbs."""
    return Ranks(tmp_path_factory.mktemp("expected"), 2, *OPTIONS, "--steps", STEPS).losses()


@pytest.fixture(scope="module")
def program() -> Path | None:
    """The S3 server that Go built; None where no Go is there. A build that fails is a failure."""
    try:
        return build("s3server")
    except GoMissing:
        return None


@pytest.fixture(params=["versitygw", "moto"])
def server(request: pytest.FixtureRequest, program: Path | None, tmp_path: Path) -> Iterator[S3Server]:
    """One of both: moto imitates S3 where no Go can build a real server."""
    if request.param == "versitygw":
        if program is None:
            pytest.skip("no Go to build versitygw; moto stands in for it")
        directory = tmp_path / "s3"
        directory.mkdir()
        with versitygw(program, directory) as server:
            yield server
    else:
        if program is not None:
            pytest.skip("versitygw, a real server, is asked instead")
        with moto() as server:
            yield server


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Gives this process the environment of one who may ask a server, and no other credentials."""

    def give(environment: dict[str, str]) -> None:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

    return give


def test_a_training_goes_on_from_a_bucket_with_another_number_of_ranks(
    server: S3Server, expected: dict[int, float], credentials: Callable[[dict[str, str]], None], tmp_path: Path
) -> None:
    """Two ranks save four times, keep one, and three go on; half a checkpoint is passed over. `shunter checkpoints` goes by the
    same rule."""
    credentials(server.environment())
    begun = datetime.now(UTC)
    assert steps_in_bucket("s3://models/runs/lm") == []
    place = ("--checkpoint-dir", "s3://models/runs/lm", "--save-every", 1, "--keep", 1)
    before = Ranks(tmp_path / "before", 2, *OPTIONS, *place, "--steps", 4, environments=(server.environment(),) * 2)
    assert before.exit_codes() == [0, 0], before.printed()
    assert server.names() == ["runs/lm/step-4/.metadata", "runs/lm/step-4/__0_0.distcp", "runs/lm/step-4/__1_0.distcp"]
    server.s3.put_object(Bucket="models", Key="runs/lm/step-6/__0_0.distcp", Body=b"half")
    server.s3.put_object(Bucket="models", Key="runs/lm-2/step-9/.metadata", Body=b"of another job")
    half, whole = steps_in_bucket("s3://models/runs/lm")
    assert (half.step, half.size, half.is_complete) == (6, 4, False)
    assert (whole.step, whole.is_complete) == (4, True)
    assert whole.size == server.size("runs/lm/step-4/")
    assert damage_in_bucket(bucket_below("s3://models/runs/lm")) == ("", "")
    assert begun - timedelta(seconds=2) <= whole.saved <= half.saved <= datetime.now(UTC) + timedelta(seconds=2)
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
    server.s3.delete_object(Bucket="models", Key="runs/lm/step-8/__1_0.distcp")
    assert damage_in_bucket(bucket_below("s3://models/runs/lm")) == ("step-8", "__1_0.distcp is missing")


def test_a_place_of_fsspec_does_the_same(expected: dict[int, float], tmp_path: Path) -> None:
    place = ("--checkpoint-dir", f"file://{tmp_path}/lm", "--save-every", 1, "--keep", 1)
    before = Ranks(tmp_path / "before", 2, *OPTIONS, *place, "--steps", 4)
    assert before.exit_codes() == [0, 0], before.printed()
    after = Ranks(tmp_path / "after", 1, *OPTIONS, *place, "--steps", STEPS)
    losses = after.losses()
    assert list(losses) == [5, 6, 7, 8]
    assert max(abs(losses[step] - expected[step]) for step in losses) <= 1e-5
    assert [path.parent.name for path in (tmp_path / "lm").glob("*/.metadata")] == ["step-8"]
    (tmp_path / "lm/step-9").mkdir()
    (tmp_path / "lm/step-9/__0_0.distcp").write_bytes(b"half")
    found = steps_in_bucket(f"file://{tmp_path}/lm")
    assert found == [step for step in saved_steps(tmp_path / "lm") if step.size], "removed ones leave directories"
    assert [(step.step, step.is_complete) for step in found] == [(9, False), (8, True)]


def test_the_jobs_of_which_a_bucket_has_anything_are_those_below_its_prefix(server: S3Server) -> None:
    assert names_in_bucket("s3://models/runs", server.environment()) == set()
    for key in ("runs/lm/step-4/.metadata", "runs/lm/step-6/a", "runs/train/x", "runs/file", "runs-2/other/x", "top/x"):
        server.s3.put_object(Bucket="models", Key=key, Body=b"x")
    assert names_in_bucket("s3://models/runs", server.environment()) == {"lm", "train"}
    assert names_in_bucket("s3://models", server.environment()) == {"runs", "runs-2", "top"}
    with pytest.raises(InputError, match="bucket does not exist"):
        names_in_bucket("s3://nowhere/runs", server.environment())


def test_a_password_in_the_address_of_a_server_is_not_repeated() -> None:
    given = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": "http://me:hidden-word@127.0.0.1:1"}
    refusal, doubt = refusal_of_s3("s3://models/runs", given, may_write=False)
    assert (refusal, "127.0.0.1:1" in doubt, "hidden-word" in doubt) == ("", True, False)
    with pytest.raises(InputError) as said:
        names_in_bucket("s3://models/runs", given)
    assert "hidden-word" not in said.value.message


def test_why_a_bucket_cannot_be_listed_is_said_in_one_line(
    server: S3Server, credentials: Callable[[dict[str, str]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials(server.environment())
    with pytest.raises(InputError, match="bucket does not exist") as said:
        steps_in_bucket("s3://nowhere/lm")
    assert "\n" not in said.value.message
    credentials({"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none"})
    with pytest.raises(InputError, match="Unable to locate credentials"):
        steps_in_bucket("s3://models/lm", server.url)
    with monkeypatch.context() as missing:
        missing.setitem(sys.modules, "boto3", None)
        with pytest.raises(InputError, match="to list it, boto3 is required"):
            steps_in_bucket("s3://models/lm")
    with pytest.raises(InputError, match="to list it, fsspec and the package of this store are required"):
        steps_in_bucket("oci://models/lm")


@pytest.mark.parametrize(
    ("bucket", "reason"),
    [
        pytest.param("nowhere", "NoSuchBucket, The specified bucket does not exist. --checkpoint-dir", id="no bucket"),
        pytest.param("models", "Forbidden", id="no right to write"),
    ],
)
def test_a_bucket_that_cannot_be_used_is_told_in_one_sentence_before_anything_is_trained(
    server: S3Server, tmp_path: Path, bucket: str, reason: str
) -> None:
    environment = server.environment() if bucket == "nowhere" else server.user_without("s3:PutObject")
    ranks = Ranks(tmp_path, 2, *OPTIONS, "--checkpoint-dir", f"s3://{bucket}/lm", environments=(environment,) * 2)
    assert ranks.exit_codes() == [2, 2], ranks.printed()
    errors = [line for line in ranks.printed().splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, ranks.printed()
    assert reason in errors[0]
    assert errors[0].endswith("--checkpoint-dir must be a directory that all nodes share, or a bucket that they may change.")
    assert "Traceback" not in ranks.printed()
    assert logged(ranks.log) == {}


def test_a_bucket_that_a_job_may_not_use_is_known_before_the_job_is_created(
    server: S3Server, credentials: Callable[[dict[str, str]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`shunter run` asks with what the job is given: what this shell has counts for nothing, and nothing is left in the bucket,
    not for a moment. What is denied from here may be allowed from the pods' network, so it refuses nothing."""
    credentials({"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"})
    asked: list[str] = []

    def client(variables: dict[str, str]) -> Any:
        made = _s3_client(variables)
        made.meta.events.register("before-call.s3", lambda model, **_: asked.append(model.name))
        return made

    monkeypatch.setattr("shunter.launch.checkpoints.bucket_checkpoints._s3_client", client)
    given = server.environment()
    refusal, doubt = refusal_of_s3("s3://models/runs", given, may_write=True)
    # moto has no answer about an upload that does not exist.
    assert (refusal, doubt) == ("", "") or "(500)" in doubt
    assert "NoSuchBucket" in refusal_of_s3("s3://nowhere/runs", given, may_write=True)[0]
    refusal, doubt = refusal_of_s3("s3://models/runs", given | {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, may_write=True)
    assert (refusal, "Could not connect" in doubt) == ("", True)
    refusal, doubt = refusal_of_s3("s3://models/runs", server.user_without("s3:ListBucket"), may_write=False)
    assert (refusal, "AccessDenied" in doubt) == ("", True)
    reader = server.user_without("s3:PutObject")
    refusal, doubt = refusal_of_s3("s3://models/runs", reader, may_write=True)
    assert (refusal, "AccessDenied" in doubt) == ("", True)
    assert refusal_of_s3("s3://models/runs", reader, may_write=False) == ("", "")
    wrong = {"AWS_SECRET_ACCESS_KEY": "wrong"}
    assert "SignatureDoesNotMatch" in refusal_of_s3("s3://models/runs", reader | wrong, may_write=False)[0]
    assert "InvalidAccessKeyId" in refusal_of_s3("s3://models/runs", reader | {"AWS_ACCESS_KEY_ID": "none"}, may_write=True)[0]
    assert set(asked) == {"UploadPart", "ListObjectsV2"}, "neither of them writes"

    def told(variables: dict[str, str]) -> list[str]:
        lines: list[str] = []
        environment = tuple({"name": name, "value": value} for name, value in variables.items())
        options = SimpleNamespace(checkpoints=Checkpoints(url="s3://models/runs"), environment=environment, name="train")
        asyncio.run(require_bucket(None, "team", options, may_write=True, notify=lines.append))  # type: ignore[arg-type]
        return lines

    (warning,) = told(reader)
    assert warning.startswith("warning: s3://models/runs, checked with the job's credentials from this machine: ")
    assert "AccessDenied" in warning
    assert warning.endswith("the job fails when it starts or first saves; to see that, run shunter logs train -n team")
    with pytest.raises(InputError, match="SignatureDoesNotMatch"):
        told(reader | wrong)


def test_a_job_of_this_machine_that_may_not_write_is_refused_and_another_region_is_told(server: S3Server, tmp_path: Path) -> None:
    """What is denied here is denied to pods here. boto3 goes to the right region by itself, s3torchconnector does not: the job
    was created and failed."""
    reader = server.user_without("s3:PutObject")
    refusal, doubt = refusal_of_s3("s3://models/runs", reader, may_write=True, is_here=True)
    assert ("AccessDenied" in refusal, doubt) == (True, "")
    refusal, doubt = refusal_of_s3("s3://models/runs", server.user_without("s3:ListBucket"), may_write=True, is_here=True)
    assert (refusal, "AccessDenied" in doubt) == ("", True), "not every program lists its bucket"
    if not isinstance(server, Versitygw):
        return  # moto takes requests for any region
    elsewhere = server.environment() | {"AWS_REGION": "eu-west-1"}
    refusal, doubt = refusal_of_s3("s3://models/runs", elsewhere, may_write=True)
    assert refusal == ""
    assert doubt.startswith("the bucket is in region us-east-1, and the job uses eu-west-1, with which s3torchconnector fails")
    ranks = Ranks(tmp_path, 1, *OPTIONS, "--checkpoint-dir", "s3://models/lm", environments=(elsewhere,))
    assert ranks.exit_codes() == [2], ranks.printed()
    assert 'the region "eu-west-1" is wrong; expecting "us-east-1". Set AWS_REGION to that one. ' in ranks.printed()
    token = server.environment() | {"AWS_SESSION_TOKEN": "none"}
    assert "InvalidToken" in refusal_of_s3("s3://models/runs", token, may_write=True)[0]
    assert Ranks(tmp_path, 1, *OPTIONS, "--checkpoint-dir", "s3://models/lm", environments=(token,)).exit_codes() == [2]


def test_who_may_not_delete_is_told_before_anything_is_trained(server: S3Server, tmp_path: Path) -> None:
    """The connector logs a refused deletion and goes on: what is half removed would look complete."""
    environment = server.user_without("s3:DeleteObject")
    ranks = Ranks(tmp_path, 1, *OPTIONS, "--checkpoint-dir", "s3://models/lm", environments=(environment,))
    assert ranks.exit_codes() == [2], ranks.printed()
    assert "cannot be deleted. --checkpoint-dir must be" in ranks.printed()
    assert logged(ranks.log) == {}
