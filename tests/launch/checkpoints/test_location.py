"""Where a job saves, by the objects that `launch` makes, and how to list that from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.launch.checkpoints.location import CheckpointLocation, checkpoint_location, endpoint_of, listing_command
from shunter.launch.code.delivery import ImageCode
from shunter.launch.objects import launch
from shunter.launch.options import Checkpoints, LaunchOptions, Program
from shunter.launch.runtimes.choice import Runtime

ENDPOINT = {"name": "AWS_ENDPOINT_URL", "value": "http://s3.local:7070"}
IN_POD = (
    "kubectl exec -n team $(kubectl get pods -n team -l jobset.sigs.k8s.io/jobset-name=train-2 -o name | head -n 1) -- ls -l "
)
LIST_MEMORY = """python -c 'import fsspec; files, path = fsspec.url_to_fs('"'"'memory://b/train'"'"'); print(*files.ls(path))'"""


def job(checkpoints: Checkpoints | None, resume: str = "", *environment: Json) -> Json:
    options = LaunchOptions(
        program=Program(path="train.py"), checkpoints=checkpoints, resume=resume, environment=environment, image="me/train:1"
    )
    return launch(options, ImageCode(), Runtime("shunter-torch", "torch"), name="train-2", namespace="team")[-1]


@pytest.mark.parametrize(
    ("checkpoints", "resume", "place", "title"),
    [
        (
            Checkpoints(directory="/state/team"),
            "",
            CheckpointLocation("/workspace/checkpoints/train-2", directory=Path("/state/team/train-2")),
            "/state/team/train-2",
        ),
        (
            Checkpoints(directory="/state/team"),
            "train",
            CheckpointLocation("/workspace/checkpoints/train", directory=Path("/state/team/train")),
            "/state/team/train",
        ),
        (
            Checkpoints(claim="data", inside="runs/a/"),
            "train",
            CheckpointLocation("/workspace/checkpoints/train", claim="data", inside="runs/a/train"),
            "runs/a/train in claim data",
        ),
        (Checkpoints(url="s3://b/p"), "train", CheckpointLocation("s3://b/p/train"), "s3://b/p/train"),
    ],
    ids=["directory", "in another's place", "claim", "bucket"],
)
def test_a_job_that_resumed_another_saves_in_its_place(
    checkpoints: Checkpoints, resume: str, place: CheckpointLocation, title: str
) -> None:
    assert checkpoint_location(job(checkpoints, resume)) == place
    assert (place.title, place.name) == (title, resume or "train-2")


def test_a_program_that_is_given_no_place_has_none_and_one_of_its_own_is_not_on_this_machine() -> None:
    assert checkpoint_location(job(None)) is None
    own = {"name": "SHUNTER_CHECKPOINT_DIR", "value": "/scratch/mine"}
    assert checkpoint_location(job(Checkpoints(directory="/state/team"), "", own)) == CheckpointLocation("/scratch/mine")


def test_a_trainjob_of_somebody_else_may_patch_what_it_likes() -> None:
    patch: dict[str, Any] = {
        "manager": "them",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node"}]}}},
    }
    env = [{"name": "SHUNTER_CHECKPOINT_DIR", "value": "/data"}]
    theirs = {"metadata": {"name": "j", "namespace": "n"}, "spec": {"runtimePatches": [patch], "trainer": {"env": env}}}
    assert checkpoint_location(theirs) == CheckpointLocation("/data")


@pytest.mark.parametrize(
    ("checkpoints", "environment", "command"),
    [
        (Checkpoints(url="s3://b/p"), (), "aws s3 ls s3://b/p/train/"),
        (Checkpoints(url="s3://b/p"), (ENDPOINT,), "aws s3 ls s3://b/p/train/ --endpoint-url http://s3.local:7070"),
        (Checkpoints(url="gs://b"), (), "gcloud storage ls gs://b/train/"),
        (Checkpoints(url="memory://b"), (), LIST_MEMORY),
        (Checkpoints(claim="data"), (), f"{IN_POD}/workspace/checkpoints/train"),
    ],
    ids=["bucket", "bucket of another server", "of Google", "of fsspec", "claim"],
)
def test_the_command_that_lists_a_place_names_the_job_that_it_is_called_after(
    checkpoints: Checkpoints, environment: tuple[Json, ...], command: str
) -> None:
    made = job(checkpoints, "train", *environment)
    place = checkpoint_location(made)
    assert place is not None
    assert listing_command(made, place) == command


def test_a_job_without_variables_names_no_server() -> None:
    """One that was written by hand, or converted."""
    assert endpoint_of({"spec": {}}) == endpoint_of({"spec": {"trainer": {"numNodes": 2}}}) == ""
