"""TFJob: TF_CONFIG, and which pods decide about the job."""

from __future__ import annotations

import json

from framework_jobs import TF, Played, environments, job
from shunter.operator.training.framework import Settings
from shunter.operator.training.replicas import desired_pods


def test_only_the_training_container_of_a_tfjob_gets_tf_config() -> None:
    (pod, _) = desired_pods(TF, job(TF, {"Worker": 2}, sidecar=True))
    trains, side = pod["spec"]["containers"]
    assert [variable["name"] for variable in trains["env"]] == ["TF_CONFIG"]
    assert "env" not in side


def test_tf_config_lists_all_pods_by_role() -> None:
    told = environments(TF, {"Worker": 1, "Chief": 1, "PS": 0})["job-worker-0"]["TF_CONFIG"]
    assert told == (
        '{"cluster":{"chief":["job-chief-0.team-a.svc:2222"],"ps":[],"worker":["job-worker-0.team-a.svc:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )


def test_a_dynamic_worker_without_parameter_servers_is_told_of_an_empty_list() -> None:
    """TensorFlow's ClusterSpec refuses upstream's null."""
    told = environments(TF, {"Worker": 2}, enableDynamicWorker=True)["job-worker-1"]["TF_CONFIG"]
    assert told == '{"cluster":{"worker":{"1":"job-worker-1.team-a.svc:2222"},"ps":[]},"task":{"type":"worker","index":1}}'


def test_addresses_of_a_tfjob_carry_the_operators_cluster_domain() -> None:
    """The domain is set by CUSTOM_CLUSTER_DOMAIN."""
    framework = TF.with_settings(Settings(cluster_domain="cluster.local"))
    told = environments(framework, {"Worker": 2})["job-worker-1"]["TF_CONFIG"]
    assert json.loads(told)["cluster"]["worker"][0] == "job-worker-0.team-a.svc.cluster.local:2222"


def test_a_tfjob_of_one_pod_is_told_of_no_cluster() -> None:
    assert environments(TF, {"Chief": 1, "PS": 0}) == {"job-chief-0": {}}


def test_a_tfjob_of_parameter_servers_only_never_runs_and_never_ends() -> None:
    played = Played(TF, {"PS": 1})
    assert played.pods("Running", "ps-0") == ["Created=True"]
    assert played.pods("Succeeded", "ps-0") == ["Created=True"]


def test_the_evaluator_ends_no_tfjob_but_fails_it() -> None:
    played = Played(TF, {"Worker": 1, "Evaluator": 1})
    assert played.pods("Running", "worker-0", "evaluator-0") == ["Created=True", "Running=True"]
    assert played.pods("Failed", "evaluator-0", code=1) == ["Created=True", "Running=False", "Failed=True"]
    assert played.message == "TFJob team-a/job has failed because 1 Evaluator replica(s) failed."


def test_without_a_chief_a_tfjob_succeeds_when_worker_0_has() -> None:
    played = Played(TF, {"Worker": 2, "PS": 1})
    played.pods("Running", "worker-0", "worker-1", "ps-0")
    assert played.pods("Succeeded", "worker-1") == ["Created=True", "Running=True"]
    assert played.pods("Succeeded", "worker-0") == ["Created=True", "Running=False", "Succeeded=True"]


def test_with_success_policy_all_workers_a_tfjob_succeeds_when_each_worker_has() -> None:
    played = Played(TF, {"Worker": 2, "PS": 1}, successPolicy="AllWorkers")
    played.pods("Running", "worker-0", "worker-1", "ps-0")
    assert played.pods("Succeeded", "worker-0") == ["Created=True", "Running=True"]
    assert played.pods("Succeeded", "worker-1") == ["Created=True", "Running=False", "Succeeded=True"]


def test_with_a_chief_only_the_chief_decides_that_a_tfjob_has_succeeded() -> None:
    played = Played(TF, {"Chief": 1, "Worker": 1})
    played.pods("Running", "chief-0", "worker-0")
    assert played.pods("Succeeded", "worker-0") == ["Created=True", "Running=True"]
    assert played.pods("Succeeded", "chief-0") == ["Created=True", "Running=False", "Succeeded=True"]


def test_worker_0_done_and_worker_1_failed_at_once_is_both() -> None:
    """Succeeded, then Failed."""
    played = Played(TF, {"Worker": 2})
    played.world.set_pod("job-worker-0", "Succeeded")
    assert played.pods("Failed", "worker-1", code=1) == ["Created=True", "Succeeded=True", "Failed=True"]


def test_a_restarting_tfjob_with_running_workers_stays_restarting() -> None:
    """The failure of a pod that is being replaced is no failure of the job."""
    played = Played(TF, {"Worker": 2}, policy="ExitCode")
    played.pods("Running", "worker-0", "worker-1")
    played.world.set_pod("job-worker-1", "Failed", exit_code=137)
    played.world.look()
    last = played.world.status["conditions"][-1]
    assert (last["type"], last["message"]) == ("Restarting", "job job is restarting because Worker replica(s) failed.")
    assert played.pods("Running", "worker-0") == ["Created=True", "Running=True"]
