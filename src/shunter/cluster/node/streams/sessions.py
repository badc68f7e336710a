"""What happens between a client and a command: bytes both ways until the command ends. Source: containerd 2.1 (`cri/io`).

When the client goes away its command is not killed: its input ends and its output is thrown away, as with containerd. A terminal,
though, hangs up (SIGHUP), as terminals do: otherwise every dropped connection would leave a shell behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.cancelling import cancelled
from shunter.cluster.node.descriptors import Descriptor
from shunter.cluster.node.runtime.launcher import Launcher
from shunter.cluster.node.runtime.launcher_call import LauncherCall, LauncherError
from shunter.cluster.node.streams.remote_command import (
    SUCCESS,
    CommandClient,
    CommandOptions,
    exit_status,
    internal_error,
)

_UNWATCHED_SECONDS = 0.01
"""Between two pieces (64 KiB) of output without a client."""


class RunningContainer(NamedTuple):
    """A container that commands can be run in: its attempt, and its part of the pod's spec."""

    directory: Path
    spec: Json


class _Ends(NamedTuple):
    """Our ends of a command's streams. With a terminal input, output and sizes are one descriptor."""

    input: Descriptor | None
    outputs: dict[str, Descriptor]
    terminal: Descriptor | None = None

    def close(self) -> None:
        for descriptor in (self.input, *self.outputs.values(), self.terminal):
            if descriptor is not None:
                descriptor.close()


async def execute(
    launcher: Launcher, container: RunningContainer, argv: list[str], options: CommandOptions, client: CommandClient
) -> Json:
    """Runs a command for a client; returns the status that says how it ended."""
    try:
        call = await launcher.begin(
            "command", directory=str(container.directory), argv=argv, streams=options.streams, terminal=options.tty
        )
    except LauncherError as error:
        return internal_error(f"error executing command in container: failed to exec in container: {error.message}")
    ends = _command_ends(call, options)
    try:
        async with _Pumps() as pumps:
            outputs = pumps.start_outputs(client, ends.outputs)
            if options.stdin:
                pumps.start(_type(client, ends.input, keep_open=options.tty))
            if ends.terminal is not None:
                pumps.start(_resize(client, ends.terminal))
                pumps.start(_hang_up(client, ends.terminal))
            if ends.terminal is not None and not outputs:
                pumps.start(_drain(ends.terminal))
            code = (await call.result())["exit_code"]
            await _all(outputs)
    except LauncherError as error:
        return internal_error(f"error executing command in container: {error.message}")
    finally:
        client.ignore_input()
        ends.close()
        call.close()
    return exit_status(argv, code)


async def attach(launcher: Launcher, container: RunningContainer, options: CommandOptions, client: CommandClient) -> Json:
    """Shows a client what a container writes from now on, and the container what the client types; returns the last status."""
    try:
        call = await launcher.begin("attach", directory=str(container.directory), streams=options.streams)
    except LauncherError as error:
        return internal_error(f"error attaching to container: {error.message}")
    connection = Descriptor(call.descriptors.pop(0))
    has_terminal = bool(container.spec.get("tty"))
    ends = _attached_ends(call, options, has_terminal=has_terminal)
    try:
        async with _Pumps() as pumps:
            outputs = pumps.start_outputs(client, ends.outputs)
            endings = [pumps.start(client.wait_disconnected()), pumps.start(_all(outputs) if outputs else _drain(connection))]
            if options.stdin and container.spec.get("stdin"):
                once = bool(container.spec.get("stdinOnce")) and not has_terminal
                typing = pumps.start(_type(client, ends.input, keep_open=not once))
                if once:
                    typing.add_done_callback(lambda _: pumps.start(_say_no_more(connection)))
                else:
                    endings.append(typing)
            if ends.terminal is not None and options.tty:
                pumps.start(_resize(client, ends.terminal))
            await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
    finally:
        client.ignore_input()
        connection.close()
        ends.close()
        call.close()
    return SUCCESS


class _Pumps:
    """Tasks that move bytes while a session lasts; what is left of them at its end is cancelled."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> _Pumps:
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancelled(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        return task

    def start_outputs(self, client: CommandClient, outputs: dict[str, Descriptor]) -> list[asyncio.Task[None]]:
        return [self.start(_show(client, name, descriptor)) for name, descriptor in outputs.items()]


async def _show(client: CommandClient, name: str, output: Descriptor) -> None:
    """Output to the client; when that is gone, it is dropped."""
    with suppress(ConnectionError):
        while data := await output.read():
            await client.write_output(name, data)
    await _drain(output)


async def _drain(output: Descriptor) -> None:
    """Throws output away, unhurriedly: what has no client is not worth a processor."""
    while True:
        if not await output.read():
            return
        await asyncio.sleep(_UNWATCHED_SECONDS)


async def _all(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks)


async def _type(client: CommandClient, target: Descriptor | None, *, keep_open: bool) -> None:
    """The client's input to the command, which sees the end of it unless it is kept open."""
    with suppress(OSError):
        while target is not None and (data := await client.read_input()):
            await target.write(data)
    client.ignore_input()
    if target is not None and not keep_open:
        target.close()


async def _resize(client: CommandClient, terminal: Descriptor) -> None:
    while (size := await client.next_size()) is not None:
        with suppress(OSError):
            terminal.resize(*size)


async def _hang_up(client: CommandClient, terminal: Descriptor) -> None:
    await client.wait_disconnected()
    terminal.close()


async def _say_no_more(connection: Descriptor) -> None:
    with suppress(OSError):
        await connection.write(b".")


def _command_ends(call: LauncherCall, options: CommandOptions) -> _Ends:
    if options.tty:
        terminal = Descriptor(call.descriptors.pop())
        return _Ends(terminal if options.stdin else None, {"stdout": terminal} if options.stdout else {}, terminal)
    ends = {name: Descriptor(call.descriptors.pop(0)) for name in options.streams}
    stdin = ends.pop("stdin", None)
    return _Ends(stdin, ends)


def _attached_ends(call: LauncherCall, options: CommandOptions, *, has_terminal: bool) -> _Ends:
    outputs = {name: Descriptor(call.descriptors.pop(0)) for name in options.streams if name != "stdin"}
    target = Descriptor(call.descriptors.pop()) if call.descriptors else None
    return _Ends(target, outputs, target if has_terminal else None)
