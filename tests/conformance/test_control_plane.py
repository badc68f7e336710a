"""The control plane that conformance tests stand on: what it leaves, and what its users may do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from control_plane import ControlPlane, works_in
from e2e.running_cluster import KUBECTL, REPOSITORY, eventually

pytestmark = pytest.mark.conformance

COMMAND = REPOSITORY / "conformance/control_plane.py"
OPTIONAL = ("kube-controller-manager", "kube-scheduler", "jobset")


def living(directory: Path) -> list[int]:
    """The processes that work in a directory."""
    return [int(one.name) for one in Path("/proc").glob("[0-9]*") if works_in(int(one.name), directory)]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, COMMAND, *arguments], capture_output=True, text=True, check=False)


def kubectl(kubeconfig: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [KUBECTL, f"--kubeconfig={kubeconfig}", *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_killed_session_leaves_no_process(tmp_path: Path) -> None:
    directory = tmp_path / "plane"
    script = (
        f"import sys; sys.path.insert(0, {str(COMMAND.parent)!r})\n"
        "from pathlib import Path; from control_plane import ControlPlane\n"
        f"ControlPlane(Path({str(directory)!r}), parts=()).start(); print('up', flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == b"up\n"
        assert len(living(directory)) == 2
        session.send_signal(signal.SIGKILL)
    eventually(lambda: not living(directory))


def test_up_outlives_its_command_and_down_ends_it(tmp_path: Path) -> None:
    directory = tmp_path / "plane"
    up = command("up", str(directory), "--without", *OPTIONAL)
    try:
        assert up.returncode == 0, up.stderr
        assert kubectl(Path(up.stdout.strip()), "get", "--raw", "/readyz").stdout == "ok"
        assert len(living(directory)) == 2
    finally:
        down = command("down", str(directory))
    assert down.returncode == 0, down.stderr
    assert not living(directory)


def test_a_part_that_does_not_start_is_said_with_the_end_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "etcd").write_text("not a directory")
    plane = ControlPlane(tmp_path, parts=())
    with pytest.raises(RuntimeError, match=r"etcd ended; the end of .*/etcd\.log:\n(.|\n)*not a directory"):
        plane.start()
    assert not living(tmp_path)


def test_a_user_may_do_what_rbac_lets_it_and_is_in_the_audit_log(control_plane: ControlPlane) -> None:
    nobody = control_plane.kubeconfig_for("somebody")
    assert "forbidden" in kubectl(nobody, "get", "secrets").stderr
    master = control_plane.kubeconfig_for("anybody", ["system:masters"])
    assert kubectl(master, "get", "secrets").returncode == 0
    entries = [json.loads(line) for line in control_plane.audit_log().read_text().splitlines()]
    codes = {
        (entry["user"]["username"], entry["responseStatus"]["code"])
        for entry in entries
        if entry.get("objectRef", {}).get("resource") == "secrets"
    }
    assert {("somebody", 403), ("anybody", 200)} <= codes


@pytest.mark.parametrize(
    ("version", "message"),
    [
        pytest.param("", "no go command on PATH", id="missing"),
        pytest.param("go1.21.3", "is Go 1.21.3; the conformance tests need Go", id="too old"),
    ],
)
def test_without_go_the_build_fails_and_says_what_to_do(tmp_path: Path, version: str, message: str) -> None:
    if version:
        write_program(tmp_path / "go", f"echo {version}")
    for name in ("bash", "dirname", "sed", "sort", "head"):
        (tmp_path / name).symlink_to(found(name, os.environ["PATH"].split(os.pathsep)))
    build = subprocess.run(
        [REPOSITORY / "conformance/build"],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 3
    assert message in build.stderr
    assert build.stdout == ""


def found(name: str, directories: Sequence[str]) -> Path:
    return next(path for directory in directories if (path := Path(directory, name)).exists())


def write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
