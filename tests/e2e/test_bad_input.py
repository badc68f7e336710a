"""What users get wrong: each time one clear message with object, field, value and remedy, and nothing half done."""

import copy
import json
import socket
from pathlib import Path
from typing import Any

import pytest


def pytorch_job(namespace: str, **changes: Any) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "any:1", "command": ["true"], **changes.pop("container", {})}
    pod = {"containers": [container], **changes.pop("pod", {})}
    master = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": pod}, **changes.pop("master", {})}
    specs = {"Master": master, **changes.pop("roles", {})}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bad", "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": specs, **changes},
    }


def run(cluster: Any, job: dict[str, Any], **options: Any) -> Any:
    return cluster.shunter("run", "-", stdin=json.dumps(job), **options)


def without(job: dict[str, Any], *path: str) -> dict[str, Any]:
    changed = copy.deepcopy(job)
    parent = changed
    for part in path[:-1]:
        parent = parent[part]
    del parent[path[-1]]
    return changed


REFUSED = {
    "broken yaml": ("a: [1, }", "standard input:1:8: not valid YAML"),
    "no object": ("[]", "standard input:1: expected a Kubernetes object, found list []"),
    "unknown kind": (
        json.dumps({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJobs", "metadata": {"name": "x"}}),
        "kubeflow.org/v1 has no kind 'PyTorchJobs'.\n       Did you mean PyTorchJob?",
    ),
    "unknown version": (
        json.dumps({"apiVersion": "trainer.kubeflow.org/v2alpha1", "kind": "TrainJob", "metadata": {"name": "x"}}),
        "TrainJob is served as trainer.kubeflow.org/v1alpha1.",
    ),
    "kind of an operator that is not there": (
        json.dumps({"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": {"name": "x"}}),
        "It belongs to the Prometheus operator, which is not installed in this cluster.",
    ),
    "kind of an operator that is not there, of another group": (
        json.dumps({"apiVersion": "monitoring.k8s.io/v1", "kind": "ServiceMonitor", "metadata": {"name": "x"}}),
        "ServiceMonitor is of the group monitoring.coreos.com. It belongs to the Prometheus operator",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_text_that_is_no_job_is_refused_with_its_place(cluster: Any, text: str, message: str) -> None:
    done = cluster.shunter("run", "-", stdin=text)
    assert done.returncode == 2
    assert message in done.stderr


JOBS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field": ({"nprocPerNodes": "2"}, ".spec.nprocPerNodes: field not declared in schema"),
    "two masters": ({"master": {"replicas": 2}}, "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1"),
    "container of another name": (
        {"container": {"name": "main"}},
        "must have at least one container with name pytorch",
    ),
    "unknown replica type": (
        {"roles": {"Chief": {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "a:1"}]}}}}},
        'Unsupported value: "Chief": supported values: "Master", "Worker"',
    ),
    "no image": ({"container": {"image": ""}}, "Required value: must be required"),
}


@pytest.mark.parametrize(("changes", "message"), JOBS.values(), ids=JOBS)
def test_a_wrong_job_is_refused_naming_its_field(cluster: Any, namespace: str, changes: dict[str, Any], message: str) -> None:
    done = run(cluster, pytorch_job(namespace, **copy.deepcopy(changes)))
    assert done.returncode == 2
    assert "standard input:1: PyTorchJob" in done.stderr
    assert message in done.stderr
    assert cluster.get("pytorchjobs", "-n", namespace)["items"] == []


SOUND = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: first, namespace: NAMESPACE}
---
apiVersion: v1
kind: List
items:
- apiVersion: kubeflow.org/v1
  kind: PyTorchJob
  metadata:
    name: bad
    namespace: NAMESPACE
    labels:
      "example.com/team": a
  spec:
    pytorchReplicaSpecs:
      Master:
        replicas: 1
        restartPolicy: Never
        template:
          spec:
            containers:
            - name: pytorch
              image: any:1
              command: ["true"]
            - name: second
              image: any:2
