"""exec, attach and port-forward on a real node: where commands run, what they may, and how each of them ends."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from cluster.node.stream_client import ERROR, RESIZE, STDERR, STDIN, STDOUT, StreamClient, stream_client
from shunter.api.resources import NODES
from shunter.cluster.node.runtime.protocol import Level

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

pytestmark = pytest.mark.e2e
EVERYWHERE = pytest.mark.parametrize("level", [None, Level.PLAIN], ids=["best", "plain"])


@pytest.fixture
async def streams(api_server: Any, node: NodeUnderTest) -> AsyncIterator[StreamClient]:
    async with stream_client(api_server, node.namespace) as client:
        yield client


async def has_namespaces(node: NodeUnderTest) -> bool:
    annotations = (await node.client.get(NODES, node.name, view=dict))["metadata"]["annotations"]
    return bool(annotations["shunter.dev/level"] == "namespaces")


async def start(node: NodeUnderTest, script: str = "sleep 600", name: str = "p", **container: Any) -> None:
    main = {"name": "main", "image": "any", "command": ["sh", "-c", script], **container}
    await node.create(name, {"containers": [main], "terminationGracePeriodSeconds": 0, "restartPolicy": "Never"})
    await node.ready(name)


@EVERYWHERE
async def test_a_command_has_the_containers_environment_directory_and_outputs(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node, env=[{"name": "COLOR", "value": "blue"}], workingDir="/tmp")
    code, out, err = await streams.run("p", 'echo "$COLOR $HOSTNAME"; echo trouble >&2; kill -9 $$')
    assert (code, out, err) == (137, "blue p\n", "trouble\n")
    own = await streams.run("p", "pwd; echo ${TERM-none}")
    assert own[1].splitlines()[1] == "none"
    if await has_namespaces(node):
        assert own[1] == "/tmp\nnone\n"


@EVERYWHERE
async def test_commands_and_containers_have_no_descriptors_but_their_own(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node, "ls /proc/self/fd; sleep 600")
    _, out, _ = await streams.run("p", "ls /proc/self/fd")
    assert out.split() == ["0", "1", "2", "3"]
    assert (await node.log("p")).split() == ["0", "1", "2", "3"]


async def test_a_command_is_in_the_containers_namespaces_and_limits_with_its_rights_and_no_more(
    node: NodeUnderTest, streams: StreamClient
) -> None:
    if not await has_namespaces(node):
        pytest.skip("this machine has no level namespaces")
    await start(
        node,
        resources={"limits": {"memory": "64Mi"}},
        securityContext={"capabilities": {"drop": ["ALL"], "add": ["KILL"]}},
    )
    compare = (
        "for kind in mnt net uts pid ipc user; do "
        '[ "$(readlink /proc/1/ns/$kind)" = "$(readlink /proc/self/ns/$kind)" ] || echo $kind differs; done; '
        "grep -h CapBnd /proc/1/status /proc/self/status | uniq | wc -l; "
        '[ "$(cat /proc/1/cgroup /proc/self/cgroup | sort -u)" = "$(sort -u /proc/1/cgroup)" ] || echo cgroups differ; '
        "hostname; ls -d /proc/[0-9]* | wc -l"
    )
    code, out, err = await streams.run("p", compare)
    assert (code, err) == (0, "")
    same_rights, hostname, processes = out.split()
    assert (same_rights, hostname) == ("1", "p")
    assert int(processes) < 12, "a command sees its container's processes only"


@EVERYWHERE
@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", "v4.channel.k8s.io"])
async def test_input_comes_through_in_both_protocols(node: NodeUnderTest, streams: StreamClient, protocol: str) -> None:
    await start(node)
    text = os.urandom(700_000)
    command = ["sh", "-c", f"head -c {len(text)} | sha256sum; exit 4"]
    async with streams.converse("p", "exec", protocol=protocol, command=command, stdin=1) as conversation:
        for begin in range(0, len(text), 99_999):
            await conversation.send(STDIN, text[begin : begin + 99_999])
        assert await conversation.exit_code() == 4
    assert conversation.output().split()[0] == sha256(text).hexdigest()


async def test_text_messages_are_input_too_as_the_python_client_sends_them(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node)
    async with streams.converse("p", "exec", protocol="v4.channel.k8s.io", command=["head", "-n1"], stdin=1) as conversation:
        await conversation.socket.send_str("\0gr\u00fcn\n")
        assert await conversation.exit_code() == 0
    assert conversation.output() == "gr\u00fcn\n"


@EVERYWHERE
async def test_the_end_of_input_reaches_the_command(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node)
    async with streams.converse("p", "exec", command=["wc", "-c"], stdin=1) as conversation:
        await conversation.send(STDIN, b"12345")
        await conversation.close_input()
        assert await conversation.exit_code() == 0
    assert conversation.output().strip() == "5"


@EVERYWHERE
async def test_a_terminal_has_a_size_and_hangs_up_with_its_client(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node)
    out = "/tmp/out" if await has_namespaces(node) else str(node.directory.parent / "out")
    command = ["sh", "-c", f"trap 'echo hung up > {out}; exit' HUP; echo $TERM; while :; do sleep .1; stty size; done"]
    async with streams.converse("p", "exec", command=command, stdin=1, stderr=0, tty=1) as conversation:
        await conversation.resize(101, 33)
        await conversation.until(lambda channels: b"33 101\r\n" in channels.get(STDOUT, b""))
        assert conversation.output().startswith("xterm\r\n")
        await conversation.resize(55, 11)
        await conversation.until(lambda channels: b"11 55\r\n" in channels.get(STDOUT, b""))

    async def hung_up() -> bool:
        return (await streams.run("p", f"cat {out}"))[1] == "hung up\n"

    await node.until(hung_up)


@EVERYWHERE
async def test_a_command_does_not_outlive_its_container(node: NodeUnderTest, streams: StreamClient) -> None:
    go, inside = node.directory.parent / "go", f"/tmp/{node.namespace}-go"
    await start(node, f"while [ ! -e {go} -a ! -e {inside} ]; do sleep .05; done")
    async with streams.converse("p", "exec", command=["sh", "-c", "echo on; sleep 602"]) as conversation:
        await conversation.until(lambda channels: channels.get(STDOUT) == b"on\n")
        if await has_namespaces(node):
            await streams.run("p", f"touch {inside}")
        else:
            go.touch()
        assert await conversation.exit_code() == 137


async def test_what_cannot_be_started_is_said_in_runcs_words(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node)
    for command, why in {"no-such": "executable file not found in $PATH", "/etc/passwd": "permission denied"}.items():
        async with streams.converse("p", "exec", command=[command]) as conversation:
            status = json.loads((await conversation.end())[ERROR])
        assert (status["code"], status["reason"]) == (500, "InternalError")
        assert f'unable to start container process: exec: "{command}": {why}' in status["message"]


async def test_messages_that_make_no_sense_harm_nobody(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node)
    async with streams.converse("p", "exec", command=["cat"], stdin=1, tty=1, stderr=0) as conversation:
        for noise in (b"", b"\x09unknown channel", b"\xff", b"\xff\x07", b"\x01to stdout", bytes([RESIZE]) + b"{not json"):
            await conversation.socket.send_bytes(noise)
        await conversation.resize(80, 24)
        await conversation.send(STDIN, b"still here\n")
        await conversation.until(lambda channels: b"still here\r\nstill here\r\n" in channels.get(STDOUT, b""))


async def test_a_message_that_is_too_long_ends_the_session(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node)
    async with streams.converse("p", "exec", command=["cat"], stdin=1) as conversation:
        try:
            await conversation.send(STDIN, bytes(33 * 1024 * 1024))
            await conversation.end()
        except (ConnectionError, aiohttp.ClientError):
            pass
    assert (await streams.run("p", "echo fine"))[1] == "fine\n"


async def test_input_that_was_not_asked_for_is_dropped(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node)
    async with streams.converse("p", "exec", command=["sh", "-c", "cat; sleep .3; echo over"]) as conversation:
        await conversation.send(STDIN, b"lost")
        assert await conversation.exit_code() == 0
    assert conversation.output() == "over\n"


@EVERYWHERE
async def test_attach_shows_raw_output_and_ends_with_the_container(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node, "cat; printf 'no newline'; printf 'trouble' >&2", stdin=True, stdinOnce=True)
    async with streams.converse("p", "attach", stdin=1) as conversation, streams.converse("p", "attach") as watcher:
        await conversation.send(STDIN, b"one\n")
        # Who types may be attached before who watches.
        await conversation.until(lambda channels: channels.get(STDOUT) == b"one\n")
        watching = asyncio.create_task(watcher.until(lambda channels: b"two\n" in channels.get(STDOUT, b"")))
        while not watching.done():
            await conversation.send(STDIN, b"two\n")
            await asyncio.wait((watching,), timeout=0.05)
        watching.result()
        await conversation.close_input()
        assert await conversation.exit_code() == 0
        assert await watcher.exit_code() == 0
    assert conversation.output().startswith("one\ntwo\n")
    assert conversation.output().endswith("no newline")
    assert watcher.output().endswith("two\nno newline")
    assert (conversation.output(STDERR), watcher.output(STDERR)) == ("trouble", "trouble")
    await node.finished("p")
    log = await node.log("p")
    assert log.startswith("one\ntwo\n")
    assert log.endswith("two\nno newlinetrouble")


async def test_a_container_keeps_its_input_when_clients_leave_unless_it_is_once(
    node: NodeUnderTest, streams: StreamClient
) -> None:
    def has_got(word: bytes, channels: dict[int, bytes]) -> bool:
        return b"got " + word in channels.get(STDOUT, b"")

    await start(node, "while read line; do echo got $line; done", stdin=True)
    for word in (b"first\n", b"second\n"):
        async with streams.converse("p", "attach", stdin=1) as conversation:
            await conversation.send(STDIN, word)
            await conversation.until(partial(has_got, word))
            await conversation.close_input()
            assert await conversation.exit_code() == 0
    assert (await node.pod("p"))["status"]["phase"] == "Running"


async def test_a_container_with_a_terminal_logs_and_shows_the_same(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node, "tty; echo $TERM; read line; stty size; echo got $line >&2", tty=True, stdin=True)
    async with streams.converse("p", "attach", stdin=1, tty=1, stderr=0) as conversation:
        await conversation.resize(71, 17)
        await asyncio.sleep(0)
        await conversation.send(STDIN, b"a line\n")
        assert await conversation.exit_code() == 0
    assert conversation.output().endswith("got a line\r\n")
    await node.finished("p")
    log = await node.log("p")
    assert log.startswith("/dev/pts/0\r\nxterm\r\n")
    assert log.endswith("got a line\r\n")


async def test_a_restarted_agent_attaches_and_executes_in_containers_of_the_one_before(
    node: NodeUnderTest, streams: StreamClient
) -> None:
    await start(node, "while read line; do echo got $line; done", stdin=True)
    await node.stop()
    await node.start()
    assert (await streams.run("p", "echo in"))[1] == "in\n"
    async with streams.converse("p", "attach", stdin=1) as conversation:
        await conversation.send(STDIN, b"word\n")
        await conversation.until(lambda channels: channels.get(STDOUT) == b"got word\n")


async def test_an_agent_that_stops_leaves_no_session_behind(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node)
    async with streams.converse("p", "exec", command=["cat"], stdin=1) as conversation:
        await conversation.send(STDIN, b"x")
        await conversation.until(lambda channels: channels.get(STDOUT) == b"x")
        async with asyncio.timeout(10):
            await node.stop()
        await conversation.end()


LISTEN = (
    "import socket\nfor port in (7001, 7002):\n s = socket.create_server(('{address}', port))\n"
    " import threading\n def serve(s=s):\n  while True:\n   c, _ = s.accept(); d = c.recv(99); c.sendall(d.upper()); c.close()\n"
    " threading.Thread(target=serve).start()"
)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
async def test_ports_of_the_pods_own_loopback_are_forwarded(node: NodeUnderTest, streams: StreamClient, address: str) -> None:
    family = ", family=socket.AF_INET6" if ":" in address else ""
    script = LISTEN.format(address=address).replace("', port))", f"', port){family})")
    await start(node, f'exec python3 -c "{script}"')

    async def answers() -> bool:
        return (await streams.run("p", "grep -qi ':1B5A ' /proc/net/tcp /proc/net/tcp6"))[0] == 0

    await node.until(answers)
    async with streams.forward("p", 7001, 7002) as conversation:
        for index in (0, 1):
            await conversation.send(2 * index, b"hello")
        channels = await conversation.end()
    assert (channels[0][2:], channels[2][2:]) == (b"HELLO", b"HELLO")
    assert (channels[1][2:], channels[3][2:]) == (b"", b"")


@EVERYWHERE
async def test_a_port_that_nobody_listens_on_is_an_error_on_its_own_channel(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node)
    async with streams.forward("p", 9) as conversation:
        channels = await conversation.end()
    uid = (await node.pod("p"))["metadata"]["uid"]
    why = f"error forwarding port 9 to pod p, uid {uid}: failed to execute portforward: failed to connect to localhost:9"
    assert channels[1][2:].decode().startswith(why)


@pytest.mark.parametrize("ports", ["", "0", "70000", "http", "1,x", ",".join(map(str, range(1, 200)))])
async def test_ports_that_are_none_are_refused(node: NodeUnderTest, streams: StreamClient, ports: str) -> None:
    await start(node)
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await streams.session.ws_connect(streams.path("p", "portforward", {"ports": ports}), protocols=("v4.channel.k8s.io",))
    assert refused.value.status == 400


SPDY = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}


@pytest.mark.parametrize(
    ("kind", "query", "headers", "status", "message"),
    [
        pytest.param("exec", {"stdout": 1}, SPDY, 400, "at least 1 command", id="no command"),
        pytest.param("exec", {"command": "x"}, SPDY, 400, "at least 1 of stdin, stdout, stderr", id="no stream"),
        pytest.param("exec", {"command": "x", "stdout": 1}, SPDY, 400, "X-Stream-Protocol-Version does not", id="no version"),
        pytest.param(
            "exec",
            {"command": "x", "stdout": 1},
            {**SPDY, "X-Stream-Protocol-Version": "v9.channel.k8s.io"},
            403,
            "unable to negotiate protocol: client supports [v9.channel.k8s.io], server accepts [v4.channel.k8s.io]",
            id="a version from the future",
        ),
        pytest.param("portforward", {}, {**SPDY, "Upgrade": "h2c"}, 400, "unable to upgrade", id="another protocol"),
    ],
)
async def test_requests_that_cannot_be_upgraded_are_told_why(
    node: NodeUnderTest, streams: StreamClient, kind: str, query: Any, headers: Any, status: int, message: str
) -> None:
    await start(node)
    async with streams.session.post(streams.path("p", kind, query), headers=headers) as answer:
        assert answer.status == status
        assert message in await answer.text()


async def test_a_websocket_protocol_that_nobody_speaks_is_refused(node: NodeUnderTest, streams: StreamClient) -> None:
    await start(node)
    for kind in ("exec", "portforward"):
        path = streams.path("p", kind, {"command": "x", "stdout": 1, "ports": "1"})
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await streams.session.ws_connect(path, protocols=("v9.channel.k8s.io",))
        assert refused.value.status == 403


async def test_containers_that_do_not_run_are_refused_as_by_kubelet(node: NodeUnderTest, streams: StreamClient) -> None:
    await node.run_shell("over", "true")
    for kind, message in {"exec": 'container not found ("main")', "portforward": 'pod not found ("over_'}.items():
        query = {"command": "x", "stdout": 1}
        async with streams.session.post(streams.path("over", kind, query), headers=SPDY) as answer:
            assert answer.status == 500
            assert message in await answer.text()


@pytest.mark.parametrize("level", [Level.SIMULATED], ids=["simulated"])
async def test_simulated_pods_say_that_there_is_nothing_to_run_in(node: NodeUnderTest, streams: StreamClient) -> None:
    await node.create("p", {"containers": [{"name": "main", "image": "any"}]})
    await node.ready("p")
    for kind in ("exec", "attach", "portforward"):
        async with streams.session.post(streams.path("p", kind, {"command": "x", "stdout": 1}), headers=SPDY) as answer:
            assert answer.status == 501
            assert "simulates its pods: no process in p" in await answer.text()
