"""The parts that a TrainJob may say in the place of its runtime."""

from __future__ import annotations

import pytest

from migrate.conversion.sharing.shared_jobs import converted, job, require_proof, runtimes
from shunter.api.meta import Json
from shunter.migrate.options import Options


@pytest.mark.parametrize("version", ["2.3", "2.1"])
def test_pods_that_differ_in_what_a_patch_can_say_share_a_runtime(version: str) -> None:
    def on(name: str) -> Json:
        mount = [{"name": "data", "mountPath": "/data"}]
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        return job(name, volumeMounts=mount, pod={"volumes": volumes, "nodeSelector": {"pool": "gpu"}})

    options = Options(target_version=version)
    found = converted(on("a"), on("b"), options=options)
    if version == "2.1":
        assert len(runtimes(found)) == 2
        return
    (runtime,) = runtimes(found)
    pod = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"pool": "gpu"}
    assert "volumes" not in pod
    (patch,) = found[1].train_job["spec"]["runtimePatches"]
    (group,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert group["template"]["spec"]["template"]["spec"] == {
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "b"}}]
    }
    require_proof(found, options)


def test_a_variable_that_is_made_of_one_that_differs_stands_behind_it() -> None:
    made = {"name": "PLACE", "value": "/out/$(RUN)"}
    found = converted(*(job(name, env=[{"name": "RUN", "value": name}, made]) for name in "ab"))
    assert [one.train_job["spec"]["trainer"]["env"] for one in found] == [
        [{"name": "RUN", "value": "a"}, made],
        [{"name": "RUN", "value": "b"}, made],
    ]
    require_proof(found)


def test_tf_jobs_of_several_sizes_share_a_runtime() -> None:
    found = converted(*(job(name, "TFJob", workers=count) for name, count in (("a", 2), ("b", 3))))
    assert len(runtimes(found)) == 1
    assert [[one["name"] for one in each.train_job["spec"]["trainer"]["env"]] for each in found] == [["TF_CONFIG"]] * 2
    require_proof(found)
