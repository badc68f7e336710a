"""What only level `namespaces` gives: own addresses, names, files and limits. Where a machine cannot, it must say why."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shunter.api.resources import CONFIG_MAPS, NODES, PODS, SERVICES
from shunter.cluster.node.launch import user_namespace
from shunter.cluster.node.layout import NodeDirectory, PodDirectory
from shunter.cluster.node.net import dns, starting_pods
from shunter.cluster.node.net.network import owner_name
from shunter.cluster.node.runtime.cgroups import NoCgroups, find_cgroups
from shunter.cluster.node.runtime.launcher import Launcher
from shunter.cluster.node.runtime.levels import find_level
from shunter.cluster.node.runtime.namespaces import NamespaceRuntime
from shunter.cluster.node.runtime.protocol import Level
from shunter.cluster.node.teardown import teardown

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
async def _machine_can(node: NodeUnderTest) -> None:
    annotations = (await node.client.get(NODES, node.name, view=dict))["metadata"]["annotations"]
    if annotations["shunter.dev/level"] != "namespaces":
        assert annotations["shunter.dev/level-reason"], "a lower level must say why"
        pytest.skip(f"level namespaces is not possible: {annotations['shunter.dev/level-reason']}")


async def headless(node: NodeUnderTest, name: str, selector: dict[str, str], **spec: object) -> None:
    await node.client.create(
        SERVICES,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": node.namespace},
            "spec": {"clusterIP": "None", "selector": selector, **spec},
        },
    )


async def test_one_process_beside_the_agent_removes_what_a_finished_pod_leaves(
    node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[list[str]] = []
    request = Launcher.request

    async def recording(launcher: Launcher, do: str, **arguments: Any) -> Any:
        if do == "remove":
            removed.append(arguments["directories"])
        return await request(launcher, do, **arguments)

    monkeypatch.setattr(Launcher, "request", recording)
    pod = await node.run_shell("p", "echo word > /written; echo out")
    directory = PodDirectory(node.directory / "pods" / pod["metadata"]["uid"])
    root = directory.attempt("main", 0) / "root"
    await node.eventually(lambda: not root.exists())
    left = [directory.namespaces, directory.shm, directory.path / "volumes", root]
    assert removed == [[str(part) for part in left]]
    assert not any(part.exists() for part in left)
    assert await node.log("p") == "out\n"


async def test_a_rank_that_asks_early_connects_at_its_first_attempt(
    node: NodeUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting_pods, "HELD_SECONDS", 20.0)
    monkeypatch.setattr(dns, "HOLD_SECONDS", 20.0)
    await headless(node, "job", {"job": "j"}, publishNotReadyAddresses=True)
    serve = (
        "import os, socket, time\n"
        "inside = socket.create_server(('127.0.0.1', 29501))\n"
        "while not os.path.exists('/told/go'): time.sleep(.01)\n"
        "s = socket.create_server(('', 29500)); s.accept()"
    )
    ask = "import socket; open('/told/asks', 'w'); socket.create_connection(('j-0.job', 29500)); print('connected')"
    (tmp_path / "told").mkdir()
    for rank, script in enumerate((serve, ask)):
        main = {"name": "main", "image": "any", "command": ["python", "-c", script]}
        spec = {
            "restartPolicy": "Never",
            "hostname": f"j-{rank}",
            "subdomain": "job",
            "dnsConfig": {"options": [{"name": "timeout", "value": "20"}]},
            "volumes": [{"name": "told", "hostPath": {"path": str(tmp_path / "told")}}],
            "containers": [{**main, "volumeMounts": [{"name": "told", "mountPath": "/told"}]}],
        }
        await node.create(f"j-{rank}", spec, labels={"job": "j"})
    await node.eventually((tmp_path / "told" / "asks").exists)
    # Long enough for an answer to be there, were it not held back.
    await node.run_shell("another", "true")
    (tmp_path / "told" / "go").touch()
    await node.finished("j-1")
    assert await node.log("j-1") == "connected\n"


async def test_an_init_container_learns_the_address_of_a_pod_in_which_nothing_listens_yet(
    node: NodeUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting_pods, "HELD_SECONDS", 20.0)
    monkeypatch.setattr(dns, "HOLD_SECONDS", 20.0)
    await headless(node, "job", {"job": "j"}, publishNotReadyAddresses=True)
    (tmp_path / "told").mkdir()
    told = {"name": "told", "mountPath": "/told"}
    common = {
        "restartPolicy": "Never",
        "subdomain": "job",
        "dnsConfig": {"options": [{"name": "timeout", "value": "20"}]},
        "volumes": [{"name": "told", "hostPath": {"path": str(tmp_path / "told")}}],
    }
    importing = ["sh", "-c", "while [ ! -e /told/initialized ]; do sleep 0.02; done"]
    master = {"name": "main", "image": "any", "command": importing, "volumeMounts": [told]}
    waiting = {"name": "wait", "image": "any", "command": ["sh", "-c", "nslookup j-0.job && touch /told/initialized"]}
    worker = {"name": "main", "image": "any", "command": ["true"]}
    await node.create("j-0", {**common, "hostname": "j-0", "containers": [master]}, labels={"job": "j"})
    inits = [{**waiting, "volumeMounts": [told]}]
    await node.create("j-1", {**common, "hostname": "j-1", "initContainers": inits, "containers": [worker]}, labels={"job": "j"})
    # Held back, the answer would come only after the master, which waits for it, had ended: after 20 s.
    async with asyncio.timeout(15):
        await node.finished("j-0")
        await node.finished("j-1")


async def test_pods_find_each_other_by_name_and_connect(node: NodeUnderTest) -> None:
    await headless(node, "job", {"job": "j"}, publishNotReadyAddresses=True)
    serve = "import socket; s=socket.create_server(('',29500)); c,a=s.accept(); c.sendall(a[0].encode()); c.close()"
    ask = (
        "import socket,time\n"
        "for _ in range(50):\n"
        "  try: print(socket.create_connection(('j-0.job',29500)).recv(99).decode()); break\n"
        "  except ConnectionRefusedError: time.sleep(.1)\n"
        "print(socket.gethostbyname(socket.gethostname()), socket.getfqdn())"
    )
    for rank, script in enumerate((serve, ask)):
        main = {"name": "main", "image": "any", "command": ["python", "-c", script]}
        spec = {"restartPolicy": "Never", "hostname": f"j-{rank}", "subdomain": "job", "containers": [main]}
        await node.create(f"j-{rank}", spec, labels={"job": "j"})
    asker = await node.finished("j-1")
    assert (await node.finished("j-0"))["status"]["phase"] == "Succeeded"
    address = asker["status"]["podIP"]
    assert (await node.log("j-1")).splitlines() == [address, f"{address} j-1.job.{node.namespace}.svc.cluster.local"]


async def test_a_pod_calls_itself_by_its_full_name_if_it_says_so(node: NodeUnderTest) -> None:
    main = {"name": "main", "image": "any", "command": ["sh", "-c", "hostname; echo $HOSTNAME; cat /etc/hostname"]}
    named = {"hostname": "h", "subdomain": "job", "setHostnameAsFQDN": True}
    await node.create("p", {"restartPolicy": "Never", **named, "containers": [main]})
    await node.finished("p")
    assert (await node.log("p")).splitlines() == [f"h.job.{node.namespace}.svc.cluster.local"] * 3


async def test_a_volume_above_the_environment_does_not_hide_it(node: NodeUnderTest) -> None:
    above = str(Path(sys.prefix).parent)
    main = {
        "name": "main",
        "image": "any",
        "command": ["python", "-c", f"import shunter, os; open('{above}/new', 'w'); print(sorted(os.listdir('{above}')))"],
        "volumeMounts": [{"name": "scratch", "mountPath": above}],
    }
    spec = {"restartPolicy": "Never", "containers": [main], "volumes": [{"name": "scratch", "emptyDir": {}}]}
    await node.create("covered", spec)
    assert (await node.finished("covered"))["status"]["phase"] == "Succeeded"
    assert await node.log("covered") == "['.venv', 'new', 'src']\n"


async def test_nslookup_waits_for_a_pod_that_is_about_to_be_ready(node: NodeUnderTest) -> None:
    await headless(node, "m-0", {"role": "master"})
    wait = (
        "err=1; for i in $(seq 5); do if nslookup m-0; then err=0 && break; fi; echo waiting for master; sleep 2; done; exit $err"
    )
    spec = {
        "restartPolicy": "Never",
        "initContainers": [{"name": "init", "image": "alpine:3.10", "command": ["sh", "-c", wait]}],
        "containers": [{"name": "main", "image": "any", "command": ["true"]}],
    }
    await node.create("worker", spec)
    await node.wait("worker", lambda s: s.get("initContainerStatuses"), "reported")
    main = {"name": "main", "image": "any", "command": ["sleep", "60"]}
    await node.create("m-0", {"terminationGracePeriodSeconds": 0, "containers": [main]}, labels={"role": "master"})
    master = await node.ready("m-0")
    assert (await node.finished("worker"))["status"]["phase"] == "Succeeded"
    log = await node.log("worker", "init")
    assert f"Address: {master['status']['podIP']}" in log
    assert "waiting for master" not in log


async def test_a_container_over_its_memory_limit_is_oom_killed(node: NodeUnderTest) -> None:
    if isinstance(find_cgroups("probe"), NoCgroups):
        annotations = (await node.client.get(NODES, node.name, view=dict))["metadata"]["annotations"]
        assert "cgroup limits need root" in annotations["shunter.dev/level-reason"], "unenforced limits must be said"
        return
    await node.create(
        "p",
        {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": "any",
                    "command": ["python", "-c", "x = bytearray(200 << 20); print(len(x))"],
                    "resources": {"limits": {"memory": "64Mi"}},
                }
            ],
        },
    )
    ended = (await node.finished("p"))["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


async def test_a_container_writes_anywhere_and_the_host_sees_nothing(node: NodeUnderTest) -> None:
    script = "mkdir -p /opt/shunter-test; echo x > /opt/shunter-test/file; echo y >/dev/shunter-test; hostname; cat /etc/hostname"
    pod = await node.run_shell("p", script)
    assert pod["status"]["phase"] == "Succeeded", await node.log("p")
    assert await node.log("p") == "p\np\n"
    assert not os.path.exists("/opt/shunter-test")
    assert not os.path.exists("/dev/shunter-test")


async def test_a_container_sees_its_own_processes_only_and_no_cluster_secrets(node: NodeUnderTest) -> None:
    tokens = node.directory.parent / "tokens.json"
    tokens.write_text("secret")
    await node.run_shell("p", f"exec 2>&1; ls /proc | grep -c '^[0-9]*$'; cat {tokens}; df -k /dev/shm | tail -1")
    processes, refused, shm = (await node.log("p")).splitlines()
    assert int(processes) <= 3
    assert refused.endswith(("No such file or directory", "Permission denied"))
    assert shm.split()[1] == "65536"


async def test_a_memory_volume_replaces_dev_shm(node: NodeUnderTest) -> None:
    main = {
        "name": "main", "image": "any", "command": ["df", "-k", "--output=fstype,size", "/dev/shm"],
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }  # fmt: skip
    volume = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "128Mi"}}
    await node.create("p", {"restartPolicy": "Never", "containers": [main], "volumes": [volume]})
    await node.finished("p")
    assert (await node.log("p")).split()[-2:] == ["tmpfs", "131072"]


async def test_one_file_of_a_config_map_is_mounted_alone(node: NodeUnderTest) -> None:
    metadata = {"name": "cfg", "namespace": node.namespace}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "A", "b": "B"}}
    await node.client.create(CONFIG_MAPS, body)
    main = {
        "name": "main", "image": "any", "command": ["sh", "-c", "cd /etc/mpi; ls; cat hostfile; echo; echo z > hostfile"],
        "volumeMounts": [{"name": "cfg", "mountPath": "/etc/mpi/hostfile", "subPath": "a", "readOnly": True}],
    }  # fmt: skip
    await node.create(
        "p", {"restartPolicy": "Never", "containers": [main], "volumes": [{"name": "cfg", "configMap": {"name": "cfg"}}]}
    )
    pod = await node.finished("p")
    assert pod["status"]["phase"] == "Failed"
    assert sorted((await node.log("p")).splitlines()) == [
        "A",
        "hostfile",
        "sh: 1: cannot create hostfile: Read-only file system",
    ]


async def test_nobody_in_a_pod_writes_to_a_config_map_but_a_volume_may_be_mounted_in_it(node: NodeUnderTest) -> None:
    metadata = {"name": "app", "namespace": node.namespace}
    await node.client.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "A"}})
    main = {
        "name": "main", "image": "any", "command": ["sh", "-c", "cd /etc/app; cat a; echo; echo x > own/x && ls; echo z > b"],
        "volumeMounts": [{"name": "app", "mountPath": "/etc/app"}, {"name": "own", "mountPath": "/etc/app/own"}],
    }  # fmt: skip
    volumes = [{"name": "app", "configMap": {"name": "app"}}, {"name": "own", "emptyDir": {}}]
    await node.create("p", {"restartPolicy": "Never", "containers": [main], "volumes": volumes})
    assert (await node.finished("p"))["status"]["phase"] == "Failed"
    assert (await node.log("p")).splitlines() == ["A", "a", "own", "sh: 1: cannot create b: Read-only file system"]


async def test_two_pods_use_the_same_port(node: NodeUnderTest) -> None:
    script = "import socket,time; socket.create_server(('',29400)); print('bound'); time.sleep(.3)"
    pods = []
    for name in ("a", "b"):
        main = {"name": "main", "image": "any", "command": ["python", "-c", script]}
        await node.create(name, {"restartPolicy": "Never", "containers": [main]})
        pods.append(name)
    assert [(await node.finished(name))["status"]["phase"] for name in pods] == ["Succeeded", "Succeeded"]


async def test_an_address_has_always_the_same_hardware_address_and_carries_packets_from_the_first(node: NodeUnderTest) -> None:
    """Else nobody who knew the pod that had it before would reach the next one for a second."""
    for name in ("first", "second"):
        await node.run_shell(name, "cat /sys/class/net/eth0/address /sys/class/net/eth0/operstate")
        ends = ":".join(f"{int(part):02x}" for part in (await node.pod(name))["status"]["podIP"].split("."))
        assert await node.log(name) == f"02:42:{ends}\nup\n"


async def test_nothing_is_left_of_a_deleted_pod(node: NodeUnderTest) -> None:
    main = {"name": "main", "image": "any", "command": ["sleep", "60"], "resources": {"limits": {"memory": "64Mi", "cpu": "1"}}}
    pod = await node.create("p", {"terminationGracePeriodSeconds": 0, "containers": [main]})
    await node.ready("p")
    assert any(line for line in mounts(node) if pod["metadata"]["uid"] in line)
    await node.client.delete(PODS, "p", node.namespace)
    await node.gone("p")
    await node.eventually(lambda: not (node.directory / "pods" / pod["metadata"]["uid"]).exists())
    assert not any(line for line in mounts(node) if pod["metadata"]["uid"] in line)
    assert pod["metadata"]["uid"] not in cgroups(node)


async def test_teardown_leaves_no_process_mount_bridge_or_group(node: NodeUnderTest) -> None:
    main = {
        "name": "main",
        "image": "any",
        "command": ["sleep", "600.125"],
        "resources": {"limits": {"memory": "64Mi", "cpu": "1"}},
    }
    await node.create("p", {"containers": [main]})
    await node.ready("p")
    assert processes_with("sleep\x00600.125\x00")
    await node.stop()
    name = owner_name(node.directory)
    assert any(line for line in mounts(node) if str(node.directory) in line)
    await asyncio.to_thread(teardown, node.directory)
    assert not any(line for line in mounts(node) if str(node.directory) in line)
    assert name not in os.listdir("/sys/class/net")
    assert not cgroups(node)
    assert not processes_with("sleep\x00600.125\x00")
    assert files_below(node.directory) == {
        "pod.json", "spec.json", "state.json", "log", "termination", "events", "control", "attach",
    }  # fmt: skip


def files_below(directory: Path) -> set[str]:
    return {path.name for path in directory.rglob("*") if not path.is_dir()}


async def test_the_probe_says_why_a_machine_cannot(tmp_path_factory: pytest.TempPathFactory) -> None:
    odd = tmp_path_factory.mktemp("with,comma")
    finding, _ = await find_level(NodeDirectory(odd))
    assert finding.level is Level.PLAIN
    assert "overlay" in finding.reason


def mounts(node: NodeUnderTest) -> list[str]:
    """The mounts that pods' sandboxes are made of: this machine's, or those of the node's user namespace."""
    pid = user_namespace.holder(str(node.directory / "holder.json")) or "self"
    return Path(f"/proc/{pid}/mountinfo").read_text().splitlines()


