"""kill -9 of the agent, the launcher and supervisors at any time: pods run on, nothing runs twice, nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.cluster.node.launch.attempt import read_json
from shunter.cluster.node.layout import PodDirectory
from shunter.cluster.node.pod import lifecycle
from shunter.cluster.node.runtime.launcher import Launcher, LauncherError
from shunter.cluster.node.runtime.protocol import Level

if TYPE_CHECKING:
    from cluster.api_server import RunningApiServer
    from cluster.node.conftest import NodeUnderTest

pytestmark = pytest.mark.e2e


@pytest.fixture(params=[None, Level.PLAIN], ids=["best-level", "plain"])
def level(request: pytest.FixtureRequest) -> Level | None:
    level: Level | None = request.param
    return level


class Agent:
    """The node in a process that can be killed."""

    def __init__(self, node: NodeUnderTest, api_server: RunningApiServer) -> None:
        self._command = [
            sys.executable, str(Path(__file__).with_name("node_process.py")), str(api_server.kubeconfig),
            str(api_server.state.pki), node.name, str(node.directory), node.level.value if node.level else "",
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
async def agent(node: NodeUnderTest, api_server: RunningApiServer) -> AsyncIterator[Agent]:
    """Takes the place of the node's in-process agent."""
    await node.stop()
    started = Agent(node, api_server)
    started.start()
    yield started
    started.kill()


def marked(script: str) -> Json:
    """A container that adds a line to a host file whenever it is started."""
    return {"name": "main", "image": "any", "command": ["sh", "-c", script], "volumeMounts": [{"name": "m", "mountPath": "/m"}]}


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    path = tmp_path / "marks"
    path.mkdir()
    return path


def volumes(marks: Path) -> list[Json]:
    return [{"name": "m", "hostPath": {"path": str(marks)}}]


async def test_a_pod_outlives_its_agent_and_the_next_agent_reports_its_end(
    node: NodeUnderTest, agent: Agent, marks: Path
) -> None:
    main = marked("echo x >> /m/starts; while [ ! -e /m/go ]; do sleep 0.05; done; exit 5")
    pod = await node.create("p", {"restartPolicy": "Never", "containers": [main], "volumes": volumes(marks)})
    await node.ready("p")
    agent.kill()
    state = node.attempts(pod["metadata"]["uid"]) / "0" / "state.json"
    os.kill(read_json(str(state))["pid"], 0)
    (marks / "go").touch()
    await node.eventually(lambda: "exit_code" in read_json(str(state)))
    agent.start()
    finished = await node.finished("p")
    assert finished["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 5
    assert (marks / "starts").read_text() == "x\n"


async def test_a_running_pod_is_adopted_and_can_be_stopped(node: NodeUnderTest, agent: Agent, marks: Path) -> None:
    main = marked("echo x >> /m/starts; echo up; sleep 60")
    await node.create("p", {"containers": [main], "volumes": volumes(marks), "terminationGracePeriodSeconds": 1})
    before = await node.ready("p")
    agent.kill()
    agent.start()
    await node.wait_for_log_server()
    assert await node.log("p") == "up\n"
    after = await node.ready("p")
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]
    await node.client.delete(PODS, "p", node.namespace)
    await node.gone("p")
    assert (marks / "starts").read_text() == "x\n"


async def test_a_pod_deleted_while_no_agent_runs_is_removed_by_the_next(node: NodeUnderTest, agent: Agent, marks: Path) -> None:
    main = marked("echo x >> /m/starts; sleep 60")
    pod = await node.create("p", {"containers": [main], "volumes": volumes(marks)})
    await node.ready("p")
    agent.kill()
    state = read_json(str(node.attempts(pod["metadata"]["uid"]) / "0" / "state.json"))
    await node.client.delete(PODS, "p", node.namespace, grace_period_seconds=0)
    agent.start()
    await node.eventually(lambda: not (node.directory / "pods" / pod["metadata"]["uid"]).exists())
    with pytest.raises(ProcessLookupError):
        os.kill(state["pid"], 0)


