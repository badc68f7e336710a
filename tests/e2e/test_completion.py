"""What shells offer after TAB, asked of the real command by each shell's own protocol."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import Cluster

pytestmark = pytest.mark.timeout(120)
PROGRAM = str(Path(sys.executable).parent / "shunter")


def asked(cluster: Cluster, shell: str, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What the command answers to a shell whose line has the cursor at its end."""
    words = shlex.split(line) + [""] * line.endswith(" ")
    protocol = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    told = {**cluster.environment, **protocol, "_SHUNTER_COMPLETE": f"complete_{shell}", **environment}
    return subprocess.run([PROGRAM], env=told, capture_output=True, text=True, timeout=30, check=False)


def offered(cluster: Cluster, line: str, **environment: str) -> list[str]:
    done = asked(cluster, "bash", line, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def suspended(name: str, namespace: str, *, workers: int = 0) -> dict[str, Any]:
    replica = {"template": {"spec": {"containers": [{"name": "pytorch", "image": "any:1"}]}}}
    roles = {"Master": {"replicas": 1, **replica}, **({"Worker": {"replicas": workers, **replica}} if workers else {})}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": roles, "runPolicy": {"suspend": True}},
    }


def test_names_come_from_the_cluster(cluster: Cluster, namespace: str) -> None:
    cluster.apply(suspended("bert", namespace, workers=2), suspended("best", namespace), suspended("gpt", namespace))
    for verb in ("logs", "describe", "delete"):
        assert offered(cluster, f"shunter {verb} -n {namespace} be") == ["bert", "best"]
    assert offered(cluster, f"shunter logs -n {namespace} ") == ["bert", "best", "gpt"]
    assert offered(cluster, f"shunter logs -n {namespace} pytorchjob/g") == ["pytorchjob/gpt"]
    assert offered(cluster, f"shunter logs -n {namespace} trainjob/") == []
    assert offered(cluster, f"shunter logs bert -n {namespace} --rank ") == ["0", "1", "2"]
    assert offered(cluster, f"shunter jobs -n {namespace[:5]}").count(namespace) == 1
    assert offered(cluster, "shunter jobs --state s") == ["Suspended", "Succeeded"]
    assert offered(cluster, "shunter jobs --kind T") == ["TFJob", "TrainJob"]
    assert "age" in offered(cluster, "shunter jobs --sort ")
    assert offered(cluster, "shunter jobs --context ", KUBECONFIG=str(cluster.kubeconfig)) != []


def test_every_shell_gets_its_own_form(cluster: Cluster, namespace: str) -> None:
    cluster.apply(suspended("bert", namespace))
    line = f"shunter logs -n {namespace} b"
    about = f"PyTorchJob in {namespace}, Suspended"
    # The state is the operator's to say, which may not have seen the job yet.
    abouts = {about, about.replace("Suspended", "Created")}
    assert asked(cluster, "fish", line).stdout.strip() in {f"bert\t{text}" for text in abouts}
    assert asked(cluster, "zsh", line).stdout.strip() in {f"""_arguments '*: :(("bert":"{text}"))'""" for text in abouts}
    assert asked(cluster, "bash", line).stdout.strip() == "bert"


def test_bash_completes_with_the_script_that_it_is_given(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    cluster.apply(suspended("bert", namespace))
    words = shlex.join(["shunter", "logs", "-n", namespace, "be"])
    script = f"""
        source <(_SHUNTER_COMPLETE=source_bash {PROGRAM})
        COMP_WORDS=({words}); COMP_CWORD=4
        _shunter_completion shunter
        echo "${{COMPREPLY[@]}}"
    """
    environment = {**cluster.environment, "PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("bert", "")


SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_without_a_cluster_it_is_silent_and_quick(cluster: Cluster, tmp_path: Path, shell: str) -> None:
    nowhere = tmp_path / "config"
    nowhere.write_text(cluster.kubeconfig.read_text().replace("127.0.0.1", "192.0.2.1"))  # answers nobody
    for environment in ({"KUBECONFIG": "", "SHUNTER_STATE_DIR": str(tmp_path)}, {"KUBECONFIG": str(nowhere)}):
        for line in ("shunter logs ", "shunter logs -n ", "shunter logs j --rank ", "shunter kubectl get pods "):
            begun = time.monotonic()
            done = asked(cluster, shell, line, **environment)
            assert (done.stderr, "Traceback" in done.stdout) == ("", False)
            assert done.stdout.strip() in ("", "_files")
            assert time.monotonic() - begun < 15


def test_shunter_kubectl_offers_what_kubectl_offers(cluster: Cluster, namespace: str) -> None:
    cluster.apply(suspended("bert", namespace))
    assert offered(cluster, "shunter kubectl clu") == ["cluster-info"]
    assert offered(cluster, f"shunter kubectl get -n {namespace} pytorchjobs b") == ["bert"]
    assert "--namespace" in offered(cluster, "shunter kubectl get --namesp")
