"""Which job a name means, and which jobs there are."""

from __future__ import annotations

import pytest

from fault_transport import FaultTransport, Refuse
from shunter.api.meta import Json
from shunter.api.resources import JOBS, TRAIN_JOBS, Resource
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import InputError
from shunter.jobs.lookup import all_jobs, find, own_pods, resource_of_kind
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden
from shunter.operator.overview import SHOWN_RESOURCES
from stored_objects import StoredObjects


def job(name: str, **more: Json) -> Json:
    return {"metadata": {"name": name, "namespace": "team", "uid": name}, **more}


def server(*jobs: tuple[Resource, Json]) -> StoredObjects:
    return StoredObjects(*jobs)


BOTH = server((PYTORCH_JOBS, job("bert")), (TRAIN_JOBS, job("bert")), (TRAIN_JOBS, job("llama")))


async def test_a_name_that_one_job_has_means_it_with_its_kind() -> None:
    resource, found = await find(BOTH.client, "llama", "team")
    assert (resource, found["kind"], found["metadata"]["uid"]) == (TRAIN_JOBS, "TrainJob", "llama")


@pytest.mark.parametrize(("wanted", "resource"), [("pytorchjob/bert", PYTORCH_JOBS), ("trainjobs/bert", TRAIN_JOBS)])
async def test_a_kind_before_the_name_tells_jobs_of_one_name_apart(wanted: str, resource: Resource) -> None:
    assert (await find(BOTH.client, wanted, "team"))[0] == resource


async def test_a_name_of_several_jobs_is_refused_with_how_to_name_each() -> None:
    with pytest.raises(InputError, match="there are 2 jobs 'bert': ") as refusal:
        await find(BOTH.client, "bert", "team")
    assert "pytorchjob/bert -n team" in refusal.value.message
    assert "trainjob/bert -n team" in refusal.value.message


async def test_a_name_of_no_job_is_refused_with_what_is_close() -> None:
    with pytest.raises(InputError, match="there is no job 'lama' in namespace team") as refusal:
        await find(BOTH.client, "lama", "team")
    assert "llama" in refusal.value.remedy
    with pytest.raises(InputError, match="there is no PyTorchJob 'llama'"):
        await find(BOTH.client, "llama", "team", among=[PYTORCH_JOBS])


async def test_a_name_of_another_namespace_is_refused_with_the_namespace_that_has_it() -> None:
    with pytest.raises(InputError, match="there is no job 'bert' in namespace taem") as refusal:
        await find(BOTH.client, "bert", "taem")
    assert refusal.value.remedy == "Add -n team."
    with pytest.raises(InputError, match="there is no job 'pytorchjob/llama' in namespace taem") as refusal:
        await find(BOTH.client, "pytorchjob/llama", "taem")
    assert refusal.value.remedy == "List them with: shunter jobs"


def may_not_list(*resources: Resource) -> Client:
    transport = FaultTransport(BOTH)
    for resource in resources:
        transport.inject(Refuse(403, "Forbidden"), path=f"/{resource.plural}", times=10**6)
    return Client(transport)


async def test_kinds_that_may_not_be_listed_are_left_out_and_told() -> None:
    told: list[str] = []
    found = await all_jobs(may_not_list(PYTORCH_JOBS, JOBS), "team", on_refusal=told.append)
    assert [job["metadata"]["name"] for _, job in found] == ["bert", "llama"]
    assert [text.partition(":")[0] for text in told] == ["PyTorchJobs are left out", "Jobs of batch/v1 are left out"]
    assert (await find(may_not_list(PYTORCH_JOBS), "bert", "team"))[0] == TRAIN_JOBS
    with pytest.raises(InputError, match="there is no job 'x' in namespace team of a kind that you may list"):
        await find(may_not_list(PYTORCH_JOBS), "x", "team")


async def test_somebody_who_may_list_no_training_job_is_refused() -> None:
    with pytest.raises(Forbidden):
        await all_jobs(may_not_list(*(resource for resource in SHOWN_RESOURCES if resource != JOBS)), "team")
    with pytest.raises(Forbidden):
        await find(may_not_list(TRAIN_JOBS), "llama", "team", among=[TRAIN_JOBS])


async def test_of_kubernetes_own_jobs_only_those_with_ranks_are_listed() -> None:
    indexed = job("indexed", spec={"completionMode": "Indexed", "completions": 2, "parallelism": 2})
    objects = server((JOBS, indexed), (JOBS, job("plain", spec={"completions": 1})))
    assert [found["metadata"]["name"] for _, found in await all_jobs(objects.client, "team")] == ["indexed"]


def test_pods_of_an_earlier_job_of_the_name_are_not_its_own() -> None:
    def pod(name: str, owner: str) -> Json:
        labels = {"training.kubeflow.org/job-name": "bert", "training.kubeflow.org/replica-type": "master"}
        metadata = {"name": name, "namespace": "team", "labels": labels, "ownerReferences": [{"uid": owner, "controller": True}]}
        return {"metadata": metadata}

    pods = [pod("new", "bert"), pod("old", "earlier")]
    assert own_pods(PYTORCH_JOBS.typed(job("bert")), pods) == pods[:1]


def test_a_kind_that_is_no_job_is_refused() -> None:
    assert resource_of_kind("TrainJob") == TRAIN_JOBS
    with pytest.raises(InputError, match=r"'Pod' is not one of .*TrainJob"):
        resource_of_kind("Pod")
