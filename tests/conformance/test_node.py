"""A process node on a real control plane: real scheduler, node controller, ServiceAccount admission, Node authorizer."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.process_node import TAINT, ProcessNode
from control_plane import ControlPlane
from shunter.cluster.node.teardown import teardown
from shunter.kube.kubeconfig import read

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(180)]

NewNode = Callable[..., ProcessNode]

NOT_YET_KNOWN = "node requested token bound to a pod scheduled on a different node"

WHO_AM_I = """
import json, os, ssl, urllib.request
account = "/var/run/secrets/kubernetes.io/serviceaccount"
server = "https://%s:%s" % (os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"])
request = urllib.request.Request(
    server + "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    data=json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode(),
    headers={"Authorization": "Bearer " + open(account + "/token").read(), "Content-Type": "application/json"},
)
answer = urllib.request.urlopen(request, context=ssl.create_default_context(cafile=account + "/ca.crt"))
print(json.load(answer)["status"]["userInfo"]["username"])
"""


@pytest.fixture
def new_node(control_plane: ControlPlane, tmp_path: Path) -> Iterator[NewNode]:
    """Makes nodes that are gone after the test, with their pods and namespaces."""
    nodes: list[ProcessNode] = []

    def make(**options: object) -> ProcessNode:
        node = ProcessNode(control_plane, tmp_path / f"node-{len(nodes)}", **options)  # type: ignore[arg-type]
        nodes.append(node)
        node.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": node.namespace}})
        node.eventually(lambda: node.try_kubectl("get", "serviceaccount", "default").returncode == 0, "with a service account")
        return node

    yield make
    for node in nodes:
        if node.is_running:
            node.kill()
        teardown(node.state_dir / "node")
        node.kubectl("delete", "pods", "--all", "--force", "--grace-period=0")
        node.kubectl("delete", "node", node.name, "--ignore-not-found")
        node.kubectl("delete", "namespace", node.namespace, "--wait=false")


@pytest.fixture
def node(new_node: NewNode) -> ProcessNode:
    made = new_node()
    made.start()
    return made


def test_only_pods_that_ask_for_process_nodes_come(node: ProcessNode) -> None:
    node.run_pod("asks", "echo hello")
    node.run_pod("does-not", "echo hello", spec={"tolerations": []})
    node.wait_for_phase("asks", "Succeeded")
    node.eventually(lambda: any("untolerated taint" in message for message in node.events("FailedScheduling")), "kept away")
    assert node.phase("does-not") == "Pending"


def test_logs_come_through_the_real_api_server(node: ProcessNode) -> None:
    node.run_pod(
        "p", "for i in 1 2 3; do echo line $i; done; [ -e /files/ran ] && sleep 1000; touch /files/ran; exit 3",
        spec={"restartPolicy": "OnFailure"},
    )  # fmt: skip
    node.eventually(lambda: node.restarts("p") == 1, "restarted")
    node.wait_for_phase("p", "Running")
    assert node.kubectl("logs", "p", "--tail=2") == "line 2\nline 3\n"
    assert node.kubectl("logs", "p", "--previous") == "line 1\nline 2\nline 3\n"
    node.kubectl("delete", "pod", "p", "--wait=false")
    assert node.kubectl("logs", "p", "--follow") == "line 1\nline 2\nline 3\n"


def test_the_lease_belongs_to_the_node_and_is_renewed(node: ProcessNode) -> None:
    uid = node.get("node", node.name)["metadata"]["uid"]

    def lease() -> dict[str, object]:
        return node.get("lease", node.name, "--namespace=kube-node-lease")

    node.eventually(lambda: node.try_kubectl("get", "lease", node.name, "-n", "kube-node-lease").returncode == 0, "alive")
    first = lease()
    assert first["metadata"]["ownerReferences"] == [  # type: ignore[index]
        {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": uid}
    ]
    node.eventually(lambda: lease()["spec"] != first["spec"], "renewed")


@pytest.mark.parametrize("end", [ProcessNode.terminate, ProcessNode.kill], ids=["sigterm", "kill-9"])
def test_pods_run_on_without_their_node_and_are_adopted(node: ProcessNode, end: Callable[[ProcessNode], object]) -> None:
    node.run_pod("p", "echo run >>/files/runs; echo before; while [ ! -e /files/go ]; do sleep 0.1; done; echo after")
    node.wait_for_phase("p", "Running")
    end(node)
    node.start()
    assert node.phase("p") == "Running"
    (node.files / "go").touch()
    status = node.wait_for_phase("p", "Succeeded")["status"]["containerStatuses"][0]
    assert (node.files / "runs").read_text() == "run\n"
    assert status["restartCount"] == 0
    assert node.kubectl("logs", "p") == "before\nafter\n"


def test_a_pod_that_ends_while_its_node_is_away_is_reported_later(node: ProcessNode) -> None:
    node.run_pod("p", "while [ ! -e /files/go ]; do sleep 0.1; done; touch /files/gone; exit 7")
    node.wait_for_phase("p", "Running")
    node.kill()
    (node.files / "go").touch()
    node.eventually((node.files / "gone").exists, "at its end")
    node.start()
    status = node.wait_for_phase("p", "Failed")["status"]["containerStatuses"][0]
    assert status["state"]["terminated"]["exitCode"] == 7


def test_pods_that_come_and_go_while_their_node_is_away(node: ProcessNode) -> None:
    alive = "while :; do date >/files/NAME; sleep 0.1; done"
    for name in ("deleted", "forced"):
        node.run_pod(name, alive.replace("NAME", name))
        node.wait_for_phase(name, "Running")
    node.kill()
    node.kubectl("delete", "pod", "deleted", "--wait=false")
    node.kubectl("delete", "pod", "forced", "--force", "--grace-period=0")
    node.run_pod("bound", "echo here", spec={"nodeName": node.name})
    node.start()
    node.wait_for_phase("bound", "Succeeded")
    node.eventually(lambda: node.try_kubectl("get", "pod", "deleted").returncode != 0, "without the deleted pod")
    node.eventually(lambda: not any(is_written(node.files / name) for name in ("deleted", "forced")), "without their processes")


def is_written(path: Path) -> bool:
    """Whether a file changes within half a second."""
    before = path.stat().st_mtime_ns
    time.sleep(0.5)  # nothing tells that something does not happen
    return path.stat().st_mtime_ns != before


def test_a_silent_node_is_not_ready_until_it_is_back(node: ProcessNode) -> None:
    node.run_pod("p", "while [ ! -e /files/go ]; do sleep 0.1; done")
    node.eventually(lambda: node.is_ready("pod", "p"), "running")
    node.kill()
    node.eventually(lambda: not node.is_ready("node", node.name), "declared away", seconds=60)
    node.eventually(lambda: not node.is_ready("pod", "p"), "declared away with its pods")
    node.start()
    node.eventually(lambda: node.is_ready("node", node.name) and node.is_ready("pod", "p"), "back")
    (node.files / "go").touch()
    node.wait_for_phase("p", "Succeeded")


def test_a_deleted_node_comes_back_with_its_pods(node: ProcessNode) -> None:
    node.run_pod("p", "echo run >>/files/runs; while [ ! -e /files/go ]; do sleep 0.1; done")
    node.wait_for_phase("p", "Running")
    first = node.get("node", node.name)["metadata"]["uid"]
    node.kubectl("delete", "node", node.name)
    node.eventually(lambda: node.try_kubectl("get", "node", node.name).returncode == 0, "registered again")
    again = node.get("node", node.name)
    assert again["metadata"]["uid"] != first
    assert any(taint["key"] == TAINT for taint in again["spec"]["taints"])

    def lease_owner() -> str:
        lease = node.try_kubectl("get", "lease", node.name, "-n", "kube-node-lease", "-o", "json")
        return str(json.loads(lease.stdout)["metadata"]["ownerReferences"][0]["uid"]) if lease.returncode == 0 else ""

    node.eventually(lambda: lease_owner() == again["metadata"]["uid"], "alive")
    (node.files / "go").touch()
    node.wait_for_phase("p", "Succeeded")
    assert (node.files / "runs").read_text() == "run\n"


def test_a_node_waits_for_a_server_that_is_away(control_plane: ControlPlane, new_node: NewNode) -> None:
    node = new_node()
    control_plane.stop_part("kube-apiserver")
    try:
        node.launch()
        node.eventually(lambda: "Waiting for the API server" in node.log, "waiting")
    finally:
        control_plane.start_part("kube-apiserver")
    node.wait_until_ready()
    node.run_pod("p", "true")
    node.wait_for_phase("p", "Succeeded")


def test_drain_waits_for_disruption_budgets_and_leaves_nothing(node: ProcessNode) -> None:
    node.run_pod("p", "trap 'echo bye >/files/bye; exit 0' TERM; while :; do sleep 0.1; done")
    node.eventually(lambda: node.is_ready("pod", "p"), "running")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "p"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}},
    }
    node.apply(budget)
    node.eventually(lambda: node.get("pdb", "p")["status"].get("currentHealthy") == 1, "protected")
    with pytest.raises(subprocess.TimeoutExpired):
        node.run("--drain", seconds=8)
    assert node.get("node", node.name)["spec"]["unschedulable"] is True
    assert node.phase("p") == "Running"
    node.kubectl("delete", "pdb", "p")
    done = node.run("--drain")
    assert done.returncode == 0, done.stderr
    assert (node.files / "bye").exists()
    assert node.try_kubectl("get", "node", node.name).returncode != 0
    node.eventually(lambda: not node.is_running, "ended")
    assert [path.name for path in node.state_dir.iterdir()] == ["lock"]


def test_drain_does_without_a_running_node(node: ProcessNode) -> None:
    node.run_pod("p", "trap 'echo bye >/files/bye; exit 0' TERM; while :; do sleep 0.1; done")
    node.wait_for_phase("p", "Running")
    node.kill()
    done = node.run("--drain")
    assert done.returncode == 0, done.stderr
    assert (node.files / "bye").exists()
    assert node.try_kubectl("get", "node", node.name).returncode != 0


def test_credentials_of_a_node_are_enough(control_plane: ControlPlane, new_node: NewNode) -> None:
    name = "node-with-little"
    user = f"system:node:{name}"
    node = new_node(name=name, kubeconfig=control_plane.kubeconfig_for(user, ["system:nodes"]))
    node.start()
    node.apply(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "secret"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"key": "setting"}},
    )
    script = f"echo $SECRET $SETTING; python - <<'END'\n{WHO_AM_I}\nEND"
    node.run_pod(
        "p",
        script,
        env=[
            {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}},
            {"name": "SETTING", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "key"}}},
        ],
    )
    node.wait_for_phase("p", "Succeeded")
    assert node.kubectl("logs", "p") == f"secret setting\nsystem:serviceaccount:{node.namespace}:default\n"
    node.run_pod("q", "sleep 1000")
    node.wait_for_phase("q", "Running")
    node.kubectl("delete", "pod", "q")
    entries = map(json.loads, control_plane.audit_log().read_text().splitlines())
    asked = [(entry["requestURI"], entry.get("responseStatus") or {}) for entry in entries if entry["user"]["username"] == user]
    refused = [
        path
        for number, (path, answer) in enumerate(asked)
        if answer.get("code") == 403
        # The server may not know yet that it has just given the pod to this node; then the node asks again.
        and not (NOT_YET_KNOWN in answer["message"] and (path, 201) in [(one, its.get("code")) for one, its in asked[number:]])
    ]
    # Asked for once: nodes that may not read it trust the kubeconfig's CA instead.
    assert refused == ["/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"]


@pytest.mark.parametrize("level", ["namespaces", "plain"])
def test_pods_know_the_api_server_and_are_known_to_it(new_node: NewNode, level: str) -> None:
    node = new_node()
    node.start(f"--level={level}")
    node.run_pod("p", f"python - <<'END'\n{WHO_AM_I}\nEND")
    node.wait_for_phase("p", "Succeeded")
    assert node.kubectl("logs", "p") == f"system:serviceaccount:{node.namespace}:default\n"


def test_pods_of_a_job_find_each_other_by_name(node: ProcessNode) -> None:
    names = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "workers"},
        "spec": {"clusterIP": "None", "selector": {"app": "w"}},
    }
    # A pod that has ended has no name any more, so each waits until the other has found it.
    script = """
    until [ "$(getent hosts w-0.workers w-1.workers | wc -l)" = 2 ]; do sleep 0.1; done
    touch /files/found-$HOSTNAME
    until [ "$(ls /files | grep -c found-)" = 2 ]; do sleep 0.1; done
    """
    template = {"metadata": {"labels": {"app": "w"}}, "spec": node.pod_template(script) | {"subdomain": "workers"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "w"},
        "spec": {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimit": 0, "template": template},
    }
    node.apply(names, job)
    node.eventually(lambda: node.get("job", "w")["status"].get("succeeded") == 2, "a finished job", 90)


def test_the_scheduler_places_what_is_claimed_and_the_node_warns(new_node: NewNode) -> None:
    node = new_node()
    node.start("--allocatable=cpu=640,nvidia.com/gpu=8")
    node.run_pod("p", "true", resources={"limits": {"nvidia.com/gpu": 1, "cpu": 600}})
    node.wait_for_phase("p", "Succeeded")
    node.eventually(
        lambda: "asked for 1 nvidia.com/gpu, this machine has none: runs on CPU" in node.events("InsufficientResources"), "warned"
    )


def test_who_tolerates_everything_is_not_run(node: ProcessNode) -> None:
    node.run_pod("agent", "touch /files/ran", spec={"tolerations": [{"operator": "Exists"}]})
    node.eventually(lambda: node.events("Refused"), "refused")
    containers = node.eventually(lambda: node.get("pod", "agent")["status"].get("containerStatuses"), "told in the status")
    assert containers[0]["state"]["waiting"]["reason"] == "Refused"
    node.kubectl("delete", "pod", "agent", "--timeout=20s")
    assert not (node.files / "ran").exists()


@pytest.mark.parametrize(
    ("user", "groups", "status"),
    [
        pytest.param("admin-of-nodes", ["system:masters"], 200, id="who-may-use-nodes"),
        pytest.param("somebody", [], 403, id="who-may-not"),
        pytest.param("", [], 401, id="nobody"),
    ],
)
def test_the_api_server_says_who_may_use_the_node(
    control_plane: ControlPlane, node: ProcessNode, user: str, groups: list[str], status: int
) -> None:
    node.run_pod("p", "echo hello")
    node.wait_for_phase("p", "Succeeded")
    port = node.get("node", node.name)["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if user:
        _load_identity(context, control_plane.kubeconfig_for(user, groups), node.directory)
    url = f"https://127.0.0.1:{port}/containerLogs/{node.namespace}/p/main"
    assert _status(urllib.request.Request(url), context) == status


def test_a_service_account_may_read_logs_once_it_is_allowed(node: ProcessNode) -> None:
    node.run_pod("p", "echo hello")
    node.wait_for_phase("p", "Succeeded")
    port = node.get("node", node.name)["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def status(account: str) -> int:
        token = node.kubectl("create", "token", account).strip()
        url = f"https://127.0.0.1:{port}/containerLogs/{node.namespace}/p/main"
        return _status(urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"}), context)

    assert status("default") == 403
    node.kubectl("create", "serviceaccount", "reader")
    binding = f"{node.name}-reader"
    node.kubectl(
        "create", "clusterrolebinding", binding, "--clusterrole=system:kubelet-api-admin",
        f"--serviceaccount={node.namespace}:reader",
    )  # fmt: skip
    assert status("reader") == 200
    node.kubectl("delete", "clusterrolebinding", binding)


def test_two_processes_cannot_run_one_node(node: ProcessNode) -> None:
    done = node.run()
    assert (done.returncode, "Another process runs a node in" in done.stderr) == (3, True)


def _load_identity(context: ssl.SSLContext, kubeconfig: Path, directory: Path) -> None:
    user = next(iter(read(kubeconfig).users.values()))
    pem = directory / "identity.pem"
    pem.write_bytes(base64.b64decode(user.client_certificate_data) + b"\n" + base64.b64decode(user.client_key_data))
    context.load_cert_chain(pem)


def _status(request: urllib.request.Request, context: ssl.SSLContext) -> int:
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
