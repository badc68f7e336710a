"""Live faults: `shunter doctor` names the cause, and accuses nobody of what is none."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.running_cluster import SHUNTER, Cluster, eventually

Json = dict[str, Any]
RANK = Path(__file__).parents[1] / "doctor" / "faulty_rank.py"
STEPS = "import time\nfor step in range(1, 9999):\n    print(f'step {step} loss 0.5', flush=True)\n    time.sleep(0.2)"

pytestmark = [pytest.mark.timeout(540), pytest.mark.xdist_group("doctor")]


def job(namespace: str, name: str, command: list[str], *, workers: int = 2, policy: Json | None = None, **parts: Any) -> Json:
    """A PyTorchJob whose pods are as said; `container` is of its container, the rest of the pod."""
    restarts = parts.pop("restartPolicy", "Never")
    container = {"name": "pytorch", "image": "any:1", "command": command, **parts.pop("container", {})}
    template = {"spec": {"terminationGracePeriodSeconds": 1, "containers": [container], **parts}}
    roles = {"Master": 1, "Worker": workers}
    replicas = {role: {"replicas": count, "restartPolicy": restarts, "template": template} for role, count in roles.items()}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"runPolicy": {"backoffLimit": 0, **(policy or {})}, "pytorchReplicaSpecs": replicas},
    }


def python(text: str) -> list[str]:
    return ["python", "-c", text]


def seen(cluster: Cluster, name: str, namespace: str, *options: str) -> tuple[Json, int]:
    """The report, and the exit code."""
    done = cluster.shunter("doctor", name, "-n", namespace, "-o", "json", *options, timeout=120)
    assert done.returncode in (0, 1, 3), done.stderr
    return json.loads(done.stdout), done.returncode


def named(cluster: Cluster, name: str, namespace: str, id: str, *options: str, seconds: float = 120) -> Json:
    """The first verdict, once it is this rule's."""

    def first() -> Json | None:
        report, _ = seen(cluster, name, namespace, *options)
        return report["verdicts"][0] if report["verdicts"] and report["verdicts"][0]["id"] == id else None

    verdict: Json = eventually(first, seconds=seconds)
    return verdict


MOUNT = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
READ_ONLY = {"volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}]}
NO_RIGHTS = {"securityContext": {"capabilities": {"drop": ["ALL"]}}}
OWNER = {"name": "owner", "image": "any:1", "command": ["sh", "-c", "chown 1000 /data && chmod 700 /data"], **MOUNT}
SIGBUS = """
import mmap, tempfile
file = tempfile.TemporaryFile()
file.truncate(8192)
mapped = mmap.mmap(file.fileno(), 8192)
file.truncate(0)
print(mapped[0])
"""
QUICK: dict[str, tuple[list[str], Json, str, str]] = {
    "claim": (
        ["true"],
        {"container": MOUNT, "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "weights"}}]},
        "K01",
        "PersistentVolumeClaim weights does not exist in namespace",
    ),
    "configmap": (["true"], {"container": {"envFrom": [{"configMapRef": {"name": "settings"}}]}}, "K03", "ConfigMap settings"),
    "command": (["trian"], {}, "K04", "trian"),
    "bus": (python(SIGBUS), {}, "K06", "SIGBUS"),
    "loop": (
        python("import os; os.environ['DATASET']"),
        {"restartPolicy": "OnFailure", "policy": {"backoffLimit": 50}},
        "K07",
        "KeyError: 'DATASET'",
    ),
    "read-only": (
        python("open('/data/ckpt.pt', 'wb')"),
        {"container": READ_ONLY, "volumes": [{"name": "data", "emptyDir": {}}]},
        "T08",
        "read-only",
    ),
    "denied": (
        python("open('/data/train.txt')"),
        {"container": {**MOUNT, **NO_RIGHTS}, "initContainers": [OWNER], "volumes": [{"name": "data", "emptyDir": {}}]},
        "T08",
        "denied access to /data/train.txt on emptyDir data (mounted at /data)",
    ),
    "port": (
        python("import socket; socket.socket().bind(('0.0.0.0', 80))"),
        {"container": NO_RIGHTS},
        "T00",
        "PermissionError: [Errno 13] Permission denied",
    ),
    "name": (python("import socket; socket.create_connection(('no-such-host-here', 1))"), {}, "T04", "cannot resolve"),
    "nan": (
        python("import time\nfor s in range(9): print('step', s, 'loss nan', flush=True)\ntime.sleep(600)"),
        {},
        "T10",
        "step 0",
    ),
    "exception": (python("raise ValueError('no data in shard 7')"), {}, "T00", "ValueError: no data in shard 7"),
}


def test_what_the_cluster_and_logs_say_is_named(cluster: Cluster, namespace: str) -> None:
    for name, (command, parts, _, _) in QUICK.items():
        cluster.apply(job(namespace, name, command, **parts))
    for name, (_, _, id, text) in QUICK.items():
        verdict = named(cluster, name, namespace, id, "--no-exec")
        assert text in verdict["cause"] + json.dumps(verdict["evidence"]), name
        assert verdict["ranks"], name


def test_a_job_of_kubernetes_and_a_trainjob_are_diagnosed_as_well(cluster: Cluster, namespace: str) -> None:
    script = '[ "$JOB_COMPLETION_INDEX" = 1 ] && { echo "ValueError: no data"; exit 3; }; sleep 600'
    container = {"name": "trainer", "image": "any:1", "command": ["sh", "-c", script]}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
    spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimit": 0, "template": {"spec": pod}}
    cluster.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "plain", "namespace": namespace}, "spec": spec})
    reference = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "broken"}
    train = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "second", "namespace": namespace},
        "spec": {"runtimeRef": reference, "trainer": {"numNodes": 2}},
    }
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "broken", "namespace": namespace},
        "spec": {
            "mlPolicy": {"numNodes": 2},
            "template": {
                "spec": {
                    "replicatedJobs": [
                        {
                            "name": "node",
                            "template": {
                                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                                "spec": {
                                    "template": {
                                        "spec": {
                                            "restartPolicy": "Never",
                                            "containers": [
                                                {
                                                    "name": "node",
                                                    "image": "any:1",
                                                    "command": ["true"],
                                                    "envFrom": [{"secretRef": {"name": "keys"}}],
                                                }
                                            ],
                                        }
                                    }
                                },
                            },
                        }
                    ]
                }
            },
        },
    }
    cluster.apply(runtime)
    cluster.apply(train)
    verdict = named(cluster, "plain", namespace, "T00", "--no-exec")
    assert (verdict["ranks"], "ValueError: no data" in verdict["cause"]) == ([1], True)
    verdict = named(cluster, "second", namespace, "K03", "--no-exec")
    assert (verdict["cause"], verdict["ranks"]) == ("Secret keys does not exist", [0, 1])


