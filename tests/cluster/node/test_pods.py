"""Pods as real processes, at level `plain` and at the best level this machine allows: what both must do alike."""

from __future__ import annotations

import asyncio
import base64
import errno
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, PODS, SECRETS
from shunter.cluster.node.launch import attempt as files
from shunter.cluster.node.layout import PodDirectory
from shunter.cluster.node.pod import lifecycle
from shunter.cluster.node.pod.container_start import ContainerStarter
from shunter.cluster.node.runtime.launcher import LauncherError
from shunter.cluster.node.runtime.namespaces import NamespaceRuntime
from shunter.cluster.node.runtime.plain import PlainRuntime
from shunter.cluster.node.runtime.protocol import Level

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

pytestmark = pytest.mark.e2e


@pytest.fixture(params=[None, Level.PLAIN], ids=["best-level", "plain"])
def level(request: pytest.FixtureRequest) -> Level | None:
    level: Level | None = request.param
    return level


def terminated(pod: Json, name: str = "main", kind: str = "containerStatuses") -> Json:
    state: Json = next(one for one in pod["status"][kind] if one["name"] == name)["state"]
    ended: Json = state["terminated"]
    return ended


async def test_a_pod_that_ends_well_succeeds(node: NodeUnderTest) -> None:
    pod = await node.run_shell("p", "echo out; echo err >&2")
    assert pod["status"]["phase"] == "Succeeded"
    assert terminated(pod)["reason"] == "Completed"
    await node.wait(
        "p",
        lambda s: {"PodReadyToStartContainers": "False"}.items() <= {c["type"]: c["status"] for c in s["conditions"]}.items(),
        "without a sandbox",
    )
    assert sorted((await node.log("p")).splitlines()) == ["err", "out"]


