"""The `kubectl` that the launcher of an MPIJob finds on our nodes: `kubectl exec [-i] [-n NS] [-c CONTAINER] POD -- COMMAND`.

It runs inside pods, delivered as one file with the modules that it imports (`shims.py`): the standard library and what is named
there, nothing else. It asks as the pod's own service account, by the POST of SPDY/3.1: a WebSocket's GET would need another right
than the launcher's Role grants. A pod that is still starting is waited for, which the real kubectl does not do.
"""

from __future__ import annotations

import http.client
import json
import os
import selectors
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from shunter.cluster.node.streams import spdy_frames as frames
from shunter.kube.tls.certificates import verifying

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PROTOCOL = "v4.channel.k8s.io"
STARTING_SECONDS = 60.0
"""How long a pod may take until its container runs."""
_LOOK_SECONDS = 0.2
_PIECE = 64 * 1024
_STREAMS = {1: "error", 3: "stdout", 5: "stderr", 7: "stdin"}
_OWN_FAULT = 1
"""kubectl's exit status when it, not the command, failed."""


class Problem(Exception):
    """What went wrong, in kubectl's words where it has some."""


class Request(NamedTuple):
    """What the command line asks for. An empty `container` is the pod's default one, an empty `namespace` that of the pod which
    asks."""

    pod: str
    command: tuple[str, ...]
    container: str = ""
    namespace: str = ""
    has_input: bool = False


class Server(NamedTuple):
    """The API server, and as whom it is asked."""

    host: str
    port: int
    token: str
    namespace: str
    tls: ssl.SSLContext

    def connect(self) -> ssl.SSLSocket:
        """A new connection, whose certificate was checked. Raises OSError."""
        return self.tls.wrap_socket(socket.create_connection((self.host, self.port)), server_hostname=self.host)


def main() -> None:
    """Ends with the command's exit status."""
    try:
        request = parsed(sys.argv[1:])
        server = in_cluster(os.environ)
        request = request._replace(namespace=request.namespace or server.namespace)
        code = run(server, request._replace(container=running_container(server, request)))
    except (Problem, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        code = _OWN_FAULT
    sys.exit(code)


def parsed(arguments: list[str]) -> Request:
    """The command line. Raises Problem for what is no `exec`."""
    if arguments[:1] != ["exec"]:
        raise Problem(
            "this kubectl, provided by the Shunter node, only supports: kubectl exec [-i] [-c CONTAINER] POD -- COMMAND"
        )
    position = arguments.index("--") if "--" in arguments else len(arguments)
    own, command = arguments[1:position], arguments[position + 1 :]
    named: dict[str, str] = {}
    pods: list[str] = []
    rest = iter(own)
    for argument in rest:
        flag, given, value = argument.partition("=")
        if flag in ("-i", "--stdin"):
            named["i"] = value or "true"
        elif flag in ("-c", "--container", "-n", "--namespace"):
            named[flag.lstrip("-")[0]] = value if given else next(rest, "")
        elif flag.startswith("-"):
            raise Problem(f"unknown flag: {flag}")
        else:
            pods.append(argument.removeprefix("pod/").removeprefix("pods/"))
    if len(pods) != 1 or not command:
        raise Problem("you must specify one pod, and after -- at least one command for the container")
    return Request(pods[0], tuple(command), named.get("c", ""), named.get("n", ""), named.get("i") == "true")


def in_cluster(environment: os._Environ[str] | dict[str, str], account: Path = ACCOUNT) -> Server:
    """The API server by the variables of a pod. Raises Problem outside of one."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise Problem("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod of a cluster")
    try:
        token, namespace = ((account / name).read_text().strip() for name in ("token", "namespace"))
        tls = verifying((account / "ca.crt").read_bytes())
    except OSError as error:
        raise Problem(f"no service account in this pod: {error}") from error
    return Server(host, int(port), token, namespace, tls)


def running_container(server: Server, request: Request) -> str:
    """The container that is meant, once it runs: kubectl's default is the annotated one, else the first."""
    deadline = time.monotonic() + STARTING_SECONDS
    while True:
        pod = _get(server, f"/api/v1/namespaces/{quote(request.namespace)}/pods/{quote(request.pod)}")
        annotated = pod["metadata"].get("annotations", {}).get("kubectl.kubernetes.io/default-container", "")
        container = request.container or annotated or pod["spec"]["containers"][0]["name"]
        status = pod.get("status", {})
        if status.get("phase") in ("Succeeded", "Failed"):
            raise Problem(f"cannot exec into a container in a completed pod; current phase is {status['phase']}")
        states = [one.get("state", {}) for one in status.get("containerStatuses", []) if one["name"] == container]
        if any("running" in state for state in states):
            return str(container)
        if time.monotonic() > deadline:
            raise Problem(f"container {container} of pod {request.pod} did not run within {STARTING_SECONDS:g} s")
        time.sleep(_LOOK_SECONDS)


def run(server: Server, request: Request) -> int:
    """Runs the command, copies its streams, and returns its exit status. Raises Problem when it could not be run."""
    with server.connect() as connection:
        received = _upgrade(server, connection, request)
        return _Session(connection, has_input=request.has_input).run(received)


def _get(server: Server, path: str) -> Any:
    connection = http.client.HTTPSConnection(server.host, server.port, context=server.tls)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
        response = connection.getresponse()
        body = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise Problem(_complaint(body))
    return json.loads(body)


def _upgrade(server: Server, connection: ssl.SSLSocket, request: Request) -> bytes:
    """Turns the connection into one of SPDY frames; returns the first bytes of them."""
    query = [("container", request.container), ("stdout", "true"), ("stderr", "true")]
    query += [("stdin", "true")] if request.has_input else []
    query += [("command", word) for word in request.command]
    path = f"/api/v1/namespaces/{quote(request.namespace)}/pods/{quote(request.pod)}/exec?{urlencode(query)}"
    headers = {
        "Host": f"{server.host}:{server.port}",
        "Authorization": f"Bearer {server.token}",
        "Connection": "Upgrade",
        "Upgrade": "SPDY/3.1",
        "X-Stream-Protocol-Version": PROTOCOL,
        "Content-Length": "0",
    }
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    connection.sendall("\r\n".join(lines).encode())
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(_PIECE)
        if not piece:
            raise Problem("the API server closed the connection")
        received += piece
    head, _, rest = received.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1] == b"101":
        return rest
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(rest) < length and (piece := connection.recv(_PIECE)):
        rest += piece
    raise Problem(_complaint(rest))