def cgroups(node: NodeUnderTest) -> str:
    """Every cgroup directory of the node, one a line."""
    owner = owner_name(node.directory)
    return "\n".join(path for path, _, _ in os.walk("/sys/fs/cgroup") if f"/{owner}/" in f"{path}/")


def processes_with(command_line: str) -> list[Path]:
    """Processes of this machine with exactly this command line (NUL-separated)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_text() == command_line:
                found.append(path.parent)
    return found


async def test_a_node_whose_files_were_deleted_takes_the_bridge_over_that_is_still_there(node: NodeUnderTest) -> None:
    await node.stop()
    NodeDirectory(node.directory).network_file.unlink()
    await node.start()
    done = await node.run_shell("asks", "exit 0")
    assert done["status"]["phase"] == "Succeeded"


async def test_no_more_pods_are_offered_than_there_are_addresses(node: NodeUnderTest) -> None:
    status = (await node.client.get(NODES, node.name, view=dict))["status"]
    assert (status["capacity"]["pods"], status["allocatable"]["pods"]) == ("253", "253")


async def test_a_pod_for_which_no_address_is_left_says_so_and_gets_the_next_free_one(node: NodeUnderTest) -> None:
    runtime = node.node._runtime
    assert isinstance(runtime, NamespaceRuntime)
    runtime._addresses.update({str(last): f"{runtime._network.subnet}.{last}" for last in range(2, 255)})
    await node.create("p", {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any", "command": ["true"]}]})
    assert "All 253 pod addresses" in (await node.event("FailedCreatePodSandBox"))["message"]
    runtime._addresses.clear()
    assert (await node.finished("p"))["status"]["phase"] == "Succeeded"


async def test_a_pod_that_an_agent_of_level_plain_left_has_no_sandbox(node: NodeUnderTest, tmp_path: Path) -> None:
    runtime = node.node._runtime
    assert isinstance(runtime, NamespaceRuntime)
    (tmp_path / "sandbox.json").write_text('{"address": "127.0.0.1"}')
    assert runtime.adopt_sandbox(PodDirectory(tmp_path)) == ""