async def test_what_could_not_be_removed_of_a_finished_pod_is_tried_again(
    node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, problems, is_released = ContainerStarter.release, [LauncherError("held for a moment")], asyncio.Event()

    async def released(starter: ContainerStarter) -> None:
        if problems:
            raise problems.pop()
        await release(starter)
        is_released.set()

    monkeypatch.setattr(ContainerStarter, "release", released)
    await node.run_shell("p", "true")
    async with asyncio.timeout(30):
        await is_released.wait()
    assert not problems


@pytest.mark.parametrize(
    ("command", "code", "reason"),
    [
        pytest.param(["sh", "-c", "exit 3"], 3, "Error", id="exit-code-is-kept"),
        pytest.param(["python", "-c", "import ctypes; ctypes.string_at(0)"], 139, "Error", id="segfault-is-139"),
        pytest.param(["no-such-program"], 128, "StartError", id="command-not-found-is-128"),
        pytest.param(["/no/such"], 128, "StartError", id="missing-path-is-128"),
    ],
)
async def test_a_failing_container_shows_how_it_ended(node: NodeUnderTest, command: list[str], code: int, reason: str) -> None:
    await node.create("p", {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any", "command": command}]})
    pod = await node.finished("p")
    assert pod["status"]["phase"] == "Failed"
    assert (terminated(pod)["exitCode"], terminated(pod)["reason"]) == (code, reason)


async def test_a_missing_program_is_named_as_runc_names_it(node: NodeUnderTest) -> None:
    await node.create("p", {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any", "command": ["no-such"]}]})
    pod = await node.finished("p")
    assert terminated(pod)["message"].endswith('exec: "no-such": executable file not found in $PATH')


async def test_args_without_a_command_are_the_program(node: NodeUnderTest) -> None:
    await node.create(
        "p", {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any", "args": ["echo", "hello"]}]}
    )
    await node.finished("p")
    assert await node.log("p") == "hello\n"


async def test_args_that_were_meant_for_an_entrypoint_say_so(node: NodeUnderTest) -> None:
    await node.create("p", {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any", "args": ["--epochs=3"]}]})
    message = terminated(await node.finished("p"))["message"]
    assert 'exec: "--epochs=3": executable file not found in $PATH. The first item of args is used as the program.' in message
    assert 'Image "any" maps to a local environment without an ENTRYPOINT. Set `command`' in message


async def test_a_container_that_cannot_start_is_tried_again_less_and_less_often(node: NodeUnderTest) -> None:
    await node.create("p", {"containers": [{"name": "main", "image": "any", "command": ["no-such"]}]})

    def waits(status: Json) -> bool:
        [container] = status.get("containerStatuses") or [{}]
        reason: str = container.get("state", {}).get("waiting", {}).get("reason", "")
        return reason == "CrashLoopBackOff"

    pod = await node.wait("p", waits, "in back-off")
    [container] = pod["status"]["containerStatuses"]
    assert container["restartCount"] <= 1
    assert not container["lastState"]["terminated"]["finishedAt"].startswith("1970")


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        pytest.param("pod.json", "FailedCreatePodSandBox", id="before the sandbox"),
        pytest.param("sandbox.json", "FailedCreatePodSandBox", id="with the sandbox made"),
        pytest.param("spec.json", "Failed", id="before the container"),
    ],
)
async def test_a_pod_that_the_disk_has_no_room_for_starts_when_it_has(
    node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch, refused: str, reason: str
) -> None:
    write_json = files.write_json
    refusals = iter([OSError(errno.ENOSPC, "No space left on device")])

    def written(path: str, value: object) -> None:
        if path.endswith(f"/{refused}"):
            for refusal in refusals:
                raise refusal
        write_json(path, value)

    monkeypatch.setattr(files, "write_json", written)
    assert (await node.run_shell("p", "true"))["status"]["phase"] == "Succeeded"
    assert "No space left on device" in (await node.event(reason))["message"]


async def test_python_is_the_environment_that_runs_us(node: NodeUnderTest) -> None:
    import sys

    await node.run_shell("p", "python -c 'import sys; print(sys.prefix)'")
    assert (await node.log("p")).strip() == sys.prefix


async def test_environment_comes_from_every_source(node: NodeUnderTest) -> None:
    metadata = {"name": "settings", "namespace": node.namespace}
    await node.client.create(
        CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"color": "blue"}}
    )
    secret = {"token": base64.b64encode(b"s3cret").decode()}
    await node.client.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": secret})
    await node.run_shell(
        "p",
        "echo $NAME $COLOR $TOKEN $CFG_color $CPU $GREETING $MISSING.",
        resources={"limits": {"cpu": "1500m"}},
        envFrom=[{"prefix": "CFG_", "configMapRef": {"name": "settings"}}],
        env=[
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "color"}}},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "settings", "key": "token"}}},
            {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "GREETING", "value": "hello-$(NAME)-$$(NAME)"},
            {"name": "MISSING", "valueFrom": {"configMapKeyRef": {"name": "nope", "key": "x", "optional": True}}},
        ],
    )
    assert (await node.log("p")).strip() == "p blue s3cret blue 2 hello-p-$(NAME) ."


async def test_a_restarted_container_gets_the_environment_as_it_is_now(node: NodeUnderTest) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm", "namespace": node.namespace}}
    await node.client.create(CONFIG_MAPS, {**body, "data": {"RATE": "old"}})
    script = 'echo $RATE; [ "$RATE" = new ] || sleep 1; [ "$RATE" = new ]'
    main = {"name": "main", "image": "any", "command": ["sh", "-c", script], "envFrom": [{"configMapRef": {"name": "cm"}}]}
    await node.create("p", {"restartPolicy": "OnFailure", "containers": [main]})
    await node.ready("p")
    await node.client.patch(CONFIG_MAPS, "cm", node.namespace, {"data": {"RATE": "new"}})
    assert (await node.finished("p"))["status"]["containerStatuses"][0]["restartCount"] == 1
    assert (await node.log("p"), await node.log("p", previous=True)) == ("new\n", "old\n")


async def test_a_config_map_is_mounted_at_its_path(node: NodeUnderTest) -> None:
    metadata = {"name": "script", "namespace": node.namespace}
    data = {"train.py": "print('trained')\n", "unused": ""}
    await node.client.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    volume = {"name": "code", "configMap": {"name": "script", "items": [{"key": "train.py", "path": "sub/train.py"}]}}
    mount = {"name": "code", "mountPath": "/workspace"}
    main = {"name": "main", "image": "any", "command": ["python", "/workspace/sub/train.py"], "volumeMounts": [mount]}
    await node.create("p", {"restartPolicy": "Never", "containers": [main], "volumes": [volume]})
    assert (await node.finished("p"))["status"]["phase"] == "Succeeded", await node.log("p")
    assert await node.log("p") == "trained\n"