class _Session:
    """The streams of one command: the client opens them, then each side writes until it ends its half."""

    def __init__(self, connection: ssl.SSLSocket, *, has_input: bool) -> None:
        self._connection = connection
        self._writer = frames.FrameWriter()
        self._reader = frames.FrameReader()
        self._has_input = has_input
        self._open = {1, 3, 5}
        self._verdict = b""

    def run(self, received: bytes) -> int:
        for number, kind in _STREAMS.items():
            if kind != "stdin" or self._has_input:
                self._send(frames.Open(number, {"streamtype": kind}, fin=False))
        self._take(received)
        for piece in self._pieces():
            self._take(piece)
            if not self._open:
                break
        return _exit_status(self._verdict)

    def _pieces(self) -> Iterator[bytes]:
        """What the server sends, while what is typed is sent to it; ends with the connection."""
        with selectors.PollSelector() as selector:
            selector.register(self._connection, selectors.EVENT_READ)
            if self._has_input:
                selector.register(sys.stdin.buffer, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is not self._connection:
                        if not self._pass_on():
                            selector.unregister(sys.stdin.buffer)
                        continue
                    # A TLS record may hold more than was asked for, of which a selector knows nothing.
                    piece = self._connection.recv(_PIECE)
                    while self._connection.pending():
                        piece += self._connection.recv(_PIECE)
                    if not piece:
                        return
                    yield piece

    def _pass_on(self) -> bool:
        """Sends what was typed; False at its end."""
        data = os.read(sys.stdin.fileno(), _PIECE)
        self._send(frames.Data(7, data, fin=not data))
        return bool(data)

    def _take(self, received: bytes) -> None:
        for frame in self._reader.feed(received):
            match frame:
                case frames.Data(stream, data, fin):
                    self._show(stream, data)
                    if fin:
                        self._open.discard(stream)
                case frames.Reset(stream):
                    self._open.discard(stream)
                case frames.GoAway():
                    self._open.clear()
                case frames.Ping():
                    self._send(frame)
                case _:
                    pass

    def _show(self, stream: int, data: bytes) -> None:
        match _STREAMS.get(stream):
            case "error":
                self._verdict += data
            case "stdout":
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
            case "stderr":
                sys.stderr.buffer.write(data)
                sys.stderr.buffer.flush()

    def _send(self, frame: frames.Frame) -> None:
        self._connection.sendall(self._writer.encode(frame))


def _exit_status(verdict: bytes) -> int:
    """From the Status at the command's end. Raises Problem when it did not run, or its end is unknown."""
    if not verdict:
        raise Problem("the connection was lost before the command ended")
    status = json.loads(verdict)
    if status.get("status") == "Success":
        return 0
    causes = (status.get("details") or {}).get("causes") or []
    code = next((cause.get("message", "") for cause in causes if cause.get("reason") == "ExitCode"), "")
    if not code.isdecimal():
        raise Problem(str(status.get("message", "")))
    print(f"command terminated with exit code {code}", file=sys.stderr)
    return int(code)


def _complaint(body: bytes) -> str:
    """The API server's refusal as kubectl prints it."""
    try:
        status = json.loads(body)
        return f"Error from server ({status['reason']}): {status['message']}"
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace").strip() or "the API server rejected this without a message"
