"""Running a handler of a container (exec, httpGet, tcpSocket, grpc), for lifecycle hooks and probes alike."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

from shunter.api.meta import Json
from shunter.cluster.dial_errors import dial_error, system_error
from shunter.cluster.node.content.mounts import Mount
from shunter.cluster.node.content.substitution import substituted_paths
from shunter.cluster.node.launch import attempt
from shunter.cluster.node.pod.grpc_probe import USER_AGENT, health_complaint
from shunter.cluster.node.runtime.launcher import Launcher, LauncherError
from shunter.kube.http.connection import host_port

_TOO_LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


async def run_hook(launcher: Launcher, directory: Path, container: Json, handler: Json, *, address: str, timeout: float) -> str:
    """Carries out a handler once; returns what went wrong, in kubelet's words, or nothing. `timeout` is in seconds."""
    if "exec" in handler:
        return await _execute(launcher, directory, handler["exec"].get("command") or [], timeout)
    if "httpGet" in handler:
        return await _http_get(launcher, container, handler["httpGet"], address, timeout)
    if "tcpSocket" in handler:
        return await _connect(launcher, container, handler["tcpSocket"], address, timeout)
    if "grpc" in handler:
        target = handler["grpc"]
        return await health_complaint(launcher, address, target["port"], target.get("service") or "", timeout=timeout)
    if "sleep" in handler:
        await asyncio.sleep(min(float(handler["sleep"].get("seconds") or 0), timeout))
        return ""
    # What else a probe has are numbers.
    kind = next((name for name, value in handler.items() if isinstance(value, dict)), "none")
    return f"handler {kind} is not supported by this node"


def port_number(container: Json, port: int | str) -> int:
    """A port given by number or by the name of one of the container's ports. Raises ValueError."""
    if isinstance(port, int) or str(port).isdecimal():
        return int(port)
    for declared in container.get("ports") or ():
        if declared.get("name") == port:
            return int(declared["containerPort"])
    raise ValueError(f"couldn't find port: {port}")


async def _execute(launcher: Launcher, directory: Path, argv: list[str], timeout: float) -> str:
    # At level plain, whose containers have their volumes elsewhere.
    paths = (attempt.read_json(f"{directory}/spec.json") or {}).get("paths") or {}
    mounts = [Mount(source, target, read_only=False) for target, source in paths.items()]
    words = [substituted_paths(word, mounts) for word in argv]
    try:
        answer = await launcher.request("execute", directory=str(directory), argv=words, timeout=timeout)
    except LauncherError as error:
        return error.message
    if answer["exit_code"] is None:
        return f"command timed out after {timeout:g}s"
    return "" if answer["exit_code"] == 0 else str(answer["output"]) or f"exit code {answer['exit_code']}"


async def _connect(launcher: Launcher, container: Json, target: Json, address: str, timeout: float) -> str:
    host = str(target.get("host") or address)
    try:
        port = port_number(container, target["port"])
    except ValueError as error:
        return str(error)
    try:
        (await launcher.connect(host, port, timeout)).close()
    except OSError as error:
        return dial_error(host_port(host, port), error)
    return ""


async def _http_get(launcher: Launcher, container: Json, target: Json, address: str, timeout: float) -> str:
    host, path = str(target.get("host") or address), str(target.get("path") or "/")
    secure = str(target.get("scheme") or "HTTP").upper() == "HTTPS"
    try:
        port = port_number(container, target["port"])
    except ValueError as error:
        return str(error)
    path = path if path.startswith("/") else f"/{path}"
    place = host_port(host, port)
    url = f"{'https' if secure else 'http'}://{place}{path}"
    headers = {"Host": place, "User-Agent": USER_AGENT, "Accept": "*/*", "Connection": "close"}
    headers.update({one["name"]: one["value"] for one in target.get("httpHeaders") or ()})
    request = f"GET {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
    deadline = asyncio.get_running_loop().time() + timeout
    try:
        connection = await launcher.connect(host, port, timeout)
    except TimeoutError:
        return f'Get "{url}": {_TOO_LATE}'
    except OSError as error:
        return f'Get "{url}": {dial_error(place, error)}'
    try:
        async with asyncio.timeout_at(deadline):
            reader, writer = await asyncio.open_connection(
                sock=connection, ssl=_unverified() if secure else None, server_hostname=host if secure else None
            )
            writer.write(request.encode())
            answer = await reader.readline()
            writer.close()
        status = int(answer.split()[1])
    except TimeoutError:
        return f'Get "{url}": {_TOO_LATE}'
    except ssl.SSLError as error:
        return f'Get "{url}": {_of_tls(error)}'
    except OSError as error:
        return f'Get "{url}": {system_error(error)}'
    except (IndexError, ValueError):
        return f'Get "{url}": {"malformed HTTP response" if answer else "EOF"}'
    return "" if 200 <= status < 400 else f"HTTP probe failed with statuscode: {status}"


def _of_tls(error: ssl.SSLError) -> str:
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
        return "http: server gave HTTP response to HTTPS client"
    return f"tls: {error.reason or error}"


def _unverified() -> ssl.SSLContext:
    """A probe does not verify certificates (kubelet neither): it asks whether something answers."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
