"""Programs that pods find in their PATH."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shunter.cluster.node.programs.shims import write_shims


@pytest.mark.integration
def test_it_is_delivered_as_one_file_that_runs(tmp_path: Path) -> None:
    write_shims(tmp_path / "bin")
    target = tmp_path / "kube"
    target.mkdir()
    subprocess.run([tmp_path / "bin/kubectl-delivery"], env={"PATH": "/usr/bin:/bin", "TARGET_DIR": str(target)}, check=True)
    assert [path.name for path in target.iterdir()] == ["kubectl"]
    done = subprocess.run([target / "kubectl", "exec", "p", "--", "ls"], env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")


@pytest.mark.integration
def test_it_takes_the_images_python_where_the_nodes_is_not(tmp_path: Path) -> None:
    write_shims(tmp_path / "bin")
    program = tmp_path / "bin/kubectl"
    content = program.read_bytes()
    program.write_bytes(content.replace(sys.executable.encode(), b"/no/such/python"))
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run([program, "get"], env={"PATH": path}, capture_output=True, text=True, check=False)
    assert "only supports" in done.stderr
    done = subprocess.run([program, "get"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        "error: kubectl as Shunter's node delivers it needs Python 3.11 or newer in this image",
    )
