"""Jobs end alike in v1 and v2, or it is told when they do not."""

from __future__ import annotations

import weakref

import pytest

from migrate.proof.jobs import Change, changed, converted, job_spec, pod_spec, pytorch
from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.pods.differences import matched
from shunter.migrate.pods.sides import v1_side, v2_side
from shunter.migrate.proof.endings import disagreements


def told(conversion: Conversion) -> list[str]:
    both = matched(v1_side(conversion.source.value), v2_side(conversion.train_job, conversion.runtime))
    return [f"{one.v1}, {one.v2} {one.case.title}" for one in disagreements(both)]


def with_policy(policy: str, limit: int | None = None) -> Json:
    job = pytorch(2, run_policy={} if limit is None else {"backoffLimit": limit})
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        role["restartPolicy"] = policy
    return job


@pytest.mark.parametrize("limit", [None, 0, 1, 4])
@pytest.mark.parametrize("policy", ["OnFailure", "Never"])
def test_converted_jobs_end_as_their_sources(policy: str, limit: int | None) -> None:
    assert told(converted(with_policy(policy, limit))) == []


def test_exit_codes_that_v1_took_for_final_fail_the_job() -> None:
    assert told(converted(with_policy("ExitCode"))) == []


def test_always_starts_again_what_ended_well_in_v1_only() -> None:
    assert "starts the pod again, succeeds when only Master 0 has succeeded" in told(converted(with_policy("Always")))


def _all_nodes(train_job: Json, runtime: Json) -> None:
    del job_spec(runtime)["successPolicy"]


def _default_limit(train_job: Json, runtime: Json) -> None:
    del job_spec(runtime)["backoffLimit"]


def _no_failure_policy(train_job: Json, runtime: Json) -> None:
    del job_spec(runtime)["podFailurePolicy"]


def _never(train_job: Json, runtime: Json) -> None:
    pod_spec(runtime)["restartPolicy"] = "Never"
    job_spec(runtime)["backoffLimit"] = 0


@pytest.mark.parametrize(
    ("policy", "change", "text"),
    [
        pytest.param("OnFailure", _all_nodes, "succeeds, goes on when only Master 0 has succeeded", id="all-nodes"),
        pytest.param("OnFailure", _default_limit, "goes on, fails when Worker 1 has been restarted 7 times", id="limit"),
        pytest.param("ExitCode", _no_failure_policy, "fails, starts the pod again when Worker 1 exits with code 1", id="codes"),
        pytest.param("OnFailure", _never, "starts the pod again, fails when Worker 1 exits with code 137", id="restarts"),
    ],
)
def test_what_makes_a_job_end_otherwise_is_found(policy: str, change: Change, text: str) -> None:
    assert text in told(changed(converted(with_policy(policy)), change))


def test_an_answer_keeps_no_pods() -> None:
    conversion = converted(pytorch(2, run_policy={"backoffLimit": 11}))
    both = matched(v1_side(conversion.source.value), v2_side(conversion.train_job, conversion.runtime))
    assert disagreements(both) == ()
    held = weakref.ref(both)
    del both
    assert held() is None


def test_pods_without_counterpart_are_no_question_of_endings() -> None:
    def fewer(train_job: Json, runtime: Json) -> None:
        train_job["spec"]["trainer"]["numNodes"] = 1

    assert told(changed(converted(pytorch(2)), fewer)) == []
