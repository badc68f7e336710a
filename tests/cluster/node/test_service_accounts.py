"""What clients of Kubernetes find in a pod: the token of its service account, the authority of the server, its namespace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, SERVICE_ACCOUNTS
from shunter.cluster.apiserver.admission.service_account import mount_token
from shunter.cluster.node.programs.in_cluster_python import write_sitecustomize
from shunter.cluster.node.runtime.protocol import Level

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

pytestmark = pytest.mark.e2e

ASK = """
import kubernetes
kubernetes.config.load_incluster_config()
try:
    kubernetes.client.CoreV1Api().list_namespaced_pod("default")
except kubernetes.client.ApiException as error:
    print(error.status, error.body)
"""


@pytest.fixture(params=[None, Level.PLAIN], ids=["best-level", "plain"])
def level(request: pytest.FixtureRequest) -> Level | None:
    level: Level | None = request.param
    return level


async def run(node: NodeUnderTest, name: str, command: list[str], **container: object) -> str:
    """The output of a pod of the default account, as the API server lets it in."""
    spec: Json = {"restartPolicy": "Never", "serviceAccountName": "default"}
    spec["containers"] = [{"name": "main", "image": "any", "command": command, **container}]
    mount_token(spec)
    await node.create(name, spec)
    await node.finished(name)
    return await node.log(name)


@pytest.fixture
async def account(node: NodeUnderTest) -> None:
    """As the controllers of a cluster make them."""
    authority = {"name": "kube-root-ca.crt", "namespace": node.namespace}
    data = {"ca.crt": node.connection.tls.ca.decode()}
    await node.client.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": authority, "data": data})
    metadata = {"name": "default", "namespace": node.namespace}
    await node.client.create(SERVICE_ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})


@pytest.mark.usefixtures("account")
async def test_the_official_client_is_known_as_the_default_account(node: NodeUnderTest) -> None:
    said = await run(node, "asks", ["python", "-c", ASK])
    assert said.startswith("403 "), said
    assert f'User \\"system:serviceaccount:{node.namespace}:default\\" cannot list resource \\"pods\\"' in said


@pytest.mark.usefixtures("account")
async def test_programs_that_are_told_the_path_read_token_and_namespace(node: NodeUnderTest) -> None:
    script = (
        "cd /var/run/secrets/kubernetes.io/serviceaccount; cat namespace; echo; ls; cut -c1-3 token; head -1 ca.crt | cut -c1-10"
    )
    said = await run(node, "reads", ["sh", "-c", script])
    assert said.split() == [node.namespace, "ca.crt", "namespace", "token", "eyJ", "-----BEGIN"]


@pytest.mark.usefixtures("account")
async def test_a_pod_that_has_a_python_path_keeps_it(node: NodeUnderTest, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/own_module.py").write_text("print('imported')")
    (tmp_path / "own/sitecustomize.py").write_text("print('customized')")
    volume = {"env": [{"name": "PYTHONPATH", "value": str(tmp_path / "own")}]}
    said = await run(node, "imports", ["python", "-c", "import own_module" + ASK], **volume)
    assert said.splitlines()[:2] == ["customized", "imported"]
    assert said.splitlines()[2].startswith("403 ")


@pytest.mark.parametrize(
    ("own", "said"),
    [
        pytest.param(None, "", id="there is no other"),
        pytest.param("print('customized')", "customized\n", id="there is another"),
        pytest.param("import missing", "ModuleNotFoundError: No module named 'missing'", id="the other one fails"),
    ],
)
def test_interpreters_outside_of_pods_notice_nothing_of_sitecustomize(tmp_path: Path, own: str | None, said: str) -> None:
    write_sitecustomize(tmp_path / "node")
    if own:
        (tmp_path / "sitecustomize.py").write_text(own)
    script = "import sys, sitecustomize; print(len(sys.meta_path), any(p.endswith('/node') for p in sys.path))"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}/node:{tmp_path}"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(len(sys.meta_path))"], capture_output=True, text=True, check=True
    )
    assert said in done.stdout + done.stderr
    if own != "import missing":
        assert done.stdout.splitlines()[-1] == f"{bare.stdout.strip()} False"