def test_evidence_is_recorded_without_credentials_and_replayed_the_same(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    secret = f"pl4nted-{uuid.uuid4().hex}"
    leak = "import os\nprint('got', os.environ['SHH'])\nraise ValueError('bad password ' + os.environ['SHH'])"
    variable = {"name": "SHH", "valueFrom": {"secretKeyRef": {"name": "login", "key": "p"}}}
    data = {"p": base64.b64encode(secret.encode()).decode()}
    cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": namespace}, "data": data})
    cluster.apply(job(namespace, "leaky", python(leak), container={"env": [variable]}))
    named(cluster, "leaky", namespace, "T00", "--no-exec")
    shown = cluster.shunter("doctor", "leaky", "-n", namespace, "--record", str(tmp_path / "case"))
    again = cluster.shunter("doctor", "--from", str(tmp_path / "case"))
    assert (shown.returncode, again.returncode) == (1, 1)
    assert shown.stdout == again.stdout
    assert "ValueError: bad password ***" in shown.stdout
    written = "".join(path.read_text() for path in (tmp_path / "case").rglob("*") if path.is_file())
    assert secret not in written + shown.stdout + shown.stderr
    for form, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        done = cluster.shunter("doctor", "--from", str(tmp_path / "case"), "-o", form)
        report = read(done.stdout)
        assert set(report) >= {"job", "state", "at", "verdicts", "notChecked", "seconds"}
        assert report["verdicts"][0]["id"] == "T00"


def test_wrong_input_is_refused_with_exit_code_2(cluster: Cluster, tmp_path: Path) -> None:
    for words in (
        [],
        ["no-such-job-anywhere"],
        ["--from", str(tmp_path)],
        ["j", "--from", str(tmp_path)],
        ["j", "--sample", "0"],
    ):
        done = cluster.shunter("doctor", *words)
        assert (done.returncode, done.stderr.startswith("error: ")) == (2, True), (words, done.stderr)


def test_what_may_not_be_read_is_named_with_the_rules_that_need_it(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    cluster.apply(job(namespace, "healthy", python(STEPS)))
    report = eventually(lambda: _running(cluster, "healthy", namespace), seconds=120)
    groups = ["", "batch", "kubeflow.org"]
    readable = ["pods", "events", "jobs", "pytorchjobs", "persistentvolumeclaims"]
    rules = [{"apiGroups": groups, "resources": readable, "verbs": ["get", "list"]}]
    metadata = {"name": "reader", "namespace": namespace}
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    cluster.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": role,
            "subjects": [subject],
        },
    )
    token = cluster.kubectl("create", "token", "reader", "-n", namespace).strip()
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    limited = tmp_path / "kubeconfig"
    limited.write_text(yaml.safe_dump(config))
    done = cluster.shunter("doctor", "healthy", "-n", namespace, "--kubeconfig", str(limited))
    assert done.returncode == 3, done.stdout + done.stderr
    assert f"not checked: logs (you may not read logs in {namespace})" in done.stdout
    assert f"not checked: stacks (you may not exec in {namespace}): H01, H02, H03, H05 and S01 cannot be judged" in done.stdout
    assert report["verdicts"] == []