async def test_a_pod_waits_for_its_missing_config_map_and_says_so(node: NodeUnderTest) -> None:
    main = {
        "name": "main",
        "image": "any",
        "command": ["cat", "/etc/cfg/key"],
        "volumeMounts": [{"name": "v", "mountPath": "/etc/cfg"}],
    }
    spec = {"restartPolicy": "Never", "containers": [main], "volumes": [{"name": "v", "configMap": {"name": "late"}}]}
    await node.create("p", spec)
    event = await node.event("FailedMount")
    assert event["message"] == 'MountVolume.SetUp failed for volume "v" : configmap "late" not found'
    pod = await node.wait("p", lambda status: status.get("containerStatuses"), "reported")
    assert pod["status"]["phase"] == "Pending"
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ContainerCreating"
    metadata = {"name": "late", "namespace": node.namespace}
    await node.client.create(
        CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": "value"}}
    )
    assert (await node.finished("p"))["status"]["phase"] == "Succeeded"
    assert await node.log("p") == "value"


async def test_volumes_from_the_api_are_filled_while_the_sandbox_is_made(
    node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def after_the_files(create_sandbox: Callable[[Any, Json, PodDirectory], Awaitable[str]]) -> object:
        async def created(runtime: object, pod: Json, directory: PodDirectory) -> str:
            while not (directory.volume("v") / "key").exists():  # noqa: ASYNC110 -- the condition is the disk's
                await asyncio.sleep(0.01)
            return await create_sandbox(runtime, pod, directory)

        return created

    for runtime in (NamespaceRuntime, PlainRuntime):
        monkeypatch.setattr(runtime, "create_sandbox", after_the_files(runtime.create_sandbox))
    metadata = {"name": "settings", "namespace": node.namespace}
    await node.client.create(
        CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": "value"}}
    )
    main = {"name": "main", "image": "any", "command": ["true"]}
    volumes = [{"name": "v", "configMap": {"name": "settings"}}]
    await node.create("p", {"restartPolicy": "Never", "containers": [main], "volumes": volumes})
    assert (await node.finished("p"))["status"]["phase"] == "Succeeded"


async def test_containers_share_an_empty_directory_through_init_containers_in_order(node: NodeUnderTest) -> None:
    mounts = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}], "image": "any"}
    spec = {
        "restartPolicy": "Never",
        "volumes": [{"name": "shared", "emptyDir": {}}],
        "initContainers": [
            {"name": "one", "command": ["sh", "-c", "sleep 0.2; echo one >> /shared/log"], **mounts},
            {"name": "two", "command": ["sh", "-c", "echo two >> /shared/log"], **mounts},
        ],
        "containers": [{"name": "main", "command": ["cat", "/shared/log"], **mounts}],
    }
    await node.create("p", spec)
    pod = await node.finished("p")
    assert await node.log("p") == "one\ntwo\n"
    assert [one["ready"] for one in pod["status"]["initContainerStatuses"]] == [True, True]


async def test_a_failed_init_container_fails_a_pod_that_is_never_restarted(node: NodeUnderTest) -> None:
    spec = {
        "restartPolicy": "Never",
        "initContainers": [{"name": "init", "image": "any", "command": ["sh", "-c", "exit 4"]}],
        "containers": [{"name": "main", "image": "any", "command": ["true"]}],
    }
    await node.create("p", spec)
    pod = await node.finished("p")
    assert pod["status"]["phase"] == "Failed"
    assert terminated(pod, "init", "initContainerStatuses")["exitCode"] == 4
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "PodInitializing"


async def test_a_sidecar_runs_beside_the_main_container_and_ends_with_it(node: NodeUnderTest) -> None:
    sidecar = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    spec = {
        "restartPolicy": "Never",
        "initContainers": [{"name": "side", "image": "any", "restartPolicy": "Always", "command": ["sh", "-c", sidecar]}],
        "containers": [{"name": "main", "image": "any", "command": ["sh", "-c", "sleep 0.3"]}],
    }
    await node.create("p", spec)
    assert (await node.finished("p"))["status"]["phase"] == "Succeeded"
    assert await node.log("p", "side") == "up\nbye\n"


