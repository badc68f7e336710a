"""exec, cp, attach and port-forward with kubectl, over every protocol that it speaks."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from e2e.running_cluster import KUBECTL, SHUNTER, eventually

MEGABYTES = os.urandom(10_000_000)
SECONDS = 60


class Client(NamedTuple):
    """A kubectl, and what it is told about protocols."""

    program: tuple[str, ...]
    environment: dict[str, str]


OLDER = "/usr/bin/kubectl"
CLIENTS = [
    pytest.param(Client((KUBECTL,), {}), id="websocket"),
    pytest.param(
        Client((KUBECTL,), {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"}), id="spdy"
    ),
    pytest.param(
        Client((OLDER,), {}), id="older", marks=pytest.mark.skipif(not Path(OLDER).exists(), reason=f"there is no {OLDER}")
    ),
]


class Pod:
    """A running pod, and kubectl for what is done to it."""

    def __init__(self, cluster: Any, namespace: str, client: Client, name: str = "p") -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.name = name
        self._client = client

    def start(self, script: str, *, containers: list[dict[str, Any]] | None = None, **container: Any) -> None:
        main = {"name": "main", "image": "any:1", "command": ["sh", "-c", script], "env": [{"name": "COLOR", "value": "blue"}]}
        spec = {"containers": [{**main, **container}, *(containers or ())], "terminationGracePeriodSeconds": 1}
        metadata = {"name": self.name, "namespace": self.namespace}
        self.cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "restartPolicy": "Never"}})
        name = ("-n", self.namespace, f"pod/{self.name}")
        waited = self.cluster.try_kubectl("wait", "--for=condition=Ready", "--timeout=40s", *name)
        assert waited.returncode == 0, waited.stderr + self.cluster.kubectl("get", "-o", "yaml", *name)

    def command(self, verb: str, *arguments: str) -> list[str]:
        return [*self._client.program, verb, "-n", self.namespace, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**self.cluster.environment, "KUBECONFIG": str(self.cluster.kubeconfig), **self._client.environment}

    def run(self, verb: str, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(verb, *arguments), env=self.environment, input=stdin, capture_output=True, timeout=SECONDS, check=False
        )

    def execute(self, *argv: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        options = [] if stdin is None else ["-i"]
        return self.run("exec", *options, self.name, "--", *argv, stdin=stdin or b"")


@pytest.fixture(params=CLIENTS)
def pod(cluster: Any, namespace: str, request: pytest.FixtureRequest) -> Pod:
    return Pod(cluster, namespace, request.param)


def test_exec_returns_both_outputs_and_the_exit_code(pod: Pod) -> None:
    pod.start("sleep 600")
    done = pod.execute("sh", "-c", "echo $COLOR in $PWD on $(hostname); echo trouble >&2; exit 3")
    assert done.stdout == b"blue in / on p\n"
    assert done.stderr.splitlines()[0] == b"trouble"
    assert done.returncode == 3
    assert pod.execute("true").returncode == 0


def test_exec_carries_ten_megabytes_both_ways_unchanged(pod: Pod) -> None:
    pod.start("sleep 600")
    done = pod.execute("cat", stdin=MEGABYTES)
    assert done.returncode == 0, done.stderr
    assert done.stdout == MEGABYTES


def test_exec_sees_the_end_of_its_input(pod: Pod) -> None:
    pod.start("sleep 600")
    assert pod.execute("wc", "-c", stdin=b"abc").stdout.strip() == b"3"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param(
            ("p", "--", "no-such-program"), b'exec: "no-such-program": executable file not found in $PATH', id="unknown program"
        ),
        pytest.param(("p", "-c", "no-such-container", "--", "true"), b"container no-such-container is not valid", id="container"),
        pytest.param(("no-such-pod", "--", "true"), b'pods "no-such-pod" not found', id="unknown pod"),
    ],
)
def test_exec_says_why_it_cannot(pod: Pod, arguments: tuple[str, ...], complaint: bytes) -> None:
    pod.start("sleep 600")
    done = pod.run("exec", *arguments)
    assert done.returncode != 0
    assert complaint in done.stderr


def test_exec_into_a_container_that_has_ended_is_refused(pod: Pod) -> None:
    pod.start("sleep 600", containers=[{"name": "short", "image": "any:1", "command": ["sleep", "2"]}])

    def has_ended() -> Any:
        statuses = pod.cluster.get("pod", "p", "-n", pod.namespace)["status"]["containerStatuses"]
        return next(status for status in statuses if status["name"] == "short")["state"].get("terminated")

    eventually(has_ended)
    done = pod.run("exec", "p", "-c", "short", "--", "true")
    assert done.returncode != 0
    assert b'container not found ("short")' in done.stderr


class Terminal:
    """A process on a terminal of its own, driven as a person would."""

    def __init__(self, command: list[str], environment: dict[str, str], *, width: int, height: int) -> None:
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment)
        self.shown = ""
        self.resize(width, height)

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, pattern: str) -> "re.Match[str]":
        """The first place where the screen matches; what comes before it is forgotten."""
        deadline = time.monotonic() + SECONDS
        while not (found := re.search(pattern, self.shown)):
            ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{pattern!r} is not in {self.shown!r}"
            try:
                self.shown += os.read(self._master, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"{pattern!r} is not in {self.shown!r}, and it is over") from None
        self.shown = self.shown[found.end() :]
        return found

    def exit_code(self) -> int:
        """Reads to the end and waits."""
        while True:
            try:
                if not os.read(self._master, 65536):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        os.close(self._master)


@contextmanager
def terminal(pod: Pod, verb: str, *arguments: str) -> Iterator[Terminal]:
    opened = Terminal(pod.command(verb, *arguments), pod.environment, width=97, height=31)
    try:
        yield opened
    finally:
        opened.close()


def test_exec_with_a_terminal_is_a_shell_as_at_home(pod: Pod) -> None:
    pod.start("sleep 600")
    with terminal(pod, "exec", "-it", "p", "--", "sh", "-c", "PS1='ready> ' exec sh -i") as shell:
        shell.wait_for("ready> $")
        shell.type("tty; echo $TERM\n")
        shell.wait_for("/dev/pts/0\r\nxterm\r\n")

        def size() -> str:
            shell.type("stty size | tr ' ' x\n")
            return shell.wait_for(r"(\d+x\d+)\r\n").group(1)

        eventually(lambda: size() == "31x97")
        shell.resize(width=120, height=40)
        eventually(lambda: size() == "40x120")
        shell.type("sh -c 'tty; sleep 602'\n")
        shell.wait_for("/dev/pts/0\r\n")
        # Not between the two: a shell that is about to start a program may take the signal for its own.
        eventually(lambda: processes(pod, "sleep 602"))
        shell.type("\x03")
        shell.wait_for("ready> $")
        shell.type("exit 7\n")
        assert shell.exit_code() == 7


def test_shunter_kubectl_is_kubectl(cluster: Any, namespace: str) -> None:
    pod = Pod(cluster, namespace, Client((*SHUNTER, "kubectl"), {}))
    pod.start("sleep 600")
    words = ["--", "-l", "--help", "-it", "", "a b", "--version"]
    done = pod.run("exec", "p", "-c", "main", "--", "printf", "<%s>", *words)
    assert (done.stdout.decode(), done.stderr) == ("".join(f"<{word}>" for word in words), b"")
    assert pod.run("exec", "p", "--", "sh", "-c", "exit 7").returncode == 7
    assert pod.run("exec", "-i", "p", "--", "cat", stdin=b"through").stdout == b"through"
    with terminal(pod, "exec", "-it", "p", "--", "sh", "-c", "tty; exit 5") as shell:
        shell.wait_for("/dev/pts/0\r\n")
        assert shell.exit_code() == 5
    pod.run("create", "deployment", "d", "--image=x:1", "--", "sleep", "100")
    container = cluster.get("deployment", "d", "-n", namespace)["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["sleep", "100"]


def test_a_shell_hangs_up_when_its_client_is_killed(pod: Pod) -> None:
    pod.start("sleep 600")
    with terminal(pod, "exec", "-it", "p", "--", "sh", "-c", "echo begun; sleep 601") as shell:
        shell.wait_for("begun")
        os.kill(shell.pid, signal.SIGKILL)
        os.waitpid(shell.pid, 0)
    eventually(lambda: not processes(pod, "sleep 601"))


def test_a_command_without_a_terminal_outlives_its_client(pod: Pod) -> None:
    pod.start("sleep 600")
    begun, done = (f"/tmp/{pod.namespace}-{moment}" for moment in ("begun", "done"))
    command = f"cat; for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep .2; done; touch {done}"
    with subprocess.Popen(
        pod.command("exec", "-i", "p", "--", "sh", "-c", f"touch {begun}; {command}"),
        env=pod.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as client:
        eventually(lambda: pod.execute("test", "-e", begun).returncode == 0)
        client.kill()
    eventually(lambda: pod.execute("test", "-e", done).returncode == 0)


def processes(pod: Pod, text: str) -> bool:
    """Whether the pod has a process with this in its command line."""
    search = 'for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done 2>/dev/null'
    lines = pod.execute("sh", "-c", search).stdout.decode().splitlines()
    return any(line.startswith(text) for line in lines)


def test_cp_copies_a_directory_there_and_back(pod: Pod, tmp_path: Path) -> None:
    pod.start("sleep 600")
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "big").write_bytes(MEGABYTES)
    (tmp_path / "a" / "b" / "small").write_text("small\n")
    copied = f"p:/tmp/{pod.namespace}"  # pods see what this machine has in /tmp
    there = pod.run("cp", f"{tmp_path}/a", copied)
    assert there.returncode == 0, there.stderr
    back = pod.run("cp", copied, f"{tmp_path}/c")
    assert back.returncode == 0, back.stderr
    assert (tmp_path / "c" / "big").read_bytes() == MEGABYTES
    assert (tmp_path / "c" / "b" / "small").read_text() == "small\n"


def test_attach_shows_what_is_written_from_then_on_and_ends_with_the_container(pod: Pod) -> None:
    pod.start(
        "echo before; while [ ! -e /tmp/$HOSTNAME-go ]; do echo tick; sleep .1; done; echo after; "
        "echo trouble >&2; printf rest; exit 3"
    )
    with subprocess.Popen(
        pod.command("attach", "p"), env=pod.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as attached:
        assert attached.stdout is not None
        assert attached.stdout.readline() == b"tick\n", "attached"
        assert pod.execute("sh", "-c", "touch /tmp/$HOSTNAME-go").returncode == 0
        out, err = attached.communicate(timeout=SECONDS)
    assert out.replace(b"tick\n", b"") == b"after\nrest"
    assert err.splitlines()[-1] == b"trouble"
    assert pod.run("logs", "p").stdout.startswith(b"before\ntick\n")


def test_attach_types_into_a_container_with_an_input(pod: Pod) -> None:
    pod.start("echo ready; cat; echo over", stdin=True, stdinOnce=True)
    done = pod.run("attach", "-i", "p", stdin=b"one\ntwo\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"one\ntwo\nover\n"
    assert pod.run("logs", "p").stdout == b"ready\none\ntwo\nover\n"


def test_attach_to_a_terminal_and_detach_and_attach_again(pod: Pod) -> None:
    pod.start("PS1='ready> ' exec sh -i", stdin=True, tty=True)
    for number in (1, 2):
        with terminal(pod, "attach", "-it", "p") as shell:
            eventually(lambda: answers(shell, "stty size", "31 97"))
            shell.type(f"echo still here $(({number} + 40))\n")
            shell.wait_for(f"still here {number + 40}\r\n")
            os.kill(shell.pid, signal.SIGKILL)
            os.waitpid(shell.pid, 0)
    assert pod.execute("true").returncode == 0


def answers(shell: Terminal, command: str, answer: str) -> bool:
    """Whether a command's first line is this."""
    shell.type(f"{command}\n")
    return shell.wait_for(rf"{command}\r\n([^\r]*)\r\n").group(1) == answer


