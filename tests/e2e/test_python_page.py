"""The uses of docs/python.md, as the page has them, on a cluster with one job that fails."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.running_cluster import REPOSITORY, Cluster

pytestmark = pytest.mark.timeout(240)

SECTIONS = (REPOSITORY / "docs/python.md").read_text().split("\n## ")[1:]
USES = {
    section.partition("\n")[0]: "\n".join(line[4:] for line in section.splitlines() if line.startswith("    ") or not line)
    for section in SECTIONS
}
PRINTED = {
    "Run a program": r"\[node-1\] trained \['--lr', '3e-4'\](.*\n)*.* failed.* exit code 2: error: no data\n",
    "Make the objects of a job, without a cluster": r"ConfigMap code-[0-9a-f]{10}-0\nTrainJob train\n",
    "Ask what memory a training needs": r"\S+ fits.*\n\S+ fits.*\n",
    "List jobs and why they do not train": r"TrainJob train Failed .*error: no data\n",
    "Diagnose a job": r"certain rank 0 ended with exit code 2: error: no data",
}
TRAIN = """\
import os, sys, time
print("trained", sys.argv[1:], flush=True)
if os.environ["RANK"] == "0":
    time.sleep(1)
    print("error: no data", flush=True)
    sys.exit(2)
time.sleep(60)
"""


def test_every_use_of_the_page_does_what_the_command_does(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    assert USES.keys() == PRINTED.keys()
    (tmp_path / "train.py").write_text(TRAIN)
    for title, use in USES.items():
        program = use.replace('"default"', f'"{namespace}"').replace("nodes=2, args", f'nodes=2, namespace="{namespace}", args')
        environment = {**cluster.environment, "KUBECONFIG": str(cluster.kubeconfig)}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, (title, done.stderr)
        assert re.search(PRINTED[title].replace("NAMESPACE", namespace), done.stdout), (title, done.stdout, done.stderr)
