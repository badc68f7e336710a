"""What Jobs a JobSet gets, beyond what the recordings show."""

from typing import Any

from shunter.cluster.controllers.job import pods_of
from shunter.cluster.controllers.jobset import jobs_of

Json = dict[str, Any]


def jobset(**spec: Any) -> Json:
    def replicated(name: str, replicas: int) -> Json:
        pod = {"metadata": {}, "spec": {"containers": [{"name": "c", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]}}
        return {
            "name": name,
            "groupName": "default",
            "replicas": replicas,
            "template": {"spec": {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": pod}},
        }

    jobs = [replicated("leader", 1), replicated("worker", 2)]
    return {
        "metadata": {"name": "x", "namespace": "n", "uid": "u"},
        "spec": {"network": {"enableDNSHostnames": True}, "replicatedJobs": jobs, **spec},
    }


def test_jobs_come_in_the_order_of_the_replicated_jobs() -> None:
    assert [job["metadata"]["name"] for job in jobs_of(jobset())] == ["x-leader-0", "x-worker-0", "x-worker-1"]


def test_jobs_of_a_suspended_jobset_are_suspended() -> None:
    assert all(job["spec"]["suspend"] for job in jobs_of(jobset(suspend=True)))
    assert not any(job["spec"]["suspend"] for job in jobs_of(jobset()))


def test_pods_chain_from_jobset_to_job_to_pod() -> None:
    job = jobs_of(jobset())[2]
    job["metadata"]["uid"] = "v"
    names = [pod["spec"]["hostname"] + "." + pod["spec"]["subdomain"] for pod in pods_of(job)]
    assert names == ["x-worker-1-0.x", "x-worker-1-1.x"]


def test_claims_become_volumes_of_the_containers_that_mount_them() -> None:
    templates = [{"metadata": {"name": "data"}, "spec": {}}, {"metadata": {"name": "unused"}, "spec": {}}]
    job = jobs_of(jobset(volumeClaimPolicies=[{"templates": templates}]))[0]
    volumes = job["spec"]["template"]["spec"]["volumes"]
    assert volumes == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-x"}}]


def test_the_jobsets_own_templates_are_not_touched() -> None:
    mine = jobset(volumeClaimPolicies=[{"templates": [{"metadata": {"name": "data"}, "spec": {}}]}])
    before = repr(mine)
    jobs_of(mine)
    assert repr(mine) == before
