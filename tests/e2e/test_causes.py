"""What keeps a job from training, said in `jobs`, `describe` and `run`, for jobs of both generations."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually

Json = dict[str, Any]
SLEEP = "trap exit TERM; sleep 600 & wait"
GENERATIONS = ("v1", "v2")

pytestmark = pytest.mark.timeout(240)


def objects(
    generation: str, namespace: str, *, command: str = SLEEP, container: Json | None = None, job: str = "j", **pod: Any
) -> list[Json]:
    """A job of two ranks whose pods are as said."""
    metadata = {"name": job, "namespace": namespace}
    name = "pytorch" if generation == "v1" else "node"
    restarts = pod.pop("restartPolicy", "Never")
    main = {"name": name, "image": "any:1", "command": ["sh", "-c", command], **(container or {})}
    spec = {"containers": [main], "terminationGracePeriodSeconds": 1, **pod}
    if generation == "v1":
        roles = {"Master": 1, "Worker": 1}
        replicas = {
            role: {"replicas": count, "restartPolicy": restarts, "template": {"spec": spec}} for role, count in roles.items()
        }
        policy = {"backoffLimit": 50}
        return [
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "PyTorchJob",
                "metadata": metadata,
                "spec": {"runPolicy": policy, "pytorchReplicaSpecs": replicas},
            }
        ]
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    template = {"spec": {**spec, "restartPolicy": restarts}}
    node = {"name": "node", "template": {"metadata": {"labels": step}, "spec": {"backoffLimit": 50, "template": template}}}
    return [
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainingRuntime",
            "metadata": metadata,
            "spec": {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [node]}}},
        },
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": metadata,
            "spec": {
                "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": job},
                "trainer": {"numNodes": 2},
            },
        },
    ]


def text(given: list[Json]) -> str:
    return "\n---\n".join(json.dumps(one) for one in given)


def rows(cluster: Cluster, namespace: str) -> dict[str, Json]:
    """What `jobs` shows, by the job's name."""
    done = cluster.shunter("jobs", "-n", namespace, "-o", "json")
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout or "[]")}


def row(cluster: Cluster, namespace: str) -> Json:
    return rows(cluster, namespace)["j"]


def said(output: str, word: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith(f"-- {word}: ")]