async def test_a_container_whose_supervisor_is_killed_ends_and_says_so(node: NodeUnderTest, marks: Path) -> None:
    main = marked("echo x >> /m/starts; sleep 60")
    pod = await node.create("p", {"restartPolicy": "Never", "containers": [main], "volumes": volumes(marks)})
    await node.ready("p")
    state = read_json(str(node.attempts(pod["metadata"]["uid"]) / "0" / "state.json"))
    os.kill(state["supervisor"], signal.SIGKILL)
    finished = await node.finished("p")
    ended = finished["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (finished["status"]["phase"], ended["reason"], ended["exitCode"]) == ("Failed", "ContainerStatusUnknown", 137)
    await node.eventually(lambda: not Path(f"/proc/{state['pid']}").exists())


async def test_a_pod_shows_its_end_though_we_failed_when_we_looked_at_it(
    node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults, decide = [ValueError("a fault of ours")], lifecycle.decide

    def failing_once(*arguments: Any, **more: Any) -> lifecycle.Decision:
        if faults and any(state.is_over for state in arguments[1].values()):
            raise faults.pop()
        return decide(*arguments, **more)

    monkeypatch.setattr(lifecycle, "decide", failing_once)
    assert (await node.run_shell("p", "true"))["status"]["phase"] == "Succeeded"
    assert not faults


async def test_a_pod_is_removed_though_the_launcher_is_killed_over_it(
    node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = await node.create("p", {"containers": [{"name": "main", "image": "any", "command": ["sleep", "60"]}]})
    await node.ready("p")
    assert node.node._runtime is not None
    remove = node.node._runtime.remove_sandbox
    refusals = iter([LauncherError("killed")])

    async def removed(directory: PodDirectory) -> None:
        for refusal in refusals:
            raise refusal
        await remove(directory)

    monkeypatch.setattr(node.node._runtime, "remove_sandbox", removed)
    await node.client.delete(PODS, "p", node.namespace, grace_period_seconds=0)
    await node.eventually(lambda: not (node.directory / "pods" / pod["metadata"]["uid"]).exists())


async def test_what_cannot_be_removed_keeps_no_agent_from_starting(node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    await node.stop()
    leftover = node.directory / "pods" / "gone"
    leftover.mkdir(parents=True)
    request = Launcher.request

    async def refusing(launcher: Launcher, do: str, **arguments: object) -> object:
        if arguments.get("directory") == str(leftover):
            raise LauncherError("Operation not permitted")
        return await request(launcher, do, **arguments)

    monkeypatch.setattr(Launcher, "request", refusing)
    await node.start()
    assert (await node.run_shell("p", "true"))["status"]["phase"] == "Succeeded"


async def test_commands_in_a_container_make_files_as_it_does_whatever_the_agent_was_started_with(
    node: NodeUnderTest, marks: Path
) -> None:
    await node.stop()
    before = os.umask(0o077)
    try:
        await node.start()
    finally:
        os.umask(before)
    hook = {"postStart": {"exec": {"command": ["sh", "-c", 'umask >"$M/hook"']}}}
    main = {**marked('umask >"$M/main"; sleep 60'), "env": [{"name": "M", "value": "/m"}], "lifecycle": hook}
    await node.create("p", {"containers": [main], "volumes": volumes(marks), "terminationGracePeriodSeconds": 0})
    await node.ready("p")
    assert ((marks / "main").read_text(), (marks / "hook").read_text()) == ("0022\n", "0022\n")


async def test_pods_start_after_the_launcher_was_killed(node: NodeUnderTest) -> None:
    assert (await node.run_shell("before", "true"))["status"]["phase"] == "Succeeded"
    launcher = [
        int(pid)
        for pid in os.listdir("/proc")
        if pid.isdecimal() and (Path("/proc") / pid / "comm").exists()
        and (Path("/proc") / pid / "comm").read_text() == "shunter-launch\n"
        and f"PPid:\t{os.getpid()}\n" in (Path("/proc") / pid / "status").read_text()
    ]  # fmt: skip
    assert len(launcher) == 1
    os.kill(launcher[0], signal.SIGKILL)
    assert (await node.run_shell("after", "true"))["status"]["phase"] == "Succeeded"
