"""What `up` prepares and refuses before any process is started."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import pytest

from cluster.prepared_state import prepared
from full_disk import SmallDisk
from shunter.cluster import lifecycle, mlflow_server, supervisor
from shunter.cluster.free_ports import free_port, is_free
from shunter.cluster.state_dir import Record, StateDir
from shunter.errors import EnvironmentProblem
from shunter.kube.tls import certificates


def described_operator(state: StateDir) -> dict[str, Any]:
    """The options with which the operator of this cluster is started."""
    record = Record(server="https://127.0.0.1:1", supervisor=0, operator_health="", agent_health="", started=0.0)
    launch = lifecycle.launch_description(state, lifecycle.Options(state.root), record, 1)
    (argv,) = [child["argv"] for child in launch["children"] if child["name"] == "operator"]
    options: dict[str, Any] = json.loads(argv[-1])
    return options


def test_the_operator_serves_webhooks_and_status_server_with_the_certificate_made_for_it(tmp_path: Path) -> None:
    state = prepared(tmp_path)
    options = described_operator(state)
    directory = Path(options["webhook_cert_dir"])
    pair = certificates.KeyPair((directory / "tls.crt").read_bytes(), (directory / "tls.key").read_bytes())
    authorities = (directory / "ca.crt").read_bytes()
    hosts = [options["webhook_host"], options["status_server_host"]]
    assert certificates.fault_of(pair, authorities, hosts, datetime.now(UTC)) == ""
    assert certificates.expires_at(pair.certificate) > datetime.now(UTC) + timedelta(days=3000)


@pytest.mark.integration
def test_the_port_of_the_last_start_is_kept(tmp_path: Path) -> None:
    state = prepared(tmp_path)
    port = free_port()
    state.launch.write_text(json.dumps({"record": {"server": f"https://127.0.0.1:{port}"}}))
    assert lifecycle.choose_port(state, 0) == port


NO_PORT = '{"record": {"server": "https://127.0.0.1:99999999", "reach": 99999999}}'


@pytest.mark.integration
@pytest.mark.parametrize("content", ["{}", "[]", '{"record": {}}', '{"record": {"server": 5}}', '{"record": {"server"', NO_PORT])
def test_a_damaged_record_of_the_last_start_costs_its_port_only(tmp_path: Path, content: str) -> None:
    state = prepared(tmp_path)
    state.launch.write_text(content)
    assert lifecycle.choose_port(state, 0)
    assert lifecycle.port_of_pods(state, "reach")


@pytest.mark.integration
def test_a_port_that_was_taken_meanwhile_is_given_up(tmp_path: Path) -> None:
    state = prepared(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        state.launch.write_text(json.dumps({"record": {"server": f"https://127.0.0.1:{port}"}}))
        assert lifecycle.choose_port(state, 0) != port
        with pytest.raises(EnvironmentProblem, match=f"port {port} on 127.0.0.1 is taken"):
            lifecycle.choose_port(state, port)


@pytest.mark.integration
@pytest.mark.timeout(120)
def test_a_cluster_comes_up_although_another_program_takes_its_port_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = prepared(tmp_path)
    with socket.create_server(("127.0.0.1", free_port())) as other:
        port = other.getsockname()[1]
        state.launch.write_text(json.dumps({"record": {"server": f"https://127.0.0.1:{port}"}}))
        # The other program comes between the look at the port and the API server.
        looks = iter([True])
        monkeypatch.setattr(lifecycle, "is_free", lambda asked: next(looks, False) if asked == port else is_free(asked))
        try:
            started = lifecycle.start(lifecycle.Options(state.root, simulate=True))
            assert started.record.server != f"https://127.0.0.1:{port}"
            assert started.record.server in state.kubeconfig.read_text()
        finally:
            lifecycle.stop(state)


def test_a_look_at_the_lock_is_not_taken_for_a_supervisor(tmp_path: Path) -> None:
    state = prepared(tmp_path)
    state.record.write_text('{"server": "https://127.0.0.1:1", "supervisor": 1}')
    seen: list[bool] = []
    with open(state.lock, "ab"), pytest.MonkeyPatch.context() as patches:
        flock = fcntl.flock

        def with_another_look(handle: IO[bytes], operation: int) -> None:
            flock(handle, operation)
            patches.undo()
            seen.append(state.is_locked())

        patches.setattr(fcntl, "flock", with_another_look)
        seen.append(state.is_locked())
    assert seen == [False, False]


def test_without_a_supervisor_there_is_no_record(tmp_path: Path) -> None:
    state = prepared(tmp_path)
    state.record.write_text('{"server": "https://127.0.0.1:1", "supervisor": 1}')
    assert state.read_record() is None, "a record outlives a supervisor that was killed"


def test_the_last_words_are_those_of_the_newest_run(tmp_path: Path) -> None:
    state = prepared(tmp_path)
    (state.logs / "apiserver.log").write_text("--- started 1\nold trouble\n--- started 2\nnew trouble\n")
    assert lifecycle.last_log_lines(state, "apiserver") == "new trouble"


def test_options_that_the_running_cluster_lacks_are_refused_and_none_asked_for_are_fine(tmp_path: Path) -> None:
    state = prepared(tmp_path)
    operator = {"name": "operator", "argv": ["python", json.dumps({"feature_gates": "TrainJobStatus=true"})]}
    launched = {"children": [operator, {"name": "agent", "argv": ["python", "--level", "plain"]}]}
    state.launch.write_text(json.dumps(launched))
    lifecycle.refuse_other_options(state, lifecycle.Options(state.root))
    lifecycle.refuse_other_options(state, lifecycle.Options(state.root, level="plain"))
    with pytest.raises(EnvironmentProblem, match="already up, without --level namespaces"):
        lifecycle.refuse_other_options(state, lifecycle.Options(state.root, level="namespaces"))
    with pytest.raises(EnvironmentProblem, match="without --warm torch"):
        lifecycle.refuse_other_options(state, lifecycle.Options(state.root, level="plain", warm=("torch",)))
    with pytest.raises(EnvironmentProblem, match="without --strict-resources"):
        lifecycle.refuse_other_options(state, lifecycle.Options(state.root, level="plain", strict_resources=True))
    lifecycle.refuse_other_options(state, lifecycle.Options(state.root, feature_gates="TrainJobStatus=true"))
    with pytest.raises(EnvironmentProblem, match="without --feature-gates TrainJobStatus=false"):
        lifecycle.refuse_other_options(state, lifecycle.Options(state.root, feature_gates="TrainJobStatus=false"))


def test_a_cluster_that_imports_more_modules_than_are_asked_for_is_as_good(tmp_path: Path) -> None:
    state = prepared(tmp_path)
    agent = {"name": "agent", "argv": ["python", "--warm", "torch,numpy"]}
    state.launch.write_text(json.dumps({"children": [{"name": "operator", "argv": ["{}"]}, agent]}))
    for modules in (("torch",), ("numpy", "torch")):
        lifecycle.refuse_other_options(state, lifecycle.Options(state.root, warm=modules))
    with pytest.raises(EnvironmentProblem, match="already up, without --warm torch,jax"):
        lifecycle.refuse_other_options(state, lifecycle.Options(state.root, warm=("torch", "jax")))


def test_stopping_where_nothing_was_ever_started_makes_nothing(tmp_path: Path) -> None:
    assert lifecycle.stop(StateDir(tmp_path / "never")) is False
    assert not (tmp_path / "never").exists()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.integration
def test_a_start_on_a_full_disk_says_so_and_breaks_nothing(small_disk: SmallDisk) -> None:
    state = StateDir(small_disk.path / "state")
    state.create()
    first = lifecycle.prepare(state, lifecycle.Options(state.root))
    before = {path: path.read_bytes() for path in (state.kubeconfig, state.tokens, state.launch)}
    small_disk.fill()
    with pytest.raises(EnvironmentProblem, match=r"No space left on device.*\. Make room on its disk"):
        lifecycle.start(lifecycle.Options(state.root))
    assert {path: path.read_bytes() for path in before} == before
    small_disk.make_room()
    assert lifecycle.prepare(state, lifecycle.Options(state.root)).server == first.server


def supervised(state: StateDir, script: str, gate: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """A supervisor with one child."""
    state.create()
    child = {"name": "agent", "argv": ["sh", "-c", script]}
    state.launch.write_text(json.dumps({"children": [child], "record": {"server": "https://127.0.0.1:1"}}))
    return subprocess.Popen([sys.executable, "-I", "-S", supervisor.__file__, str(state.root)], stdin=gate)


def agent(state: StateDir) -> tuple[int, int]:
    """What `status` says of the child: its pid and how often it was restarted."""
    record = state.read_record()
    return (0, 0) if record is None else (record.children.get("agent", 0), record.restarts["agent"])


@pytest.mark.integration
def test_status_is_true_again_when_a_full_disk_has_room(small_disk: SmallDisk) -> None:
    state = StateDir(small_disk.path / "state")
    running = supervised(state, "exec sleep 600")
    try:
        until(lambda: agent(state)[0] > 0)
        first, _ = agent(state)
        small_disk.fill()
        os.kill(first, signal.SIGKILL)
        until((small_disk.path / "state/cluster.json.new").exists)
        assert agent(state) == (first, 0), "the disk is not full: nothing is tested here"
        small_disk.make_room()
        until(lambda: agent(state)[1] == 1 and agent(state)[0] not in (0, first))
        os.kill(agent(state)[0], 0)
    finally:
        running.terminate()
        assert running.wait(10) == 0


@pytest.mark.integration
def test_what_cannot_be_recorded_now_is_recorded_later(tmp_path: Path) -> None:
    """As on a full disk, where none can be had."""
    state = StateDir(tmp_path)
    (tmp_path / "cluster.json.new").mkdir()
    pids = tmp_path / "pids"
    running = supervised(state, f"echo $$ >> {pids}; exec sleep 600")
    try:
        until(lambda: pids.exists() and pids.read_text() != "")
        os.kill(int(pids.read_text()), signal.SIGKILL)
        until(lambda: len(pids.read_text().splitlines()) == 2)
        assert not state.record.exists()
        (tmp_path / "cluster.json.new").rmdir()
        until(lambda: agent(state) == (int(pids.read_text().split()[1]), 1))
    finally:
        running.terminate()
        assert running.wait(10) == 0


@pytest.mark.integration
def test_a_stopped_cluster_has_no_supervisor_left(tmp_path: Path) -> None:
    """Also one that takes its time between giving up the lock and its end."""
    state = StateDir(tmp_path)
    state.create()
    script = """
