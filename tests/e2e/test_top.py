"""`top`, `plot` and `-w` of a job that trains: on a screen, in a pipe, and where neither will do."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from e2e.running_cluster import SHUNTER, Cluster, eventually

pytestmark = pytest.mark.timeout(180)

SCRIPT = """
if [ $RANK = 1 ] && [ ! -e /state/ran ]; then touch /state/ran; echo first run; exit 7; fi
step=1
while [ $step -le 60 ]; do printf 'step %d/1000 loss 0.%03d \\033[31mred\\n' $step $((900 - step)); step=$((step + 1)); done
sleep 600
"""
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
"""What switches to the alternate screen of a terminal, and back."""


@pytest.fixture(scope="module")
def job(cluster: Cluster) -> Iterator[str]:
    """The namespace of a job of two ranks of which the second was restarted, and whose logs tell 60 steps."""
    namespace = f"t-top-{os.getpid()}"
    cluster.create_namespace(namespace)
    container = {"name": "pytorch", "image": "any:1", "command": ["sh", "-c", SCRIPT]}
    mount = {"volumeMounts": [{"name": "state", "mountPath": "/state"}]}
    pod = {"terminationGracePeriodSeconds": 0, "volumes": [{"name": "state", "emptyDir": {}}]}
    template = {"spec": {**pod, "containers": [{**container, **mount}]}}
    replicas = {"replicas": 1, "restartPolicy": "OnFailure", "template": template}
    cluster.apply(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "curve", "namespace": namespace},
            "spec": {"pytorchReplicaSpecs": {"Master": replicas, "Worker": replicas}, "runPolicy": {"backoffLimit": 5}},
        }
    )
    eventually(lambda: cluster.shunter("logs", "curve", "-n", namespace).stdout.count("step 60/") == 2, seconds=90)
    yield namespace
    cluster.kubectl("delete", "namespace", namespace, "--wait=false")


def printed(cluster: Cluster, *arguments: str, code: int = 0) -> str:
    done = cluster.shunter(*arguments)
    assert done.returncode == code, done.stderr
    return done.stdout or done.stderr


def test_plot_draws_the_loss_of_the_logs(cluster: Cluster, job: str) -> None:
    lines = printed(cluster, "plot", "curve", "-n", job).splitlines()
    assert lines[0] == f"loss of PyTorchJob {job}/curve, from the logs of ranks 0, 1: 0.84 at step 60"
    assert [lines[1].split()[0], lines[-2].split()[0], lines[-1].split()] == ["0.899", "0.84", ["1", "step", "60"]]
    (one,) = json.loads(printed(cluster, "plot", "curve", "-n", job, "--rank", "1", "-o", "json"))
    assert (one["rank"], one["source"], one["axis"], len(one["points"])) == (1, "log", "step", 60)


def test_plot_says_what_it_cannot_draw(cluster: Cluster, job: str) -> None:
    assert "there is no metric 'f1'; there are loss" in printed(cluster, "plot", "curve", "-n", job, "--metric", "f1", code=2)
    assert "has no rank 7: its ranks are 0 to 1" in printed(cluster, "plot", "curve", "-n", job, "--rank", "7", code=2)
    ascii_only = subprocess.run(
        [*SHUNTER, "plot", "curve", "-n", job],
        env={**cluster.environment, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ascii_only.returncode == 3
    assert "Set LANG=C.UTF-8" in ascii_only.stderr


def test_in_a_pipe_top_is_printed_once(cluster: Cluster, job: str) -> None:
    lines = printed(cluster, "top", "curve", "-n", job).splitlines()
    assert lines[0].startswith(f"PyTorchJob {job}/curve Running  step 60/1000 (log)")
    assert "2 ranks: ● 2 Running" in lines
    assert "  rank 1: restarted (last: exit code 7)" in lines
    assert any(line.startswith("    0.899 \u2524") for line in lines)
    assert lines[-1] == "  step 60/1000 loss 0.840 red"
    both = printed(cluster, "top", "-n", job)
    assert both.splitlines()[0].split() == ["STATE", "NAME", "NAMESPACE", "KIND", "UP/WANTED", "PROGRESS", "LEFT", "AGE", "WHY"]
    assert "below: curve" in both


@pytest.mark.parametrize("arguments", [["jobs", "-w"], ["describe", "curve", "-w"]], ids=lambda words: words[0])
def test_in_a_pipe_nothing_can_be_redrawn(cluster: Cluster, job: str, arguments: list[str]) -> None:
    assert "Leave -w out." in printed(cluster, *arguments, "-n", job, code=2)


def begin() -> None:
    """Of the process in the terminal: takes it, and hears Ctrl-C also where the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def terminal(cluster: Cluster, *arguments: str, **environment: str) -> Iterator[Any]:
    """The command in a terminal of 30 lines by 100 columns; gives a function that reads until a text has come."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    known = {key: value for key, value in cluster.environment.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [*SHUNTER, *arguments],
        env={**known, "TERM": "xterm-256color", **environment},
        stdin=child,
        stdout=child,
        stderr=child,
        start_new_session=True,
        preexec_fn=begin,
    )
    os.close(child)
    read = bytearray()

    def until(text: str, seconds: float = 60) -> str:
        deadline = time.monotonic() + seconds
        while text not in read.decode(errors="replace"):
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} did not come: {read.decode(errors='replace')[-2000:]}"
            if select.select([parent], [], [], left)[0]:
                try:
                    read.extend(os.read(parent, 65536))
                except OSError:  # Linux says so when the last process with the terminal has ended
                    assert text in read.decode(errors="replace"), read.decode(errors="replace")
        found = read.decode(errors="replace")
        read.clear()
        return found

    try:
        yield until, lambda: os.write(parent, b"\x03"), process
    finally:
        process.kill()
        process.wait()
        os.close(parent)


def test_top_is_drawn_again_until_ctrl_c(cluster: Cluster, job: str) -> None:
    with terminal(cluster, "top", "curve", "-n", job) as (until, interrupt, process):
        begun = until("step 60/1000 loss 0.840 red")
        assert ENTER in begun
        assert "\x1b[31mred" not in begun
        until("2 Running")
        interrupt()
        assert until(LEAVE)
        assert process.wait(30) == 0


def test_a_change_is_drawn_by_jobs_and_describe(cluster: Cluster, job: str) -> None:
    with (
        terminal(cluster, "jobs", "-w", "-n", job) as (jobs_until, stop_jobs, jobs),
        terminal(cluster, "describe", "curve", "-w", "-n", job) as (until, stop, describe),
    ):
        assert ENTER in jobs_until("Running")
        assert ENTER in until("Running")
        cluster.kubectl(
            "patch", "pytorchjob", "curve", "-n", job, "--type=merge", "-p", '{"spec":{"runPolicy":{"suspend":true}}}'
        )
        jobs_until("Suspended")
        until("Suspended")
        stop_jobs()
        stop()
        assert (jobs.wait(30), describe.wait(30)) == (0, 0)


def test_a_dumb_terminal_gets_one_screen(cluster: Cluster, job: str) -> None:
    with terminal(cluster, "top", "curve", "-n", job, TERM="dumb") as (until, _, process):
        assert ENTER not in until("curve")
        assert process.wait(30) == 0