def mounted(**source: Any) -> Json:
    return {
        "container": {"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
        "volumes": [{"name": "data", **source}],
    }


WORDS: dict[str, tuple[Json, str, str]] = {
    "claim": (
        mounted(persistentVolumeClaim={"claimName": "weights"}),
        "MissingClaim",
        "PersistentVolumeClaim weights does not exist",
    ),
    "ConfigMap mounted": (mounted(configMap={"name": "code"}), "MissingConfigMap", "ConfigMap code does not exist"),
    "Secret mounted": (mounted(secret={"secretName": "keys"}), "MissingSecret", "Secret keys does not exist"),
    "ConfigMap as environment": (
        {"container": {"envFrom": [{"configMapRef": {"name": "settings"}}]}},
        "MissingConfigMap",
        "ConfigMap settings does not exist",
    ),
    "Secret as environment": (
        {"container": {"env": [{"name": "T", "valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}}]}},
        "MissingSecret",
        "Secret token does not exist",
    ),
}


def test_jobs_that_cannot_start_say_why(cluster: Cluster, namespace: str) -> None:
    expected = {}
    for generation in GENERATIONS:
        for number, (parts, word, sentence) in enumerate(WORDS.values()):
            name = f"{generation}-{number}"
            cluster.apply(*objects(generation, namespace, job=name, **parts))
            expected[name] = (word, sentence)

    def told() -> dict[str, str]:
        return {name: shown["why"] for name, shown in rows(cluster, namespace).items()}

    words = {name: word for name, (word, _) in expected.items()}
    eventually(lambda: told() == words, seconds=120)
    shown = rows(cluster, namespace)
    for name, (_, sentence) in expected.items():
        assert sentence in shown[name]["cause"]
    table = cluster.shunter("jobs", "-n", namespace).stdout
    assert all(word in table for word in words.values())
    for name in ("v1-0", "v2-0"):
        described = cluster.shunter("describe", name, "-n", namespace).stdout
        assert f"  Cause    {shown[name]['why']}: {shown[name]['cause']}" in described


def test_a_restart_policy_that_v1_accepts_and_no_pod_can_have_is_told(cluster: Cluster, namespace: str) -> None:
    # The schema of kubeflow.org/v1 takes any text, as upstream's does; the pods of the job are refused.
    cluster.apply(*objects("v1", namespace, command="true", restartPolicy="Nevr"))
    eventually(lambda: row(cluster, namespace)["why"] == "Refused")
    words = 'is invalid: spec.restartPolicy: Unsupported value: "Nevr"'
    assert words in row(cluster, namespace)["cause"]
    assert words in cluster.shunter("describe", "j", "-n", namespace).stdout


@pytest.mark.parametrize("generation", GENERATIONS)
def test_run_says_the_cause_once_and_ends_in_time(cluster: Cluster, namespace: str, generation: str) -> None:
    given = objects(generation, namespace, **mounted(configMap={"name": "code"}))
    done = cluster.shunter("run", "--timeout", "20s", "-", stdin=text(given))
    assert done.returncode == 1, done.stderr
    (told,) = said(done.stderr, "MissingConfigMap")
    assert "ConfigMap code does not exist. Create it" in told
    assert done.stderr.count("FailedMount") == 0
    assert "did not end within --timeout" in done.stderr
    assert "has not started, and stays; follow it" in done.stderr


@pytest.mark.parametrize("generation", GENERATIONS)
def test_pods_that_no_node_takes_are_told(cluster: Cluster, namespace: str, generation: str) -> None:
    if cluster.kind == "embedded":
        pytest.skip("its scheduler places every pod, unless --strict-resources: see test_command.py")
    cluster.apply(*objects(generation, namespace, container={"resources": {"limits": {"nvidia.com/gpu": 99}}}))
    shown = eventually(lambda: (found := row(cluster, namespace))["why"] == "Unschedulable" and found)
    assert "Insufficient nvidia.com/gpu" in shown["cause"]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_loop_is_told_with_its_exit_code(cluster: Cluster, namespace: str, generation: str) -> None:
    given = objects(generation, namespace, command="exit 3", restartPolicy="OnFailure")
    cluster.apply(*given)
    shown = eventually(lambda: (found := row(cluster, namespace))["why"] == "CrashLoop" and found)
    assert "ends again and again with exit code 3" in shown["cause"]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_cause_that_has_gone_is_no_longer_told(cluster: Cluster, namespace: str, generation: str) -> None:
    cluster.apply(*objects(generation, namespace, command="sleep 5", **mounted(configMap={"name": "code"})))
    eventually(lambda: row(cluster, namespace)["why"] == "MissingConfigMap")
    metadata = {"name": "code", "namespace": namespace}
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "y"}})
    again = text(objects(generation, namespace, command="sleep 5", **mounted(configMap={"name": "code"})))
    done = cluster.shunter("run", "--timeout", "150s", "-", stdin=again, timeout=170)
    assert done.returncode == 0, done.stderr
    assert (row(cluster, namespace)["why"], row(cluster, namespace)["state"]) == ("", "Succeeded")


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_quota_that_is_used_up_is_told(cluster: Cluster, namespace: str, generation: str) -> None:
    metadata = {"name": "one-pod", "namespace": namespace}
    cluster.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"pods": "1"}}})
    eventually(lambda: "hard" in cluster.get("resourcequota", "one-pod", "-n", namespace).get("status", {}))
    cluster.apply(*objects(generation, namespace))
    shown = eventually(lambda: (found := row(cluster, namespace))["why"] == "QuotaExceeded" and found)
    assert "exceeded quota: one-pod, requested: pods=1, used: pods=1, limited: pods=1" in shown["cause"]
    assert_told(cluster, namespace, shown)
    refused = 'pods "more" is forbidden: exceeded quota: one-pod, requested: pods=1, used: pods=1, limited: pods=1'
    assert refused in cluster.try_kubectl("run", "more", "--image=any:1", "-n", namespace).stderr
    cluster.kubectl("delete", "resourcequota", "one-pod", "-n", namespace)
    eventually(lambda: row(cluster, namespace)["why"] == "", seconds=90)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_budget_that_forbids_an_eviction_does_not_trouble_the_job(cluster: Cluster, namespace: str, generation: str) -> None:
    cluster.apply(*objects(generation, namespace))
    eventually(lambda: row(cluster, namespace)["up"] == 2)
    metadata = {"name": "all", "namespace": namespace}
    spec = {"selector": {}, "minAvailable": 2}
    cluster.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
    eventually(lambda: cluster.get("pdb", "all", "-n", namespace).get("status", {}).get("currentHealthy") == 2)
    pod = cluster.get("pods", "-n", namespace)["items"][0]["metadata"]["name"]
    with pytest.raises(AssertionError, match="Cannot evict pod as it would violate the pod's disruption budget"):
        cluster.evict(pod, namespace)
    shown = row(cluster, namespace)
    assert (shown["why"], shown["up"]) == ("", 2)
    assert "Cause" not in cluster.shunter("describe", "j", "-n", namespace).stdout

    # Once it may be evicted, that is what is told of it.
    cluster.kubectl("delete", "pdb", "all", "-n", namespace)
    cluster.evict(pod, namespace)
    told = f"Pod {pod} is deleted: Eviction API: evicting" if generation == "v1" else "Eviction API: evicting"
    eventually(lambda: told in cluster.shunter("describe", "j", "-n", namespace).stdout)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_node_that_takes_no_pods_is_told(cluster: Cluster, namespace: str, generation: str) -> None:
    (node,) = (one["metadata"]["name"] for one in cluster.get("nodes")["items"])
    cluster.kubectl("cordon", node)
    try:
        cluster.apply(*objects(generation, namespace))
        shown = eventually(lambda: (found := row(cluster, namespace))["why"] == "Unschedulable" and found)
        pods = cluster.get("pods", "-n", namespace)["items"]
        (said_by_scheduler,) = {
            one["message"] for pod in pods for one in pod["status"]["conditions"] if one["type"] == "PodScheduled"
        }
        assert said_by_scheduler.startswith("0/1 nodes are available: 1 node(s) were unschedulable.")
        assert "1 node(s) were unschedulable" in shown["cause"]
        assert_told(cluster, namespace, shown)
    finally:
        cluster.kubectl("uncordon", node)
    eventually(lambda: (found := row(cluster, namespace))["why"] == "" and found["up"] == 2)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_program_that_is_not_there_is_told(cluster: Cluster, namespace: str, generation: str) -> None:
    wrong = {"command": ["no-such-python", "train.py"]}
    cluster.apply(*objects(generation, namespace, container=wrong, restartPolicy="OnFailure"))
    shown = eventually(lambda: "no-such-python" in (found := row(cluster, namespace))["cause"] and found)
    words = 'exec: "no-such-python": executable file not found in $PATH'
    assert words in shown["cause"]
    assert_told(cluster, namespace, shown)
    ended = cluster.get("pods", "-n", namespace)["items"][0]["status"]["containerStatuses"][0]
    assert words in json.dumps(ended).replace('\\"', '"')


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_script_whose_interpreter_is_not_there_is_told(cluster: Cluster, namespace: str, generation: str) -> None:
    metadata = {"name": "code", "namespace": namespace}
    cluster.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"train.py": "#!/usr/bin/no-such-python\n"}}
    )
    source = {"configMap": {"name": "code", "defaultMode": 0o755}}
    wrong = {"command": ["/data/train.py"], **mounted()["container"]}
    volumes = [{"name": "data", **source}]
    cluster.apply(*objects(generation, namespace, container=wrong, volumes=volumes, restartPolicy="OnFailure"))
    shown = eventually(lambda: "train.py" in (found := row(cluster, namespace))["cause"] and found)
    assert "exec /data/train.py: no such file or directory" in shown["cause"]
    assert "the interpreter that the first line of /data/train.py names" in shown["remedy"]
    assert_told(cluster, namespace, shown)


