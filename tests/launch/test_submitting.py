"""In which order a job is written, under which name, and that what is refused leaves nothing behind."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, SECRETS, TRAIN_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import EnvironmentProblem, InputError
from shunter.launch.code.delivery import MountedCode, PackedCode
from shunter.launch.code.packing import Entry, archive
from shunter.launch.options import Checkpoints, ClaimVolume, LaunchOptions, Program
from shunter.launch.rerunning import rerun
from shunter.launch.runtimes.choice import Runtime
from shunter.launch.submitting import SubmittedJob, resubmit, secret_variables, submit
from shunter.operator.trainer.runtimes import shipped
from stored_objects import StoredObjects

TORCH = Runtime("torch-distributed", "torch")
CODE = PackedCode(archive([Entry("train.py", b"print('trained')\n")]), 1)


def options(**more: Any) -> LaunchOptions:
    return LaunchOptions(program=Program(path="train.py"), **more)


async def submitted(objects: StoredObjects, code: PackedCode | MountedCode = CODE, **more: Any) -> SubmittedJob:
    taken = more.pop("taken", ())
    return await submit(objects.client, options(**more), code, runtime=TORCH, taken=taken)


def kinds(objects: StoredObjects) -> list[str]:
    return [f"{write.method} {write.path.partition('/')[0]}" for write in objects.made]


async def test_the_job_is_tried_first_then_come_its_code_itself_and_the_owner_of_the_code() -> None:
    objects = StoredObjects()
    made = await submitted(objects)
    assert (objects.writes[0].path, objects.writes[0].is_dry_run) == ("trainjobs", True)
    assert kinds(objects) == ["POST configmaps", "POST trainjobs", "PATCH configmaps"]
    (owner,) = objects.made[-1].body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("TrainJob", made.job["metadata"]["uid"])
    assert (made.base, made.sent) == ("train", 1)


async def test_code_that_is_there_is_not_sent_again_and_gets_both_jobs_as_its_owners() -> None:
    objects = StoredObjects()
    await submitted(objects)
    objects.writes.clear()
    again = await submitted(objects)
    assert kinds(objects) == ["POST trainjobs", "PATCH configmaps"]
    assert (again.job["metadata"]["name"], again.sent) == ("train-2", 0)
    assert [owner["name"] for owner in objects.made[-1].body["metadata"]["ownerReferences"]] == ["train", "train-2"]


async def test_a_chosen_name_is_one_that_no_job_of_any_kind_has_and_nobody_else_is_about_to_take() -> None:
    other = PYTORCH_JOBS.typed({"metadata": {"name": "train", "namespace": "team"}})
    made = await submitted(StoredObjects((PYTORCH_JOBS, other)), taken=("train-2",))
    assert (made.job["metadata"]["name"], made.base) == ("train-3", "train")


async def test_a_given_name_that_is_taken_is_refused_before_anything_is_written() -> None:
    objects = StoredObjects((TRAIN_JOBS, {"metadata": {"name": "mine", "namespace": "team"}}))
    with pytest.raises(InputError, match="--name mine: TrainJob team/mine exists"):
        await submitted(objects, name="mine")
    assert objects.made == []


async def test_what_the_server_refuses_of_the_job_is_refused_before_its_code_is_sent() -> None:
    objects = StoredObjects()
    objects.refuses = lambda write: (422, "spec.trainer: no room") if write.path == "trainjobs" else None
    with pytest.raises(InputError, match=r"TrainJob team/train is rejected: .*no room"):
        await submitted(objects)
    assert objects.made == []


@pytest.mark.parametrize("path", ["trainjobs", "configmaps"])
async def test_a_server_whose_disk_is_full_is_no_fault_of_the_program(path: str) -> None:
    objects = StoredObjects()
    objects.refuses = lambda write: (507, "no space left") if write.path == path and not write.is_dry_run else None
    with pytest.raises(EnvironmentProblem, match=r"(TrainJob|ConfigMap) team/[\w-]+: no space left"):
        await submitted(objects)


async def test_a_namespace_that_is_not_there_is_named_with_the_command_that_makes_it() -> None:
    objects = StoredObjects()
    objects.refuses = lambda write: (404, 'namespaces "team" not found')
    with pytest.raises(InputError, match="there is no namespace team") as refusal:
        await submitted(objects)
    assert refusal.value.remedy == "Create it first: kubectl create namespace team"


async def test_a_claim_that_is_missing_is_refused_before_anything_is_written() -> None:
    objects = StoredObjects()
    with pytest.raises(InputError, match="--volume data"):
        await submitted(objects, volumes=(ClaimVolume("data", "/data", read_only=True),))
    assert objects.writes == []


async def test_a_claim_in_which_nothing_can_be_saved_is_refused_before_anything_is_written() -> None:
    metadata = {"name": "data", "namespace": "team"}
    objects = StoredObjects((PERSISTENT_VOLUME_CLAIMS, {"metadata": metadata, "spec": {"accessModes": ["ReadOnlyMany"]}}))
    with pytest.raises(InputError, match=r"--checkpoints data: the claim is ReadOnlyMany, so nothing can be saved in it. Use a"):
        await submitted(objects, checkpoints=Checkpoints(claim="data"))
    assert objects.writes == []


async def test_what_an_interrupted_run_of_that_name_left_goes() -> None:
    """Killed after the code was sent, before the job was made."""
    objects = StoredObjects()
    objects.refuses = lambda write: (500, "killed") if write.path == "trainjobs" and not write.is_dry_run else None
    with pytest.raises(EnvironmentProblem, match="TrainJob team/train: killed"):
        await submitted(objects)
    assert kinds(objects)[0] == "POST configmaps"
    objects.refuses = lambda write: None
    objects.writes.clear()
    await submitted(objects, PackedCode(archive([Entry("train.py", b"print('other')\n")]), 1))
    assert kinds(objects) == ["DELETE configmaps", "POST configmaps", "POST trainjobs", "PATCH configmaps"]


async def test_a_job_that_runs_again_has_the_code_of_the_first_and_its_next_name() -> None:
    objects = StoredObjects()
    first = (await submitted(objects)).job
    objects.writes.clear()
    again = await resubmit(objects.client, TRAIN_JOBS.typed(first))
    assert again.job["metadata"]["name"] == "train-2"
    assert kinds(objects) == ["POST trainjobs", "PATCH configmaps"]


async def test_a_job_whose_code_is_gone_or_that_was_no_program_cannot_run_again() -> None:
    objects = StoredObjects()
    first = TRAIN_JOBS.typed((await submitted(objects)).job)
    with pytest.raises(InputError, match="the code of TrainJob team/train is no longer in the cluster"):
        await resubmit(StoredObjects().client, first)
    plain: Json = {**first, "metadata": {"name": "train", "namespace": "team"}}
    with pytest.raises(InputError, match="was not created from a program"):
        await resubmit(objects.client, plain)


SECRET: Json = {"metadata": {"name": "hub", "namespace": "team"}, "data": {"HF_TOKEN": "eA==", "USER": "eA=="}}


async def test_variables_of_a_secret_are_those_of_its_keys_or_of_one() -> None:
    client = StoredObjects((SECRETS, SECRET)).client
    assert [one["name"] for one in await secret_variables(client, "team", "hub")] == ["HF_TOKEN", "USER"]
    assert [one["name"] for one in await secret_variables(client, "team", "hub", "USER")] == ["USER"]
    with pytest.raises(InputError, match="the Secret has no such key") as refusal:
        await secret_variables(client, "team", "hub", "TOKEN")
    assert refusal.value.remedy == "It has HF_TOKEN, USER."


async def test_code_of_another_making_under_the_name_of_ours_is_never_used() -> None:
    objects = StoredObjects()
    await submitted(objects)
    name = objects.made[0].body["metadata"]["name"]
    foreign = objects.get(CONFIG_MAPS, name)
    objects.put(CONFIG_MAPS, {**foreign, "metadata": {**foreign["metadata"], "annotations": {}}})
    with pytest.raises(InputError, match="exists and does not contain this code"):
        await submitted(objects)


@pytest.mark.parametrize("name", ["", "m" * 48], ids=["numbered", "given"])
@pytest.mark.parametrize("is_program", [True, False], ids=["program", "manifest"])
async def test_a_rerun_whose_name_is_too_long_for_its_pods_is_refused_before_anything_is_written(
    name: str, is_program: bool
) -> None:
    shared = next(runtime for runtime in shipped() if runtime["metadata"]["name"] == TORCH.name)
    objects = StoredObjects((CLUSTER_TRAINING_RUNTIMES, shared))
    first = TRAIN_JOBS.typed((await submitted(objects, name="n" * 47, nodes=11)).job)
    if not is_program:
        del first["metadata"]["annotations"]
    objects.writes.clear()
    with pytest.raises(InputError, match=rf"has {len(name) or 49} characters; .* 11 nodes of runtime torch-distributed"):
        await rerun(objects.client, TRAIN_JOBS, first, name=name)
    assert objects.writes == []