def _running(cluster: Cluster, name: str, namespace: str) -> Json | None:
    report, _ = seen(cluster, name, namespace, "--no-exec")
    pods = cluster.get("pods", "-n", namespace)["items"]
    runs = [pod for pod in pods if pod["metadata"]["name"].startswith(name) and pod["status"].get("phase") == "Running"]
    return report if report["state"] == "Running" and len(runs) == 3 else None


def test_watch_says_nothing_of_a_healthy_job_and_ends_with_it(cluster: Cluster, namespace: str) -> None:
    text = "import time\nfor step in range(60):\n    print(f'step {step} loss 0.5', flush=True)\n    time.sleep(0.2)"
    cluster.apply(job(namespace, "short", python(text)))
    done = subprocess.run(
        [*SHUNTER, "doctor", "short", "-n", namespace, "--watch", "--sample", "1"],
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [f"PyTorchJob {namespace}/short  Succeeded  3 ranks", "no problem found"]


@pytest.mark.long
def test_watch_says_that_a_silent_job_is_undecided_if_no_stacks_may_be_read(cluster: Cluster, namespace: str) -> None:
    """It printed nothing, as of a healthy job."""
    cluster.apply(job(namespace, "still", python("import time\nprint('loading', flush=True)\ntime.sleep(45)")))
    done = cluster.shunter("doctor", "still", "-n", namespace, "--watch", "--no-exec", timeout=150)
    lines = done.stdout.splitlines()
    assert "undecided: no problem found, but what would show one was not checked" in lines, done.stdout + done.stderr
    assert "not checked: stacks (--no-exec): H01, H02, H03, H05 and S01 cannot be judged" in lines
    assert (lines[-1], done.returncode) == ("no problem found", 0), "the job succeeded"


def train(cluster: Cluster, namespace: str, fault: str, *, has_server: bool = False) -> None:
    """Starts a job of three ranks on gloo that runs into this fault, each with torch's worker server where that is wanted. One at
    a time: three ranks of torch take 2 GB."""
    data = {"faulty_rank.py": RANK.read_text()}
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code", "namespace": namespace}, "data": data})
    mount = {"volumeMounts": [{"name": "code", "mountPath": "/code"}]}
    volumes = [{"name": "code", "configMap": {"name": "code"}}]
    command = ["python", "/code/faulty_rank.py", fault]
    if has_server:
        address = f"/tmp/{namespace}-$RANK"
        command = ["sh", "-c", f'TORCH_WORKER_SERVER_SOCKET={address} exec "$0" "$@"', *command]
    cluster.apply(job(namespace, fault.replace(" ", "-"), command, container=mount, volumes=volumes))


@pytest.mark.parametrize(
    ("fault", "id", "frame"),
    [("sleep", "H01", "never_returns"), pytest.param("loader", "H02", "read_forever", marks=pytest.mark.long)],
)
def test_the_rank_that_hangs_is_named_and_where(cluster: Cluster, namespace: str, fault: str, id: str, frame: str) -> None:
    train(cluster, namespace, fault)
    verdict = named(cluster, fault, namespace, id, seconds=240)
    assert (verdict["ranks"], verdict["victims"]) == ([1], [0, 2])
    assert verdict["confidence"] == "likely"
    assert any(f"{frame} (faulty_rank.py:" in one["text"] for one in verdict["evidence"])


def test_a_straggler_is_not_called_hung(cluster: Cluster, namespace: str) -> None:
    """Nor do its flight recorders accuse a rank, which are read at different moments."""
    train(cluster, namespace, "straggler", has_server=True)
    verdict = named(cluster, "straggler", namespace, "S01", seconds=240)
    assert (verdict["ranks"], verdict["victims"]) == ([1], [0, 2])
    report, _ = seen(cluster, "straggler", namespace)
    assert "H04" not in [one["id"] for one in report["verdicts"]]
    assert [one for one in report["notChecked"] if one["what"] == "flight recorder"] == [], "the recorders were read"


def test_the_call_that_differs_is_named_by_the_flight_recorders(cluster: Cluster, namespace: str) -> None:
    train(cluster, namespace, "other call", has_server=True)
    verdict = named(cluster, "other-call", namespace, "H04", seconds=240)
    assert verdict["cause"] == "rank 1 calls broadcast where ranks 0 and 2 call all_reduce (call number 4 of default_pg)"
    assert (verdict["ranks"], verdict["confidence"]) == ([1], "certain")


def test_a_rank_that_imports_is_not_accused(cluster: Cluster, namespace: str) -> None:
    train(cluster, namespace, "importing")
    eventually(lambda: _running(cluster, "importing", namespace), seconds=120)
    report, code = seen(cluster, "importing", namespace)
    assert (report["verdicts"], report["state"]) == ([], "Running")
    assert (code, [one["what"] for one in report["notChecked"]]) in ((0, []), (3, ["progress"])), "it works, or rests so far"


def test_warnings_of_retries_are_no_cause(cluster: Cluster, namespace: str) -> None:
    train(cluster, namespace, "retries")
    eventually(lambda: "step 3 " in cluster.shunter("logs", "retries", "-n", namespace, "--rank", "0").stdout, seconds=120)
    report, code = seen(cluster, "retries", namespace)
    assert (report["verdicts"], code) == ([], 0)


def test_the_rank_that_failed_is_named_not_those_that_lost_it(cluster: Cluster, namespace: str) -> None:
    train(cluster, namespace, "exception")
    # The others fail a moment later, when they have lost it.
    eventually(lambda: named(cluster, "exception", namespace, "T00", seconds=240)["victims"] == [0, 2], seconds=240)
    verdict = named(cluster, "exception", namespace, "T00")
    assert (verdict["ranks"], verdict["victims"]) == ([1], [0, 2])
    assert "ValueError: no data in shard 7" in verdict["cause"]


def test_without_py_spy_in_the_image_it_is_copied_where_that_is_allowed(cluster: Cluster, namespace: str) -> None:
    bare = {"env": [{"name": "PATH", "value": "/usr/bin:/bin"}]}
    cluster.apply(job(namespace, "bare", [sys.executable, "-c", STEPS], container=bare))
    eventually(lambda: _running(cluster, "bare", namespace), seconds=120)
    report, code = seen(cluster, "bare", namespace, "--sample", "1")
    (missing,) = (one for one in report["notChecked"] if one["what"] == "stacks")
    assert ("--allow-copy" in missing["why"], code) == (True, 0)
    report, _ = seen(cluster, "bare", namespace, "--sample", "1", "--allow-copy")
    assert [one for one in report["notChecked"] if one["what"] == "stacks"] == []


def test_that_ranks_have_no_python_process_whose_stack_could_be_taken_is_said(cluster: Cluster, namespace: str) -> None:
    cluster.apply(job(namespace, "shell", ["sh", "-c", "trap exit TERM; sleep 600 & wait"]))
    eventually(lambda: _running(cluster, "shell", namespace), seconds=120)
    report, code = seen(cluster, "shell", namespace, "--sample", "1")
    whys = [one["why"] for one in report["notChecked"] if one["what"] == "stacks"]
    assert (whys, code) == (["no Python process runs in the containers that train"], 3), "undecided"


@pytest.mark.embedded("the real control plane's node here is ours as well, and shares what this shows")
def test_without_py_spy_in_the_image_an_ephemeral_container_has_it(cluster: Cluster, namespace: str) -> None:
    bare = {"env": [{"name": "PATH", "value": "/usr/bin:/bin"}]}
    cluster.apply(job(namespace, "bare", [sys.executable, "-c", STEPS], container=bare))
    eventually(lambda: _running(cluster, "bare", namespace), seconds=120)
    for _ in range(2):
        report, _ = seen(cluster, "bare", namespace, "--sample", "1", "--debug-image", "any:debug")
        assert [one for one in report["notChecked"] if one["what"] == "stacks"] == []
    for pod in cluster.get("pods", "-n", namespace)["items"]:
        assert [one["name"] for one in pod["spec"]["ephemeralContainers"]] == ["shunter-doctor-1"]