async def test_a_container_that_keeps_failing_backs_off(node: NodeUnderTest) -> None:
    spec = {
        "restartPolicy": "Always",
        "containers": [{"name": "main", "image": "any", "command": ["sh", "-c", "echo $$; exit 1"]}],
    }
    await node.create("p", spec)
    pod = await node.wait(
        "p",
        lambda s: (
            s.get("containerStatuses")
            and s["containerStatuses"][0]["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff"
        ),
        "in CrashLoopBackOff",
    )
    status = pod["status"]["containerStatuses"][0]
    assert pod["status"]["phase"] == "Running"
    assert status["restartCount"] == 1
    assert status["lastState"]["terminated"]["exitCode"] == 1
    title = f"p_{node.namespace}({pod['metadata']['uid']})"
    assert status["state"]["waiting"]["message"] == f"back-off 10s restarting failed container=main pod={title}"
    assert await node.log("p", previous=True)


async def test_a_pod_that_is_deleted_before_it_ran_has_failed(node: NodeUnderTest) -> None:
    main = {"name": "main", "image": "any", "command": ["true"], "envFrom": [{"configMapRef": {"name": "none"}}]}
    await node.create("p", {"containers": [main]}, finalizers=["example.com/wait"])
    await node.wait("p", lambda status: status.get("containerStatuses"), "shown")
    await node.client.delete(PODS, "p", node.namespace)
    assert (await node.finished("p"))["status"]["phase"] == "Failed"
    await node.client.patch(PODS, "p", node.namespace, {"metadata": {"finalizers": None}})
    await node.gone("p")


async def test_logs_are_followed_until_the_container_ends(node: NodeUnderTest) -> None:
    main = {"name": "main", "image": "any", "command": ["sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.1; done"]}
    await node.create("p", {"restartPolicy": "Never", "containers": [main]})
    await node.wait("p", lambda s: s.get("phase") in ("Running", "Succeeded"), "running")
    assert await node.log("p", follow=True) == "1\n2\n3\n"
    assert await node.log("p", tail_lines=1) == "3\n"


async def test_a_pod_past_its_deadline_fails(node: NodeUnderTest) -> None:
    main = {"name": "main", "image": "any", "command": ["sleep", "60"]}
    await node.create(
        "p", {"activeDeadlineSeconds": 1, "terminationGracePeriodSeconds": 0, "restartPolicy": "Never", "containers": [main]}
    )
    pod = await node.finished("p")
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "DeadlineExceeded")
    assert (await node.event("DeadlineExceeded"))["message"] == pod["status"]["message"]


async def test_readiness_follows_its_probe(node: NodeUnderTest) -> None:
    probe: Json = {"exec": {"command": ["test", "-e", "/ready/yes"]}, "periodSeconds": 1}
    mounts = [{"name": "ready", "mountPath": "/ready"}]
    if node.level is Level.PLAIN:
        probe["exec"]["command"] = ["sh", "-c", "test -e $FLAG"]
    main = {
        "name": "main",
        "image": "any",
        "env": [{"name": "FLAG", "value": "/ready/yes"}],
        "command": ["sh", "-c", "sleep 0.5; touch /ready/yes; sleep 60"],
        "readinessProbe": probe,
        "volumeMounts": mounts,
    }
    spec = {"terminationGracePeriodSeconds": 0, "containers": [main], "volumes": [{"name": "ready", "emptyDir": {}}]}
    await node.create("p", spec)
    pod = await node.wait("p", lambda s: s.get("phase") == "Running", "running")
    assert not pod["status"]["containerStatuses"][0]["ready"]
    await node.ready("p")


async def test_a_probe_looks_into_the_containers_volumes(node: NodeUnderTest) -> None:
    probe = {"exec": {"command": ["sh", "-c", "test -e /shared/volume/up"]}, "periodSeconds": 1}
    main = {
        "name": "main",
        "image": "any",
        "command": ["sh", "-c", "touch /shared/volume/up; sleep 60"],
        "volumeMounts": [{"name": "v", "mountPath": "/shared/volume"}],
        "readinessProbe": probe,
    }
    volumes = [{"name": "v", "emptyDir": {}}]
    await node.create("p", {"containers": [main], "volumes": volumes, "terminationGracePeriodSeconds": 0})
    await node.ready("p")


