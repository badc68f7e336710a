"""Commands over SSH between two pods' programs, as pods find them: keys from a volume, streams and exit statuses come through."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from shunter.cluster.node.content.volume_files import VolumeFile, write_files
from shunter.cluster.node.programs.shims import write_shims
from shunter.operator.trainer.plugins.ssh_keys import key_pair

pytestmark = [pytest.mark.timeout(60), pytest.mark.integration]
MACHINE = "/usr/bin:/bin"


class Pod:
    """The programs, and a home with the keys that an operator made."""

    def __init__(self, directory: Path, programs: Path, randomness: bytes) -> None:
        self.programs = programs
        self.environment: Mapping[str, str] = {"PATH": f"{programs}:{MACHINE}", "HOME": str(directory), "SECRET": "declared"}
        private, public = key_pair(randomness)
        files = {"id_rsa": VolumeFile(private, 0o640), "authorized_keys": VolumeFile(public, 0o644)}
        write_files(directory / ".ssh", files)

    def sshd(self, *arguments: str) -> subprocess.Popen[str]:
        command = [str(self.programs / "sshd"), "-De", *arguments]
        return subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)

    def ssh(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(self.programs / "ssh"), *arguments]
        nothing = subprocess.DEVNULL if stdin is None else None
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, input=stdin, stdin=nothing
        )


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("bin")
    write_shims(directory)
    return directory


@pytest.fixture(scope="module")
def pod(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Pod:
    return Pod(tmp_path_factory.mktemp("home"), programs, b"a" * 32)


class Server:
    def __init__(self, pod: Pod, *arguments: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = str(probe.getsockname()[1])
        self.process = pod.sshd("-p", self.port, *arguments)
        assert self.next_line() == f"Server listening on 0.0.0.0 port {self.port}."

    def next_line(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.readline().strip()


@pytest.fixture(scope="module")
def server(pod: Pod) -> Iterator[Server]:
    found = Server(pod)
    yield found
    found.process.terminate()
    assert found.process.wait(10) == 0


def test_streams_and_the_exit_status_come_through(pod: Pod, server: Server) -> None:
    typed = "typed\n" * 100_000
    done = pod.ssh("-p", server.port, "127.0.0.1", "cat; echo to $0 >&2; exit 7", stdin=typed)
    assert (done.returncode, done.stdout == typed, done.stderr) == (7, True, "to /bin/sh\n")
    assert server.next_line().startswith("Accepted publickey for mpiuser from 127.0.0.1 port ")


def test_a_session_has_the_images_environment_and_not_the_pods(pod: Pod, server: Server) -> None:
    done = pod.ssh("-p", server.port, "127.0.0.1", "echo $PATH; echo ${SECRET:-none}; pwd")
    assert done.stdout.splitlines() == [pod.environment["PATH"], "none", pod.environment["HOME"]]
    server.next_line()


def test_a_forced_command_finds_what_was_asked_for_in_its_environment(pod: Pod) -> None:
    """So a runtime lets sessions have the environment that its container declares."""
    server = Server(pod, "-o", 'ForceCommand=SECRET=known; export SECRET; eval "$SSH_ORIGINAL_COMMAND"')
    try:
        done = pod.ssh("-p", server.port, "127.0.0.1", "echo $SECRET; exit 3")
        assert (done.returncode, done.stdout) == (3, "known\n")
    finally:
        server.process.terminate()
        server.process.wait(10)


def test_a_command_that_is_killed_is_a_failure(pod: Pod, server: Server) -> None:
    assert pod.ssh("-p", server.port, "127.0.0.1", "kill -9 $$").returncode == 255
    server.next_line()


def test_what_a_session_leaves_running_does_not_hold_it(pod: Pod, server: Server) -> None:
    """mpirun's daemons take leave of the session that started them."""
    done = pod.ssh("-p", server.port, "127.0.0.1", "setsid sleep 30 </dev/null >/dev/null 2>&1 & echo left")
    assert (done.returncode, done.stdout) == (0, "left\n")
    server.next_line()


def test_the_keys_of_another_job_open_nothing(programs: Path, server: Server, tmp_path: Path) -> None:
    other = Pod(tmp_path, programs, b"b" * 32)
    done = other.ssh("-p", server.port, "root@127.0.0.1", "true")
    assert (done.returncode, done.stdout) == (255, "")
    assert done.stderr == "ssh: root@127.0.0.1: Permission denied (publickey).\n"
    assert server.next_line().startswith("Failed publickey for root from 127.0.0.1 port ")


def test_a_host_that_does_not_answer_is_named(pod: Pod) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    done = pod.ssh("-p", port, "-o", "ConnectionAttempts=2", "127.0.0.1", "true")
    assert (done.returncode, done.stderr) == (255, f"ssh: connect to host 127.0.0.1 port {port}: Connection refused\n")
    done = pod.ssh("no-such-host.invalid", "true")
    assert done.returncode == 255
    assert done.stderr.startswith("ssh: connect to host no-such-host.invalid port 2222: ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-p", "x"], "sshd: Port 'x' is no number"),
        (["-h", "/no/such/key"], "sshd: [Errno 2] No such file or directory: '/no/such/key'"),
    ],
)
def test_a_server_that_cannot_start_says_why(pod: Pod, arguments: list[str], complaint: str) -> None:
    process = pod.sshd(*arguments)
    assert (process.communicate()[1].strip(), process.returncode) == (complaint, 255)


def test_a_server_whose_port_is_taken_says_so(pod: Pod, server: Server) -> None:
    process = pod.sshd("-p", server.port)
    assert "address already in use" in process.communicate()[1]
    assert process.returncode == 255


def test_a_server_that_is_told_to_end_ends_its_sessions(pod: Pod) -> None:
    server = Server(pod)
    session = subprocess.Popen(
        [pod.programs / "ssh", "-p", server.port, "127.0.0.1", "echo begun; exec sleep 600"],
        env=pod.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert session.stdout is not None
    assert session.stdout.readline() == "begun\n"
    server.process.terminate()
    assert server.process.wait(10) == 0
    assert (session.communicate()[0], session.returncode) == ("", 255)


def test_without_keys_of_a_job_ssh_is_the_machines_own(programs: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "ssh").write_text('#!/bin/sh\necho "own: $*"\n')
    (own / "ssh").chmod(0o755)
    environment = {"PATH": f"{programs}:{own}:{MACHINE}", "HOME": str(tmp_path)}
    done = subprocess.run([programs / "ssh", "h", "true"], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "own: h true\n"
