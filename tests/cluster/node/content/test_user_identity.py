"""As whom containers run and whose their volumes are: the rules, and the kernel's word on a node that runs as root."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shunter.api.resources import NODES, SECRETS
from shunter.cluster.node.content.user_identity import Accounts, UserIdentity, ignored, token_owner, user_identity

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

Json = dict[str, Any]
ACCOUNTS = Accounts(
    "root:x:0:0:root:/root:/bin/sh\nmpi:x:1000:1001::/home/mpi:/bin/sh\nbroken\n",
    "root:x:0:\ngpu:x:44:mpi,other\nvideo:x:45:\n",
)


def pod(shared: Json, own: Json) -> tuple[Json, Json]:
    container = {"name": "main", "securityContext": own}
    spec = {"securityContext": shared, "containers": [container]}
    return {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec}, container


@pytest.mark.parametrize(
    ("shared", "own", "wanted"),
    [
        pytest.param({}, {}, UserIdentity(0, 0, (0,), "/root"), id="an image of this machine is root's"),
        pytest.param({"runAsUser": 1000}, {}, UserIdentity(1000, 1001, (44, 1001), "/home/mpi"), id="accounts of the image"),
        pytest.param({"runAsUser": 7}, {}, UserIdentity(7, 0, (0,), "/"), id="a user without an account is in the root group"),
        pytest.param({"runAsUser": 7}, {"runAsUser": 0}, UserIdentity(0, 0, (0,), "/root"), id="the container's own word counts"),
        pytest.param({"runAsUser": 7, "runAsGroup": 8}, {"runAsGroup": 9}, UserIdentity(7, 9, (9,), "/"), id="so of the group"),
        pytest.param({"fsGroup": 5, "supplementalGroups": [6]}, {}, UserIdentity(0, 0, (0, 5, 6), "/root"), id="groups"),
        pytest.param(
            {"runAsUser": 1000, "supplementalGroupsPolicy": "Strict", "fsGroup": 5},
            {},
            UserIdentity(1000, 1001, (5, 1001), "/home/mpi"),
            id="strict: no groups of the image",
        ),
    ],
)
def test_a_container_runs_as_its_pod_says(shared: Json, own: Json, wanted: UserIdentity) -> None:
    assert user_identity(*pod(shared, own), ACCOUNTS) == wanted


def test_root_that_must_not_be_root_is_refused() -> None:
    with pytest.raises(ValueError, match=r'runAsUser breaks non-root policy \(pod: "p_n\(u\)", container: main\)$'):
        user_identity(*pod({"runAsNonRoot": True}, {"runAsUser": 0}), ACCOUNTS)
    assert user_identity(*pod({"runAsNonRoot": True}, {"runAsUser": 3}), ACCOUNTS).uid == 3


def test_tokens_belong_to_the_one_user_of_all_containers() -> None:
    containers = [{"name": "a", "securityContext": {"runAsUser": 5}}, {"name": "b"}]
    assert token_owner({"containers": containers}) is None
    assert token_owner({"containers": containers, "securityContext": {"runAsUser": 5}}) == 5
    assert token_owner({"containers": [{"name": "a"}]}) is None


def test_what_a_node_without_root_ignores_is_said() -> None:
    spec = {"containers": [{"name": "a", "securityContext": {"runAsUser": 5}}, {"name": "b"}]}
    assert ignored(spec).startswith("runAsUser, runAsGroup and fsGroup are ignored for a: the node does not run as root")
    assert ignored({"containers": [{"name": "a", "securityContext": {"runAsNonRoot": True}}]}) == ""


@pytest.fixture
async def as_root(node: NodeUnderTest) -> None:
    annotations = (await node.client.get(NODES, node.name, view=dict))["metadata"]["annotations"]
    if annotations["shunter.dev/level"] != "namespaces" or os.geteuid() != 0:
        pytest.skip("users are switched by root at level namespaces only")


@pytest.mark.e2e
async def test_the_kernel_holds_a_user_to_its_rights(node: NodeUnderTest, as_root: None, tmp_path: Path) -> None:
    closed, theirs = tmp_path / "closed", tmp_path / "theirs"
    for path, mode, owner in ((closed, 0o700, 0), (theirs, 0o700, 4321)):
        path.mkdir()
        path.chmod(mode)
        os.chown(path, owner, owner)
    script = (
        "id -u; id -g; id -G; echo $HOME; cd /; python -c 'import os; print(os.getresuid())'\n"
        "echo x > /closed/f || echo closed\necho x > /theirs/f && echo mine\necho again > /dev/stdout\n"
        "touch /empty/f && stat -c '%u %g %a' /empty /empty/f\nprintf done > /dev/termination-log"
    )
    security = {"runAsUser": 4321, "runAsGroup": 4322, "fsGroup": 4323, "supplementalGroups": [4324]}
    mounts = {name: {"name": name, "mountPath": f"/{name}"} for name in ("closed", "theirs", "empty")}
    paths: dict[str, Json] = {
        "closed": {"hostPath": {"path": str(closed)}},
        "theirs": {"hostPath": {"path": str(theirs)}},
        "empty": {"emptyDir": {}},
    }
    container = {"name": "main", "image": "any", "command": ["sh", "-c", script], "volumeMounts": list(mounts.values())}
    volumes = [{"name": name, **source} for name, source in paths.items()]
    spec = {"restartPolicy": "Never", "securityContext": security, "containers": [container], "volumes": volumes}
    await node.create("user", spec)
    ended = (await node.finished("user"))["status"]["containerStatuses"][0]["state"]["terminated"]
    lines = [line for line in (await node.log("user")).splitlines() if "ermission denied" not in line]
    assert lines == [
        "4321", "4322", "4322 4323 4324", "/", "(4321, 4321, 4321)", "closed", "mine", "again", "0 4323 2777", "4321 4323 644",
    ]  # fmt: skip
    assert (ended["exitCode"], ended["message"]) == (0, "done")
    assert not list(closed.iterdir())


@pytest.mark.e2e
async def test_secrets_and_tokens_can_be_read_by_those_they_are_for(node: NodeUnderTest, as_root: None) -> None:
    secret = {"metadata": {"name": "key", "namespace": node.namespace}, "stringData": {"id": "1"}}
    await node.client.create(SECRETS, secret)
    script = "stat -Lc '%u %g %a' /key/id; cat /key/id && echo; echo x > /key/id || echo read-only"
    mounts = [{"name": "key", "mountPath": "/key"}]
    volume = {"name": "key", "secret": {"secretName": "key", "defaultMode": 0o400}}
    for name, security, wanted in (
        ("group", {"runAsUser": 4321, "fsGroup": 4323}, ["0 4323 440", "1", "read-only"]),
        ("none", {"runAsUser": 4321}, ["0 0 400", "read-only"]),
    ):
        container = {"name": "main", "image": "any", "command": ["sh", "-c", script], "volumeMounts": mounts}
        spec = {"restartPolicy": "Never", "securityContext": security, "containers": [container], "volumes": [volume]}
        await node.create(name, spec)
        await node.finished(name)
        lines = [line for line in (await node.log(name)).splitlines() if not line.startswith(("cat:", "sh:"))]
        assert lines == wanted


@pytest.mark.e2e
async def test_exec_and_probes_run_as_the_containers_user(node: NodeUnderTest, as_root: None) -> None:
    probe = {"exec": {"command": ["sh", "-c", "test $(id -u) = 4321"]}, "periodSeconds": 1, "failureThreshold": 1}
    container = {
        "name": "main",
        "image": "any",
        "command": ["sleep", "60"],
        "readinessProbe": probe,
        "securityContext": {"runAsUser": 4321},
    }
    await node.create("probed", {"terminationGracePeriodSeconds": 0, "containers": [container]})
    await node.ready("probed")


@pytest.mark.e2e
async def test_root_file_systems_and_set_user_id_bits_as_asked(node: NodeUnderTest, as_root: None) -> None:
    script = "touch /f 2>/dev/null || echo sealed; touch /data/f && echo open; grep NoNewPrivs /proc/self/status"
    security = {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False}
    mounts = [{"name": "data", "mountPath": "/data"}]
    container = {
        "name": "main",
        "image": "any",
        "command": ["sh", "-c", script],
        "securityContext": security,
        "volumeMounts": mounts,
    }
    spec = {"restartPolicy": "Never", "containers": [container], "volumes": [{"name": "data", "emptyDir": {}}]}
    await node.create("sealed", spec)
    await node.finished("sealed")
    assert (await node.log("sealed")).split() == ["sealed", "open", "NoNewPrivs:", "1"]


@pytest.mark.e2e
async def test_a_root_that_must_not_be_is_not_started(node: NodeUnderTest) -> None:
    container = {"name": "main", "image": "any", "command": ["true"], "securityContext": {"runAsUser": 0, "runAsNonRoot": True}}
    await node.create("root", {"restartPolicy": "Never", "containers": [container]})

    def waits(status: Json) -> bool:
        states = status.get("containerStatuses") or [{}]
        reason: str = (states[0].get("state") or {}).get("waiting", {}).get("reason", "")
        return reason == "CreateContainerConfigError"

    waiting = await node.wait("root", waits, "refused")
    assert "breaks non-root policy" in waiting["status"]["containerStatuses"][0]["state"]["waiting"]["message"]