import fcntl, json, os, signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
with open("lock", "ab") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open("cluster.json", "w") as record:
        json.dump({"server": "https://127.0.0.1:1", "supervisor": os.getpid()}, record)
    signal.sigwait([signal.SIGTERM])
time.sleep(0.3)
"""
    running = subprocess.Popen([sys.executable, "-I", "-S", "-c", script], cwd=state.root)
    try:
        until(lambda: state.read_record() is not None)
        assert lifecycle.stop(state)
        assert not is_running(running.pid)
    finally:
        running.kill()
        running.wait()


@pytest.mark.integration
def test_a_supervisor_whose_start_was_killed_at_once_is_stopped(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    with lifecycle.alone(state) as gate:
        running = supervised(state, "exec sleep 600", gate)
    try:
        assert lifecycle.stop(state)
        assert not is_running(running.pid)
    finally:
        running.kill()
        running.wait()


@pytest.mark.integration
def test_a_supervisor_that_could_not_write_down_who_it_is_is_stopped_as_soon_as_it_can(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    (tmp_path / "cluster.json.new").mkdir()
    with lifecycle.alone(state) as gate:
        running = supervised(state, "exec sleep 600", gate)
    try:
        with pytest.raises(EnvironmentProblem, match=r"the supervisor of .* did not stop within 0 s.*pgrep -f"):
            lifecycle.stop(state, timeout=0)
        (tmp_path / "cluster.json.new").rmdir()
        assert lifecycle.stop(state)
        assert not is_running(running.pid)
    finally:
        running.kill()
        running.wait()


@pytest.mark.integration
def test_a_child_is_added_while_the_others_run_and_leaves_nothing_behind(tmp_path: Path) -> None:
    state = StateDir(tmp_path / "state")
    running = supervised(state, "exec sleep 600")
    try:
        until(lambda: agent(state)[0] > 0)
        before = agent(state)
        launch = json.loads(state.launch.read_text())
        pids = tmp_path / "pids"
        argv = ["sh", "-c", f"sleep 600 & echo $! >> {pids}; wait"]
        launch["children"].insert(0, {"name": "mlflow", "argv": argv, "ends_as_group": True})
        state.launch.write_text(json.dumps(launch))
        for _ in range(2):  # the second time there is nothing to add
            os.kill(running.pid, signal.SIGUSR1)
            until(lambda: pids.exists() and pids.read_text() != "")
        assert agent(state) == before
        until(lambda: "mlflow" in children(state))  # it is written down after it has begun
        os.kill(children(state)["mlflow"], signal.SIGKILL)
        until(lambda: len(pids.read_text().splitlines()) == 2)
        first, second = map(int, pids.read_text().split())
        until(lambda: not is_running(first))
        assert is_running(second)
    finally:
        running.terminate()
        assert running.wait(10) == 0
    until(lambda: not is_running(second))


@pytest.mark.integration
@pytest.mark.parametrize("again", [False, True], ids=["removed", "removed-and-made-again"])
def test_a_cluster_whose_directory_was_removed_ends_and_writes_nothing_into_the_next(tmp_path: Path, again: bool) -> None:
    state = StateDir(tmp_path / "state")
    running = supervised(state, "exec sleep 600")
    try:
        until(lambda: agent(state)[0] > 0)
        child = agent(state)[0]
        shutil.rmtree(state.root)
        if again:
            state.create()
            state.lock.touch()
        os.kill(running.pid, signal.SIGUSR1)  # it looks at once, not within a minute
        assert running.wait(10) == 0
    finally:
        running.kill()
    assert not is_running(child)
    assert not state.record.exists()


def children(state: StateDir) -> dict[str, int]:
    """Process id of each child that the supervisor has written down."""
    record = state.read_record()
    assert record is not None
    return record.children


def is_running(pid: int) -> bool:
    """Not even a process that nobody has waited for."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.integration
