"""docs/openshift.md, step by step, as far as it can run on a control plane that is not OpenShift's."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.process_cluster import ProcessCluster
from conformance.test_install_page import Step, cluster, steps

__all__ = ["cluster"]

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(600)]


def is_openshifts(step: Step) -> bool:
    return step.lead.endswith("*(OpenShift only)*:")


def test_every_step_that_needs_no_openshift_works(cluster: ProcessCluster, tmp_path: Path) -> None:
    cluster.must("kubectl create namespace openshift-monitoring")
    said: dict[str, str] = {}
    for step in steps("openshift.md"):
        if not is_openshifts(step):
            print(f"docs/openshift.md:{step.line}\n{step.script}")
            said[step.section] = said.get(step.section, "") + cluster.must(f"cd {tmp_path}\n{step.script}")
    print(said)
    assert "successfully rolled out" in said["Install"]
    assert "trainjob.trainer.kubeflow.org/hello condition met" in said["Security context constraints"]
    assert "requests.nvidia.com/gpu  0     8" in said["Quotas"]
    assert "[node-0] 2" in said["What people type"]
    assert said["Taking over from OpenShift AI"].count("unchanged") == 2
    assert "name: torch-distributed" in (tmp_path / "runtimes-before.yaml").read_text()


def test_only_these_steps_need_openshift() -> None:
    words = [" ".join(step.script.split()[:6]) for step in steps("openshift.md") if is_openshifts(step)]
    assert words == [
        "oc -n team-a adm policy add-scc-to-user",
        "oc apply -n team-a -f -",
        "oc create clusterresourcequota team-a --project-label-selector=team=a --hard=requests.nvidia.com/gpu=16",
        "oc patch datasciencecluster default-dsc --type=merge \\",
    ]
