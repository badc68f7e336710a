"""What pods a Job gets."""

from typing import Any

import pytest

from shunter.api.batch import COMPLETION_INDEX, INDEX_FAILURE_COUNT
from shunter.api.core import Pod
from shunter.api.meta import ObjectMeta
from shunter.cluster.controllers.job import pods_of
from shunter.cluster.controllers.job.pods import completion_index, generate_name_of, index_failures

Json = dict[str, Any]


def job(**spec: Any) -> Json:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i", "newerThanUs": [1]}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "n", "uid": "u"},
        "spec": {"template": template, **spec},
    }


def test_pod_of_a_plain_job_is_its_template_owned_and_tracked() -> None:
    assert pods_of(job()) == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "generateName": "j-",
                "namespace": "n",
                "labels": {"app": "x"},
                "ownerReferences": [
                    {
                        "apiVersion": "batch/v1",
                        "kind": "Job",
                        "name": "j",
                        "uid": "u",
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
                "finalizers": ["batch.kubernetes.io/job-tracking"],
            },
            "spec": {"containers": [{"name": "c", "image": "i", "newerThanUs": [1]}]},
        }
    ]


def test_pods_of_an_indexed_job_know_their_index() -> None:
    pods = pods_of(job(completionMode="Indexed", completions=2, parallelism=2))
    assert [pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for pod in pods] == ["0", "1"]
    assert [pod["spec"]["hostname"] for pod in pods] == ["j-0", "j-1"]
    assert [pod["metadata"]["generateName"] for pod in pods] == ["j-0-", "j-1-"]
    for pod in pods:
        (variable,) = pod["spec"]["containers"][0]["env"]
        assert variable["name"] == "JOB_COMPLETION_INDEX"


def test_own_completion_index_variable_is_kept() -> None:
    mine = job(completionMode="Indexed", completions=1)
    mine["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "JOB_COMPLETION_INDEX", "value": "7"}]
    assert pods_of(mine)[0]["spec"]["containers"][0]["env"] == [{"name": "JOB_COMPLETION_INDEX", "value": "7"}]


def test_the_jobs_own_template_is_not_touched() -> None:
    mine = job(completionMode="Indexed", completions=1)
    before = repr(mine)
    pods_of(mine)
    assert repr(mine) == before


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        pytest.param({}, 1, id="one by default"),
        pytest.param({"parallelism": 3}, 3, id="parallelism without completions"),
        pytest.param({"parallelism": 3, "completions": 2}, 2, id="never more than completions"),
        pytest.param({"parallelism": 0, "completions": 2}, 0, id="none with parallelism 0"),
    ],
)
def test_first_pods_are_as_many_as_may_run_at_once(spec: Json, count: int) -> None:
    assert len(pods_of(job(**spec))) == count


def test_long_job_names_are_cut_so_that_the_index_stays() -> None:
    assert generate_name_of("p" * 63, 12) == "p" * 54 + "-12-"


@pytest.mark.parametrize(("text", "failures"), [("2", 2), ("", 0), ("two", 0), ("2147483648", 0), ("9" * 5000, 0)])
def test_failures_of_an_index_that_are_no_number_of_32_bits_are_none(text: str, failures: int) -> None:
    assert index_failures(Pod(metadata=ObjectMeta(name="p", annotations={INDEX_FAILURE_COUNT: text}))) == failures


@pytest.mark.parametrize(("text", "index"), [("7", 7), ("", None), ("-1", None), ("9" * 5000, None)])
def test_a_completion_index_is_read_where_it_makes_sense(text: str, index: int | None) -> None:
    assert completion_index(Pod(metadata=ObjectMeta(name="p", annotations={COMPLETION_INDEX: text}))) == index