def test_mlflow_starts_with_a_cluster_once_it_has_one_and_keeps_its_port(tmp_path: Path) -> None:
    state = prepared(tmp_path)

    def started() -> tuple[int, list[str]]:
        record = lifecycle.prepare(state, lifecycle.Options(state.root))
        children = json.loads(state.launch.read_text())["children"]
        assert mlflow_server.reach_option(record.mlflow) in children[-1]["argv"], "pods have no way to it"
        return record.mlflow, [child["name"] for child in children]

    port, names = started()
    assert names == ["apiserver", "operator", "agent"]
    state.mlflow.mkdir()
    assert started() == (port, ["mlflow", *names])


def test_logs_of_the_cluster_do_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "LOG_LIMIT", 1000)
    monkeypatch.setattr(supervisor, "LOG_KEPT", 100)
    path = tmp_path / "log"
    with path.open("ab", buffering=0) as log:
        log.write(b"".join(b"line %04d\n" % number for number in range(100)))
        supervisor.shorten(str(path))
        assert len(path.read_bytes()) == 1000
        log.write(b"one more\n")
        supervisor.shorten(str(path))
        log.write(b"the last\n")
    lines = path.read_text().splitlines()
    assert lines[-3:] == ["line 0099", "one more", "the last"]
    assert all(len(line) >= len("one more") for line in lines)
    assert len(lines) < 13


@pytest.mark.integration
def test_a_child_that_cannot_be_started_now_is_tried_again(tmp_path: Path) -> None:
    StateDir(tmp_path).create()
    child = supervisor.Child({"name": "agent", "argv": [str(tmp_path / "away")]}, str(tmp_path))
    before = time.monotonic()
    child.supervise()
    assert child.process is None
    assert child.restart_at > before
    child.restart_at = before
    child.supervise()
    said = (tmp_path / "logs/agent.log").read_text().splitlines()
    assert len(said) == 1, "once"
    assert "agent could not be started, trying again" in said[0]
    assert str(tmp_path / "away") in said[0]
    program, child.argv = child.argv, ["true"]
    child.start()
    child.stop()
    child.argv = program
    for _ in range(2):  # finds that it has ended, and cannot start it
        child.supervise()
        child.restart_at = before
    assert len((tmp_path / "logs/agent.log").read_text().splitlines()) == 2, "the next time is told again"