"""

FAULTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "unknown field": (
        {"        restartPolicy: Never": "        restart_policy: Never"},
        ["FILE:22: PyTorchJob NAMESPACE/bad: ", "restart_policy: field not declared in schema", "Did you mean restartPolicy?"],
    ),
    "unknown field of the second container": (
        {"              image: any:2": "              imag: any:2"},
        ["FILE:30: PyTorchJob", "Did you mean image?"],
    ),
    "several unknown fields": (
        {"              command": "              comand", "              image: any:2": "              frobnicate: 1"},
        [
            "FILE:11: PyTorchJob NAMESPACE/bad: ",
            "\n       FILE:28: spec.pytorchReplicaSpecs.Master.template.spec.containers[",
            '[name="pytorch"].comand (did you mean command?)\n',
            "\n       FILE:30: spec.pytorchReplicaSpecs.Master.template.spec.containers[",
            '[name="second"].frobnicate\n',
        ],
    ),
    "wrong type": ({"        replicas: 1": "        replicas: one"}, ["FILE:21: PyTorchJob"]),
    "wrong type of a label": ({'"example.com/team": a': '"example.com/team": 5'}, ["FILE:17: PyTorchJob"]),
    "item without its key": ({"            - name: second\n": "            -\n"}, ["FILE:30: PyTorchJob", "element 1: "]),
    "required field": (
        {"    pytorchReplicaSpecs:\n": "    elasticPolicy:\n      metrics:\n      - pods: {}\n    pytorchReplicaSpecs:\n"},
        [
            "FILE:11: PyTorchJob",
            "\n       FILE:21: spec.elasticPolicy.metrics[0].type\n",
            "\n       FILE:21: spec.elasticPolicy.metrics[0].pods.metric\n",
        ],
    ),
    "refusal of a webhook": (
        {"        replicas: 1": "        replicas: 2"},
        ["FILE:21: PyTorchJob", "denied the request", "Forbidden: must be 1"],
    ),
    "refusals of a webhook": (
        {"        replicas: 1": "        replicas: 2", "            - name: pytorch": "            - name: other"},
        [
            "FILE:11: PyTorchJob",
            "\n       FILE:21: spec.pytorchReplicaSpecs[Master].replicas",
            "\n       FILE:25: spec.pytorchReplicaSpecs[Master].template.spec.containers",
        ],
    ),
}


@pytest.mark.parametrize("source", ["file", "standard input"])
@pytest.mark.parametrize(("changes", "told"), FAULTS.values(), ids=FAULTS)
def test_the_line_of_what_is_refused_is_told(
    cluster: Any, namespace: str, tmp_path: Path, changes: dict[str, str], told: list[str], source: str
) -> None:
    text = SOUND
    for before, after in changes.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    text = text.replace("NAMESPACE", namespace)
    if source == "file":
        source = str(tmp_path / "jobs.yaml")
        Path(source).write_text(text)
        done = cluster.shunter("run", source)
    else:
        done = cluster.shunter("run", "-", stdin=text)
    assert done.returncode == 2
    for words in told:
        assert words.replace("FILE", source).replace("NAMESPACE", namespace) in done.stderr


RULES: dict[str, tuple[str, str]] = {
    "rule of Kubernetes itself": (
        "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec:\n  ports: [{port: 80}]\n  type: Clusterip\n",
        "standard input:6: Service default/bad: ",
    ),
    "rule in CEL": (
        (
            "{kind: TrainJob, apiVersion: trainer.kubeflow.org/v1alpha1, metadata: {name: b},\n"
            "spec: {\n  managedBy: me, runtimeRef: {name: x}}}"
        ),
        "standard input:3: TrainJob default/b: ",
    ),
}


@pytest.mark.parametrize(("text", "message"), RULES.values(), ids=RULES)
def test_the_line_of_a_value_that_breaks_a_rule_is_told(cluster: Any, text: str, message: str) -> None:
    done = cluster.shunter("run", "-", stdin=text)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_job_that_would_be_replaced_is_refused_with_the_line_of_the_field(cluster: Any, namespace: str, tmp_path: Path) -> None:
    sound = pytorch_job(namespace)
    assert run(cluster, sound).returncode == 0
    path = tmp_path / "job.json"
    path.write_text(json.dumps({**sound, "spec": {**sound["spec"], "nprocPerNodes": "2"}}, indent=1))
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "nprocPerNodes" in text)
    done = cluster.shunter("run", "--replace", str(path))
    assert done.returncode == 2
    assert f"{path}:{line}: PyTorchJob {namespace}/bad: " in done.stderr
    assert 'unknown field "spec.nprocPerNodes"' in done.stderr
    assert "Did you mean nprocPerNode?" in done.stderr


def test_a_job_without_replica_specs_is_refused(cluster: Any, namespace: str) -> None:
    done = run(cluster, without(pytorch_job(namespace), "spec", "pytorchReplicaSpecs"))
    assert done.returncode == 2
    assert "spec.pytorchReplicaSpecs" in done.stderr


def test_a_trainjob_without_its_runtime_is_refused(cluster: Any, namespace: str) -> None:
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "bad", "namespace": namespace},
        "spec": {"runtimeRef": {"name": "nowhere"}},
    }
    done = run(cluster, job)
    assert done.returncode == 2
    assert "specified clusterTrainingRuntime must be created before the TrainJob is created" in done.stderr


def test_a_job_is_not_deleted_for_one_that_is_refused(cluster: Any, namespace: str) -> None:
    assert run(cluster, pytorch_job(namespace)).returncode == 0
    uid = cluster.kubectl("get", "pytorchjob/bad", "-n", namespace, "-o", "jsonpath={.metadata.uid}")
    for changes in ({"nprocPerNodes": "2"}, {"master": {"replicas": 2}}):
        done = cluster.shunter("run", "--replace", "-", stdin=json.dumps(pytorch_job(namespace, **changes)))
        assert done.returncode == 2
        assert "deleting" not in done.stderr
    assert cluster.kubectl("get", "pytorchjob/bad", "-n", namespace, "-o", "jsonpath={.metadata.uid}") == uid


def test_a_typo_in_the_last_document_leaves_nothing_half_done(cluster: Any, namespace: str) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "first", "namespace": namespace}}
    wrong = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJobb", "metadata": {"name": "x", "namespace": namespace}}
    done = cluster.shunter("run", "-", stdin=f"{json.dumps(config_map)}\n---\n{json.dumps(wrong)}")
    assert done.returncode == 2
    assert cluster.try_kubectl("get", "configmap", "first", "-n", namespace).returncode != 0


FAILING: dict[str, tuple[list[str], str]] = {
    "exit code 1": (["sh", "-c", "echo the reason >&2; exit 1"], "exit code 1"),
    "segfault": (["python", "-c", "import ctypes; ctypes.string_at(0)"], "exit code 139 (segmentation fault)"),
    "command not found": (["no-such-program"], "no-such-program"),
}


@pytest.mark.parametrize(("command", "message"), FAILING.values(), ids=FAILING)
def test_a_failing_pod_is_explained(cluster: Any, namespace: str, command: list[str], message: str) -> None:
    done = run(cluster, pytorch_job(namespace, container={"command": command}))
    assert done.returncode == 1
    assert message in done.stderr
    assert "pod bad-master-0, container pytorch" in done.stderr
    described = cluster.shunter("describe", "bad", "-n", namespace).stdout
    assert message in described


def test_a_pod_that_eats_too_much_memory_is_oom_killed(cluster: Any, namespace: str) -> None:
    hungry = ["python", "-c", "x = bytearray(400 * 2**20); x[::4096] = b'x' * len(x[::4096]); import time; time.sleep(60)"]
    limits = {"resources": {"limits": {"memory": "100Mi"}}}
    done = run(cluster, pytorch_job(namespace, container={"command": hungry, **limits}))
    assert done.returncode == 1
    assert "OOMKilled, exit code 137" in done.stderr


def test_a_missing_config_map_is_named_while_the_job_waits(cluster: Any, namespace: str) -> None:
    volume = {"name": "code", "configMap": {"name": "missing"}}
    mount = {"name": "code", "mountPath": "/workspace"}
    job = pytorch_job(namespace, container={"volumeMounts": [mount]}, pod={"volumes": [volume]})
    cluster.apply(job)
    cluster.kubectl("wait", "--for=create", "pod/bad-master-0", "-n", namespace, "--timeout=20s")
    mount_failures = ["-n", namespace, "-o", "name", "--field-selector=reason=FailedMount"]
    with cluster.start_kubectl("get", "events", "-w", *mount_failures) as watch:
        assert watch.stdout.readline()
        watch.kill()
    described = cluster.shunter("describe", "bad", "-n", namespace).stdout
    assert "FailedMount" in described
    assert 'configmap "missing" not found' in described


@pytest.mark.embedded(why="is about `shunter up`")
def test_a_taken_port_is_said(tmp_path: Path, cluster: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = cluster.shunter("up", "--state-dir", str(tmp_path / "other"), "--port", str(port))
    assert done.returncode == 3
    assert f"port {port} on 127.0.0.1 is taken" in done.stderr


@pytest.mark.embedded(why="is about `shunter up`")
def test_an_unwritable_state_directory_is_said(tmp_path: Path, cluster: Any) -> None:
    (tmp_path / "file").write_text("")
    done = cluster.shunter("up", "--state-dir", str(tmp_path / "file" / "below"))
    assert done.returncode == 3
    assert "state directory" in done.stderr
    assert "--state-dir" in done.stderr


def test_an_unreachable_server_is_said(tmp_path: Path, cluster: Any) -> None:
    kubeconfig = cluster.kubeconfig.read_text()
    server = json.loads(kubeconfig)["clusters"][0]["cluster"]["server"]
    other = tmp_path / "kubeconfig"
    other.write_text(kubeconfig.replace(server, "https://127.0.0.1:1"))
    done = cluster.shunter("jobs", "--kubeconfig", str(other))
    assert done.returncode == 3
    assert "no answer from https://127.0.0.1:1" in done.stderr