def assert_told(cluster: Cluster, namespace: str, shown: Json) -> None:
    """`describe` says what `jobs` says, but for the names of pods that are tried one after another."""

    def nameless(text: str) -> str:
        return re.sub(r'pods "[^"]*"', "pods", " ".join(text.split()))

    described = nameless(cluster.shunter("describe", "j", "-n", namespace).stdout)
    assert nameless(f"Cause {shown['why']}: {shown['cause']}") in described


def test_a_wrong_timeout_is_refused_before_anything_is_applied(cluster: Cluster, namespace: str) -> None:
    done = cluster.shunter("run", "--timeout", "soon", "-", stdin=text(objects("v1", namespace)))
    assert done.returncode == 2
    assert "--timeout: 'soon' is not a duration" in done.stderr
    assert cluster.get("pytorchjobs", "-n", namespace)["items"] == []


def test_a_traceback_is_never_split_and_the_exception_heads_the_failure(cluster: Cluster, namespace: str) -> None:
    """Lines are written one by one, with pauses in which the end of the job is known already."""
    lines = [
        "Traceback (most recent call last):",
        *(f'  File "x.py", line {n}, in f' for n in range(30)),
        "ValueError: no such layer",
    ]
    script = (
        "import sys,time\nfor line in "
        + repr(lines)
        + ":\n  print(line, file=sys.stderr, flush=True); time.sleep(0.02)\nsys.exit(1)"
    )
    job = objects("v1", namespace)
    spec = job[0]["spec"]
    spec["pytorchReplicaSpecs"].pop("Worker")
    spec["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["command"] = ["python", "-c", script]
    done = cluster.shunter("run", "-", stdin=text(job))
    assert done.returncode == 1
    assert "\n".join(f"[master-0] {line}" for line in lines) in done.stdout
    assert f"PyTorchJob {namespace}/j failed: master-0: exit code 1: ValueError: no such layer\n" in done.stderr
    assert "no longer Running" not in done.stderr
