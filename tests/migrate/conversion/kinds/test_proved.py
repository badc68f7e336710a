"""Whatever a job of these kinds says, what it becomes is blocked, or proved: its pods are v1's but for what is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options
from shunter.migrate.proof.proving import proof_of

KINDS = {kind.resource.kind: kind for kind in JOB_KINDS if kind.resource.kind != "PyTorchJob"}
PROGRAMS: list[list[str] | None] = [
    None,
    ["python", "train.py"],
    ["sh", "-c", "exec python train.py --rank=$RANK"],
    ["python", "train.py", "--hosts=run-worker-0,run-worker-1"],
]
OF_LAUNCHERS = ["mpirun", "--mca", "plm_rsh_agent", "/etc/mpi/kubexec.sh", "-np", "2", "python", "train.py"]
OF_WORKERS = ["sleep", "infinity"]
ENVIRONMENTS = st.sampled_from([
    [],
    [{"name": "EPOCHS", "value": "3"}],
    [{"name": "RANK", "value": "7"}, {"name": "TF_CONFIG", "value": "{}"}, {"name": "COORDINATOR_PORT", "value": "1"}],
    [{"name": "OMPI_MCA_plm_rsh_agent", "value": "rsh"}, {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
    [{"name": "PRTE_MCA_plm_ssh_agent", "value": "/etc/mpi/kubexec.sh"}],
    [{"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}],
])  # fmt: skip
RESTART_POLICIES = st.sampled_from(["", "Never", "OnFailure", "ExitCode"])


@st.composite
def containers(draw: st.DrawFn, kind: str, role: str) -> list[dict[str, Any]]:
    own = KINDS[kind].container
    training: dict[str, Any] = {"name": own, "image": draw(st.sampled_from(["example.org/train:1", "example.org/other:1"]))}
    own_of_role = [*([OF_LAUNCHERS] if role == "Launcher" else []), *([OF_WORKERS] if kind == "MPIJob" else [])]
    if command := draw(st.sampled_from([*PROGRAMS, *own_of_role])):
        training["command"] = command
    if environment := draw(ENVIRONMENTS):
        training["env"] = environment
    if draw(st.booleans()):
        training["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    port = KINDS[kind].port
    if port and draw(st.booleans()):
        training["ports"] = [{"name": port.name, "containerPort": 7000}]
    sidecar = {"name": "logs", "image": "example.org/logs:1"}
    return draw(st.sampled_from([[training], [training, sidecar], [sidecar, training]]))


@st.composite
def jobs(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    replicas = {}
    are_alike = kind != "MPIJob" and draw(st.booleans())
    template = {"spec": {"containers": draw(containers(kind, ""))}}
    policy = draw(RESTART_POLICIES)
    for role in KINDS[kind].roles:
        count = draw(st.sampled_from([None, 1, 3]))
        if role in ("Master", "Launcher"):
            count = 1
        if role not in ("Launcher", "Worker") and not draw(st.booleans()):
            continue
        replicas[role] = {
            "template": template if are_alike else {"spec": {"containers": draw(containers(kind, role))}},
            **({"replicas": count} if count is not None else {}),
            **({"restartPolicy": chosen} if (chosen := policy if are_alike else draw(RESTART_POLICIES)) else {}),
        }
    if kind == "XGBoostJob" and "Master" not in replicas:
        replicas["Master"] = {**replicas["Worker"], "replicas": 1}
    if "Chief" in replicas:
        replicas.pop("Master", None)
    spec: dict[str, Any] = {KINDS[kind].replica_specs: replicas}
    if kind == "TFJob" and draw(st.booleans()):
        spec["successPolicy"] = "AllWorkers"
    if kind == "TFJob" and draw(st.booleans()):
        spec["enableDynamicWorker"] = True
    if kind == "MPIJob" and draw(st.booleans()):
        spec["slotsPerWorker"] = 2
    if kind == "MPIJob" and draw(st.booleans()):
        spec["mainContainer"] = draw(st.sampled_from(["mpi", "logs"]))
    if draw(st.booleans()):
        spec["runPolicy"] = {"backoffLimit": draw(st.sampled_from([0, 3]))}
    metadata = {"name": "run", "namespace": "team"}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_results_that_are_not_blocked_reach_the_stage_of_pods(kind: str, data: st.DataObject) -> None:
    options = Options(accepted=("MPI001", "MPI003", "TF002"))
    conversion = convert(SourceObject(data.draw(jobs(kind)), "job.yaml"), options)
    if conversion.is_blocked:
        return
    proof = proof_of(conversion, options)
    assert proof.reached == "pods", [finding.message for finding in proof.findings]
