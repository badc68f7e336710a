"""`shunter images` on a running cluster: the next container of the image runs in the environment that was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cluster.test_image_builds import wheel

IMAGE = "ghcr.io/acme/greeter:1"
SCRIPT = "python -c 'import greeter, sys; print(greeter.version, sys.prefix)'"


def test_a_container_runs_in_the_environment_that_was_made_for_its_image(cluster: Any, namespace: str, tmp_path: Path) -> None:
    if cluster.kind == "real":
        pytest.skip("environments for images belong to the embedded cluster")
    done = cluster.shunter("images", "add", IMAGE, "--pip", str(wheel(tmp_path)), timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"image: {IMAGE}\n"
    try:
        assert IMAGE in cluster.shunter("images", "list").stdout
        container = {"name": "main", "image": IMAGE, "command": ["sh", "-c", SCRIPT]}
        metadata = {"name": "p", "namespace": namespace}
        spec = {"containers": [container], "restartPolicy": "Never"}
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        cluster.kubectl("wait", "pod/p", "-n", namespace, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s", timeout=90)
        version, prefix = cluster.kubectl("logs", "p", "-n", namespace).split()
        assert (version, Path(prefix).name) == ("1", "1")
        assert "-images/ghcr-io-acme-greeter-1-" in prefix
    finally:
        removed = cluster.shunter("images", "remove", IMAGE)
    assert removed.returncode == 0, removed.stderr
    assert "no image has its own environment" in cluster.shunter("images", "list").stderr
    again = cluster.shunter("images", "rebuild", IMAGE)
    assert again.returncode == 2
    assert f"image {IMAGE} has no separate environment" in again.stderr
