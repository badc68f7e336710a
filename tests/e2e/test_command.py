"""The command as a person meets it at the edges: wrong options, nothing to do, Ctrl-C, closed pipes, a cluster that goes away."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from e2e.running_cluster import Cluster

pytestmark = pytest.mark.timeout(120)
about_up = pytest.mark.embedded(why="is about `shunter up` and its options")


def job(namespace: str, script: str, **run_policy: Any) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "any:1", "command": ["sh", "-c", script]}
    pod = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": namespace},
        "spec": {
            "pytorchReplicaSpecs": {"Master": {"replicas": 1, "restartPolicy": "Never", "template": {"spec": pod}}},
            "runPolicy": run_policy,
        },
    }


TALKING = "while true; do echo hello; sleep 0.1; done"


def until(stream: IO[str], text: str) -> str:
    """What was read up to and with the first line that holds `text`."""
    seen = ""
    for line in stream:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"{text!r} never came: {seen}")


OPTIONS = {
    "unknown level": (["--level", "docker"], 2, "'docker' is not one of 'namespaces', 'plain'"),
    "level of a simulation": (["--level", "plain", "--simulate"], 2, "exclude each other"),
    "port out of range": (["--port", "99999"], 2, "65535"),
    "missing images file": (["--images", "/no/such/file"], 2, "/no/such/file"),
}


@about_up
@pytest.mark.parametrize(("arguments", "code", "message"), OPTIONS.values(), ids=OPTIONS)
def test_wrong_options_start_nothing(tmp_path: Path, cluster: Cluster, arguments: list[str], code: int, message: str) -> None:
    done = cluster.shunter("up", "--state-dir", str(tmp_path / "state"), *arguments)
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert not (tmp_path / "state").exists()


@about_up
def test_an_images_file_of_another_shape_starts_nothing(tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "images.yaml").write_text("- image: a\n  docker: b\n")
    done = cluster.shunter("up", "--state-dir", str(tmp_path / "state"), "--images", str(tmp_path / "images.yaml"))
    assert done.returncode == 2
    assert "images.yaml: [0]: unknown field 'docker'" in done.stderr
    assert not (tmp_path / "state").exists()


@about_up
def test_a_running_cluster_does_not_take_other_options_silently(cluster: Cluster) -> None:
    done = cluster.shunter("up", "--strict-resources")
    assert done.returncode == 3
    assert "already up, without --strict-resources" in done.stderr
    assert cluster.shunter("up").returncode == 0


def test_empty_input_is_refused(cluster: Cluster) -> None:
    done = cluster.shunter("run", "-", stdin="# nothing\n")
    assert done.returncode == 2
    assert "standard input: holds no object" in done.stderr


def test_one_object_given_twice_is_refused_and_nothing_applied(cluster: Cluster, namespace: str) -> None:
    text = json.dumps(job(namespace, "true"))
    done = cluster.shunter("run", "-", stdin=f"{text}\n---\n{text}")
    assert done.returncode == 2
    assert f"standard input:3: PyTorchJob {namespace}/j is already defined at standard input:1" in done.stderr
    assert cluster.get("pytorchjobs", "-n", namespace)["items"] == []


def test_ctrl_c_says_that_the_job_goes_on_and_how_to_end_it(cluster: Cluster, namespace: str, start: Any, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(json.dumps(job(namespace, TALKING)))
    running = start("run", str(tmp_path / "job.yaml"))
    until(running.stdout, "hello")
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=20)
    assert running.returncode == 130
    assert f"PyTorchJob j is still running; follow it: shunter logs -f j -n {namespace}" in rest
    assert cluster.shunter("delete", "j", "-n", namespace).returncode == 0


def test_a_suspended_job_is_said_to_wait_and_how_to_resume_it(
    cluster: Cluster, namespace: str, start: Any, tmp_path: Path
) -> None:
    (tmp_path / "job.yaml").write_text(json.dumps(job(namespace, "echo resumed", suspend=True)))
    running = start("run", str(tmp_path / "job.yaml"))
    until(
        running.stdout, "Suspended: it waits because spec.runPolicy.suspend is true. Resume it with: kubectl patch pytorchjob j"
    )
    patch = '{"spec":{"runPolicy":{"suspend":false}}}'
    cluster.kubectl("patch", "pytorchjob", "j", "-n", namespace, "--type=merge", "-p", patch)
    rest, _ = running.communicate(timeout=60)
    assert running.returncode == 0, rest
    assert "[master-0] resumed" in rest


def test_following_ends_when_nobody_reads(cluster: Cluster, namespace: str, start: Any) -> None:
    cluster.apply(job(namespace, TALKING))
    cluster.kubectl("wait", "--for=condition=Running", "pytorchjob/j", "-n", namespace, "--timeout=30s")
    running = start("logs", "-f", "j", "-n", namespace)
    until(running.stdout, "hello")
    running.stdout.close()
    assert running.wait(timeout=20) != 0


def test_following_a_rank_that_the_job_does_not_have_is_refused(cluster: Cluster, namespace: str) -> None:
    cluster.apply(job(namespace, TALKING))
    cluster.kubectl("wait", "--for=condition=Created", "pytorchjob/j", "-n", namespace, "--timeout=30s")
    done = cluster.shunter("logs", "-f", "j", "-n", namespace, "--rank", "99")
    assert done.returncode == 2
    assert "has no rank 99: its ranks are 0 to 0" in done.stderr


def test_a_deleted_job_ends_its_followers(cluster: Cluster, namespace: str, start: Any, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(json.dumps(job(namespace, TALKING)))
    running = start("run", str(tmp_path / "job.yaml"))
    until(running.stdout, "hello")
    assert cluster.shunter("delete", "j", "-n", namespace).returncode == 0
    rest, _ = running.communicate(timeout=20)
    assert running.returncode == 1
    assert f"PyTorchJob {namespace}/j was deleted" in rest


@about_up
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_foreground_cluster_leaves_no_process(tmp_path: Path, start: Any, signum: signal.Signals) -> None:
    running = start("up", "--foreground", "--simulate", SHUNTER_STATE_DIR=str(tmp_path / "state"))
    until(running.stdout, "Ctrl-C stops it")
    running.send_signal(signum)
    running.communicate(timeout=60)
    left = subprocess.run(["pgrep", "-f", str(tmp_path / "state")], capture_output=True, text=True, check=False).stdout
    assert left == ""


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Cluster]:
    other = EmbeddedCluster(tmp_path / "strict")
    other.up("--strict-resources")
    yield other
    other.down()


@about_up
def test_a_strict_cluster_leaves_the_pod_pending_and_says_what_is_missing(strict: Cluster) -> None:
    wanted = job("default", "true")
    container = wanted["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"example.com/no-such-device": 1}}
    strict.apply(wanted)
    strict.kubectl("wait", "--for=condition=PodScheduled=False", "pod/j-master-0", "--timeout=30s")
    described = strict.shunter("describe", "j").stdout
    assert "  Cause    Unschedulable: master-0: " in described
    assert "Insufficient example.com/no-such-device" in described
    (row,) = json.loads(strict.shunter("jobs", "-o", "json").stdout)
    assert (row["why"], "Insufficient example.com/no-such-device" in row["cause"]) == ("Unschedulable", True)


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Cluster]:
    other = EmbeddedCluster(tmp_path / "plain")
    other.up("--level", "plain")
    yield other
    other.down()


@about_up
def test_an_example_of_two_ranks_trains_with_plain_processes(plain: Cluster) -> None:
    done = plain.shunter("run", "examples/mnist-script.yaml", "examples/v1/pytorch-mnist.yaml", timeout=110)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "Rank 1/2 accuracy" in done.stdout