async def test_a_probe_that_closes_its_output_and_goes_on_has_failed(node: NodeUnderTest) -> None:
    probe = {"exec": {"command": ["sh", "-c", "exec >&- 2>&-; sleep 60"]}, "timeoutSeconds": 1, "periodSeconds": 1}
    main = {"name": "main", "image": "any", "command": ["sleep", "60"], "readinessProbe": probe}
    await node.create("p", {"containers": [main], "terminationGracePeriodSeconds": 0})
    assert "timed out after 1s" in (await node.event("Unhealthy"))["message"]


async def test_a_container_that_fails_its_liveness_probe_is_restarted(node: NodeUnderTest) -> None:
    main = {
        "name": "main",
        "image": "any",
        "command": ["sleep", "60"],
        "livenessProbe": {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1},
    }
    await node.create("p", {"terminationGracePeriodSeconds": 0, "containers": [main]})
    await node.wait("p", lambda s: s.get("containerStatuses") and s["containerStatuses"][0]["restartCount"] == 1, "restarted")
    assert (await node.event("Unhealthy"))["message"].startswith("Liveness probe failed")


async def test_resources_the_machine_lacks_are_warned_about(node: NodeUnderTest) -> None:
    pod = await node.run_shell("p", "true", resources={"limits": {"nvidia.com/gpu": "999"}})
    assert pod["status"]["phase"] == "Succeeded"
    assert "asked for 999 nvidia.com/gpu, this machine has" in (await node.event("InsufficientResources"))["message"]


async def test_the_termination_message_is_shown(node: NodeUnderTest) -> None:
    main = {
        "name": "main", "image": "any", "command": ["sh", "-c", "echo broken; exit 1"],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }  # fmt: skip
    await node.create("p", {"restartPolicy": "Never", "containers": [main]})
    assert terminated(await node.finished("p"))["message"] == "broken\n"


async def test_post_start_and_pre_stop_hooks_run(node: NodeUnderTest) -> None:
    hooks = {
        "postStart": {"exec": {"command": ["sh", "-c", "echo $GREETING > $DIR/post"]}},
        "preStop": {"exec": {"command": ["sh", "-c", "cp $DIR/post $DIR/pre"]}},
    }
    keep = node.directory.parent / "kept"
    keep.mkdir()
    if node.level is not Level.PLAIN:
        keep = node.directory.parent.parent / "kept"
        keep.mkdir()
    main = {
        "name": "main", "image": "any", "command": ["sleep", "60"], "lifecycle": hooks,
        "env": [{"name": "DIR", "value": "/kept"}, {"name": "GREETING", "value": "hello"}],
        "volumeMounts": [{"name": "kept", "mountPath": "/kept"}],
    }  # fmt: skip
    volumes = [{"name": "kept", "hostPath": {"path": str(keep), "type": "Directory"}}]
    await node.create("p", {"terminationGracePeriodSeconds": 1, "containers": [main], "volumes": volumes})
    await node.ready("p")
    await node.client.delete(PODS, "p", node.namespace)
    await node.gone("p")
    assert (keep / "pre").read_text() == "hello\n"


async def test_logs_of_a_pod_are_bounded_however_often_its_container_restarts(
    node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt's log is bounded by its rotation; those of all but the last two go."""
    monkeypatch.setattr(lifecycle, "back_off", lambda streak, max_period: 0.0)
    main = {"name": "main", "image": "any", "command": ["sh", "-c", "echo again; exit 1"]}
    pod = await node.create("p", {"containers": [main], "terminationGracePeriodSeconds": 0})
    attempts = node.attempts(pod["metadata"]["uid"])

    def restarts(status: Json) -> int:
        [container] = status.get("containerStatuses") or [{}]
        return int(container.get("restartCount", 0))

    await node.wait("p", lambda status: restarts(status) >= 5, "restarted five times")
    assert len(os.listdir(attempts)) <= 3
    assert "0" not in os.listdir(attempts)