@contextmanager
def forwarded(pod: Pod, *ports: int) -> Iterator[tuple[subprocess.Popen[str], dict[int, int]]]:
    """A port-forward on free local ports: pod's port to local port."""
    command = pod.command("port-forward", "p", "--address=127.0.0.1", *(f":{port}" for port in ports))
    with subprocess.Popen(
        command, env=pod.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as forwarding:
        try:
            assert forwarding.stdout is not None
            local = {}
            for _ in ports:
                line = forwarding.stdout.readline()
                found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> (\d+)", line)
                assert found, line
                local[int(found.group(2))] = int(found.group(1))
            yield forwarding, local
        finally:
            forwarding.terminate()


SERVER = """
import http.server, socketserver, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (self.path * 20000).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    request_queue_size = 128
for port in sys.argv[1:]:
    server = Server(("127.0.0.1", int(port)), Handler)
    threading.Thread(target=server.serve_forever).start()
open("/tmp/listening", "w").close()
"""


def serve(pod: Pod, *ports: int) -> None:
    pod.start(f"exec python3 -c '{SERVER}' {' '.join(map(str, ports))}")
    eventually(lambda: pod.execute("test", "-e", "/tmp/listening").returncode == 0)


def test_port_forward_carries_fifty_requests_at_a_time(pod: Pod) -> None:
    serve(pod, 8080)
    with forwarded(pod, 8080) as (_, local), ThreadPoolExecutor(50) as pool:

        def get(number: int) -> bool:
            with urllib.request.urlopen(f"http://127.0.0.1:{local[8080]}/{number}", timeout=SECONDS) as answer:
                return bool(answer.read() == f"/{number}".encode() * 20000)

        assert all(pool.map(get, range(50)))


def test_port_forward_carries_megabytes_both_ways_and_two_ports(pod: Pod) -> None:
    serve(pod, 8080, 8081)
    with forwarded(pod, 8080, 8081) as (_, local):
        for port in (8080, 8081):
            with urllib.request.urlopen(f"http://127.0.0.1:{local[port]}/", data=MEGABYTES, timeout=SECONDS) as answer:
                assert answer.read() == MEGABYTES


def test_port_forward_says_when_nothing_listens(pod: Pod) -> None:
    pod.start("sleep 600")
    with forwarded(pod, 8080) as (forwarding, local):
        with pytest.raises(OSError, match=r"."):
            urllib.request.urlopen(f"http://127.0.0.1:{local[8080]}/", timeout=SECONDS).read()
        assert forwarding.stdout is not None
        shown = ""
        while "failed to connect to localhost:8080 inside the pod, IPv4: Connection refused" not in shown:
            line = forwarding.stdout.readline()
            assert line, shown
            shown += line


def test_a_prompt_in_a_pod_of_its_own(pod: Pod) -> None:
    """As the FAQ says it: the words after `--` are args, there is no command."""
    with terminal(pod, "run", "-it", "--rm", "try", "--image=any", "--", "python", "-qi") as python:
        python.wait_for(">>> ")
        python.type("print(6 * 7)\n")
        python.wait_for("42\r\n")
        python.type("exit(0)\n")
        python.wait_for('pod "try" deleted')
        assert python.exit_code() == 0
