"""The agent's side of the launcher: starts it, sends requests, starts it again when it was killed.

Containers do not depend on the launcher: their supervisors outlive it. So a launcher that died is simply replaced.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from shunter.cluster.node.launch import sockets, user_namespace
from shunter.cluster.node.launch.forking import entry_point
from shunter.cluster.node.launch.requests import packed
from shunter.cluster.node.runtime.forking_process import start_forking
from shunter.cluster.node.runtime.launcher_call import LauncherCall, LauncherError
from shunter.cluster.node.runtime.warm_parents import WarmParent

__all__ = ["Launcher", "LauncherError"]


class Launcher:
    """One launcher process. Requests may be sent from one event loop only; they run at the same time.

    With a holder file it works in the node's user namespace, so that pods have a network that this process is not in.
    """

    def __init__(self, log_path: Path, *, holder_file: Path | None = None) -> None:
        self._log_path = log_path
        self._holder_file = holder_file
        self._process: asyncio.subprocess.Process | None = None
        self._socket: socket.socket | None = None

    @property
    def generation(self) -> str:
        """Identifies the lifetime of the kernel objects behind sandboxes: they are gone after a reboot, or when their holder has
        ended."""
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        if self._holder_file is None:
            return boot
        return f"{boot} {user_namespace.start_time(user_namespace.holder(str(self._holder_file)))}"

    @property
    def holder_file(self) -> Path | None:
        """The file that names the holder of the launcher's user namespace, if it works in one."""
        return self._holder_file

    @property
    def is_root(self) -> bool:
        """Whether containers can run as any user: in a user namespace there is only one."""
        return self._holder_file is None and os.geteuid() == 0

    async def start(self) -> None:
        """Starts the process; returns before it is ready, as requests wait in its socket."""
        self._process, self._socket = await start_forking(
            [sys.executable, "-I", "-S", "-c", entry_point("zygote")], log_path=self._log_path, holder_file=self._holder_file
        )

    async def stop(self) -> None:
        """Ends the launcher. Containers go on."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            await self._process.wait()
            self._process = None

    async def run_attempt(self, directory: Path, warm: WarmParent | None = None) -> int:
        """Starts the attempt in `directory`, from a warm parent if there is one; returns the read end of its events FIFO (see
        launch.attempt)."""
        path = f"{directory}/events"
        os.mkfifo(f"{directory}/control", 0o600)
        os.mkfifo(path, 0o600)
        events = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        right_to_run = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            request = {"do": "run", "directory": str(directory)}
            if warm is None or not warm.send(request, right_to_run):
                await self._send(request, right_to_run)
        except BaseException:
            os.close(events)
            raise
        finally:
            os.close(right_to_run)
        return events

    async def request(self, do: str, **arguments: Any) -> Any:
        """The launcher's answer. Raises LauncherError when it failed or was killed meanwhile, OSError when it cannot be asked."""
        answer, _ = await self._ask(do, arguments, descriptors=0)
        return answer

    async def create_pod(self, **arguments: Any) -> socket.socket | None:
        """Creates a pod's namespaces and network (launch.sandbox). Returns a socket to find listeners in its network
        (launch.listening); None for a pod without a network of its own, and where the kernel does not support it. Raises OSError
        or LauncherError."""
        _, received = await self._ask("pod", arguments, descriptors=1)
        return received[0] if received else None

    async def name_server_sockets(self, address: str, port: int) -> tuple[socket.socket, socket.socket]:
        """A UDP and a TCP socket bound in the pods' network. Raises OSError or LauncherError."""
        if self._holder_file is None:
            return sockets.bound_sockets(address, port)
        _, (udp, tcp) = await self._ask("sockets", {"role": "name server", "address": address, "port": port}, descriptors=2)
        return udp, tcp

    async def listener(self, address: str, port: int) -> socket.socket:
        """A TCP socket bound in the pods' network. Raises OSError or LauncherError."""
        if self._holder_file is None:
            return sockets.listener(address, port)
        _, (listener,) = await self._ask("sockets", {"role": "listener", "address": address, "port": port}, descriptors=1)
        return listener

    async def connect(self, address: str, port: int, timeout: float) -> socket.socket:
        """A TCP connection into the pods' network within `timeout` seconds. Raises OSError (TimeoutError among them)."""
        if self._holder_file is None:
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            connection.setblocking(False)
            try:
                async with asyncio.timeout(timeout):
                    await asyncio.get_running_loop().sock_connect(connection, (address, port))
            except BaseException:
                connection.close()
                raise
            return connection
        arguments = {"role": "client", "address": address, "port": port, "timeout": timeout}
        try:
            _, (connection,) = await self._ask("sockets", arguments, descriptors=1)
        except LauncherError as error:
            raise OSError(error.errno, error.message) if error.errno else ConnectionError(error.message) from error
        return connection

    async def connect_inside(self, namespace: str, port: int, timeout: float) -> socket.socket:
        """A TCP connection to the loopback of the network namespace bound to a file, or, without one, of the network that pods
        share with the node. Raises LauncherError."""
        call = await self.begin("connect inside", namespace=namespace, port=port, timeout=timeout)
        connection = socket.socket(fileno=call.descriptors.pop())
        connection.setblocking(False)
        call.close()
        return connection

    async def begin(self, do: str, **arguments: Any) -> LauncherCall:
        """Starts a request; returns the call once its descriptors are there. Raises LauncherError when it failed."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        try:
            with theirs:
                await self._send({"do": do, **arguments}, theirs.fileno())
        except BaseException:
            ours.close()
            raise
        return await LauncherCall.receive(ours)

    async def _ask(self, do: str, arguments: dict[str, Any], *, descriptors: int) -> tuple[Any, list[socket.socket]]:
        """The answer to a request, and the sockets that came with it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        with ours:
            with theirs:
                await self._send({"do": do, **arguments}, theirs.fileno())
            received, data = await _receive_all(ours, descriptors)
        if not data.strip():
            raise LauncherError(f"the launcher was killed while it handled {do!r}")
        reply = json.loads(data)
        if "error" in reply:
            error = LauncherError(reply["error"])
            error.errno = reply.get("errno", 0)
            raise error
        return reply.get("result"), received

    async def _send(self, request: dict[str, Any], descriptor: int) -> None:
        message = packed(request)
        if self._process is None or self._process.returncode is not None:
            await self.start()
        assert self._socket is not None
        try:
            socket.send_fds(self._socket, [message], [descriptor])
        except (BrokenPipeError, ConnectionResetError):
            await self.start()
            socket.send_fds(self._socket, [message], [descriptor])


async def _receive_all(channel: socket.socket, descriptors: int) -> tuple[list[socket.socket], bytes]:
    """All bytes that a child writes until it closes its end, and the sockets it sends with them."""
    loop = asyncio.get_running_loop()
    received: list[socket.socket] = []
    data = b""
    readable = asyncio.Event()
    loop.add_reader(channel, readable.set)
    try:
        while True:
            await readable.wait()
            readable.clear()
            try:
                chunk, numbers, _, _ = socket.recv_fds(channel, 65536, descriptors)
            except BlockingIOError:
                continue
            for number in numbers:
                received.append(socket.socket(fileno=number))
                received[-1].setblocking(False)
            if not chunk:
                return received, data
            data += chunk
    finally:
        loop.remove_reader(channel)
