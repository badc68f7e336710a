"""Each stage of the proof finds what belongs to it, and nothing is claimed beyond."""

from __future__ import annotations

import pytest

from migrate.proof.jobs import Change, changed, converted, pod_spec, pytorch
from shunter.api.meta import Json
from shunter.migrate.options import Options
from shunter.migrate.proof.proving import STAGES, StageResult, proof_of


def _unknown_field(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["trainer"]["volumes"] = []


def _wrong_type(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["trainer"]["numNodes"] = "three"


def _long_image(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["trainer"]["image"] = "x" * 501


def _bad_name(train_job: Json, runtime: Json) -> None:
    train_job["metadata"]["name"] = "1bert"


def _reserved(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["trainer"]["env"] = [{"name": "PET_NNODES", "value": "2"}]


def _no_node(train_job: Json, runtime: Json) -> None:
    pod_spec(runtime)["containers"][0]["name"] = "trainer"


def _no_such_runtime(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["runtimeRef"]["kind"] = "Runtime"


def _long_name(train_job: Json, runtime: Json) -> None:
    train_job["metadata"]["name"] = "b" * 55


def _bad_pod(train_job: Json, runtime: Json) -> None:
    pod_spec(runtime)["containers"][0]["volumeMounts"] = [{"name": "nothing", "mountPath": "/data"}]


def _always(train_job: Json, runtime: Json) -> None:
    pod_spec(runtime)["restartPolicy"] = "Always"


def _more_nodes(train_job: Json, runtime: Json) -> None:
    train_job["spec"]["trainer"]["numNodes"] = 4


@pytest.mark.parametrize(
    ("change", "stage", "message"),
    [
        pytest.param(_unknown_field, "schema", "TrainJob bert has no field spec.trainer.volumes", id="unknown-field"),
        pytest.param(_wrong_type, "schema", "spec.trainer.numNodes", id="wrong-type"),
        pytest.param(_long_image, "schema", "spec.trainer.image", id="too-long"),
        pytest.param(_bad_name, "cel", "metadata.name must match RFC 1035", id="rule-of-the-definition"),
        pytest.param(_reserved, "webhooks", "must not have reserved envs", id="reserved-variable"),
        pytest.param(_no_node, "webhooks", "must contain the required container", id="no-container-node"),
        pytest.param(_no_such_runtime, "webhooks", "unsupported runtime", id="kind-of-runtime"),
        pytest.param(_long_name, "objects", "pod names generated for this JobSet will exceed 63", id="name-budget"),
        pytest.param(_bad_pod, "objects", 'Not found: "nothing"', id="volume-that-is-not-there"),
        pytest.param(
            _always, "objects", "Job bert-node-0 would be rejected: spec.template.spec.restartPolicy", id="restart-policy"
        ),
        pytest.param(_more_nodes, "pods", "v1 has no such pod", id="number-of-nodes"),
    ],
)
def test_a_stage_finds_what_belongs_to_it(change: Change, stage: str, message: str) -> None:
    proof = proof_of(changed(converted(pytorch(2)), change))
    assert not proof.holds
    assert proof.is_refuted
    last = proof.results[-1]
    assert last.stage == stage
    assert any(message in finding.message for finding in last.findings), [finding.message for finding in last.findings]


def test_without_a_cluster_one_comes_as_far_as_the_pods() -> None:
    proof = proof_of(converted(pytorch(3)))
    assert (proof.reached, proof.holds) == ("pods", True)
    assert proof.results[-1].note.startswith("4 pods on each side; differences: ")
    assert [result.stage for result in proof.results] == list(STAGES)[: len(proof.results)]


def test_a_stage_that_was_not_tried_is_not_reached() -> None:
    proof = proof_of(converted(pytorch(1))).with_result(StageResult("server", note="no cluster", was_tried=False))
    assert (proof.reached, proof.holds, proof.is_refuted) == ("pods", False, False)


def test_a_finding_of_a_stage_stands_where_the_value_comes_from() -> None:
    job = pytorch(1)
    job["metadata"]["labels"] = {"team": "no label value!"}
    (finding,) = proof_of(converted(job)).findings
    assert (finding.field, finding.target) == ("metadata.labels", "TrainJob metadata.labels")


def test_an_accepted_field_that_v1_does_not_know_is_accepted_in_the_result_too() -> None:
    job = pytorch(2, imagePullPolic="Always")
    assert proof_of(converted(job)).reached == "yaml"
    accepted = proof_of(converted(job, Options(accepted=("FIELD003",))))
    assert (accepted.reached, accepted.holds) == ("pods", True)
    assert [finding.topic.id for finding in accepted.findings if finding.suppressed] == ["PROOF011"]
