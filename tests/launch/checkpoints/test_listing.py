"""What `checkpoints` says of a job of which it finds none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.launch.checkpoints.listing import nothing_saved
from shunter.launch.checkpoints.location import CheckpointLocation, checkpoint_location


def job(place: str, **variables: str) -> dict[str, Any]:
    environment = {"SHUNTER_CHECKPOINT_DIR": place, **variables}
    return {
        "metadata": {"name": "train", "namespace": "team"},
        "spec": {"trainer": {"env": [{"name": name, "value": value} for name, value in environment.items()]}},
    }


def test_files_of_another_form_are_not_called_nothing(tmp_path: Path) -> None:
    """A program that saves `model.pt` was said to have saved no checkpoint."""
    (tmp_path / "train").mkdir()
    place = CheckpointLocation("/workspace/checkpoints/train", directory=tmp_path / "train")
    empty = nothing_saved("train", {"team": {}}, {"team": place})
    assert empty == (f"job 'train' has saved no checkpoint yet: there is none in {tmp_path}/train.", "")
    (tmp_path / "train/model.pt").touch()
    message, remedy = nothing_saved("train", {"team": {}}, {"team": place})
    assert message == f"job 'train' has saved no checkpoint of a known form: {tmp_path}/train holds model.pt."
    assert remedy.startswith("Complete are directories step-N and checkpoint-N with .metadata")


@pytest.mark.parametrize(
    ("place", "reason", "text"),
    [
        pytest.param(
            "s3://b/runs/train",
            "Access Denied",
            "saves in s3://b/runs/train, which cannot be listed from this machine: Access Denied.",
            id="a bucket without rights",
        ),
        pytest.param(
            "s3://b/runs/train",
            "",
            "has saved no checkpoint yet: with the credentials of this shell there is none in s3://b/runs/train.",
            id="a bucket with none, as far as can be seen from here",
        ),
        pytest.param(
            "s3://b/runs/first",
            "",
            "has saved no checkpoint yet, in the location of first: with the credentials of this shell there is none in s3://b/runs/first.",
            id="that of the job which it goes on from",
        ),
    ],
)
def test_a_bucket_is_never_said_to_be_empty_that_was_not_read(place: str, reason: str, text: str) -> None:
    found = job(place, AWS_ENDPOINT_URL="http://minio:9000")
    own = checkpoint_location(found)
    assert own is not None
    message, remedy = nothing_saved("train", {"team": found}, {"team": own}, reason)
    assert message == f"job 'train' {text}"
    assert remedy.endswith(f"aws s3 ls {place}/ --endpoint-url http://minio:9000")
