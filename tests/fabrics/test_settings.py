"""Verdicts on network settings: which are told of, and which are left alone."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from shunter.fabrics import profiles
from shunter.fabrics.settings import RULES, efa_verdict, variable_verdict, verdicts_of

TOLD = {
    "NCCL_NET=efa": "Libfabric",
    "NCCL_NET=EFA": "Libfabric",
    "NCCL_TIMEOUT=1800": "init_process_group(timeout=",
    "FI_PROVIDER=efa": "aws-ofi-nccl up to 1.5",
    "NCCL_PROTO=simple": "aws-ofi-nccl up to 1.5",
    "FI_EFA_USE_DEVICE_RDMA=1": "libfabric 1.18",
    "NCCL_SOCKET_IFNAME=eth0": "^lo,docker",
    "NCCL_DEBUG=INFO": "not for good",
    "NCCL_DEBUG=trace": "not for good",
    "RDMAV_FORK_SAFE=1": "newer kernels",
    "NCCL_MIN_NCHANNELS=8": "measured",
    "NCCL_BUFFSIZE=8388608": "measured",
}


@pytest.mark.parametrize(("setting", "says"), TOLD.items(), ids=TOLD)
def test_what_is_told_of(setting: str, says: str) -> None:
    verdict = variable_verdict(*setting.split("=", 1))
    assert verdict is not None
    assert (verdict.setting, says in str(verdict)) == (setting, True), str(verdict)
    assert verdict.rule.reason.endswith(".")
    assert verdict.rule.remedy.endswith(".")


@pytest.mark.parametrize(
    "setting",
    ["NCCL_NET=AWS Libfabric", "NCCL_NET=Socket", "NCCL_DEBUG=WARN", "NCCL_SOCKET_IFNAME=^lo,docker", "FI_PROVIDER=cxi", "A=efa",
     "NCCL_PROTO=Simple,LL128"],
)  # fmt: skip
def test_what_is_left_alone(setting: str) -> None:
    assert variable_verdict(*setting.split("=", 1)) is None


def test_every_rule_is_tried() -> None:
    tried = {verdict.rule.title for setting in TOLD if (verdict := variable_verdict(*setting.split("=", 1)))}
    assert tried == {rule.title for rule in RULES}


def test_our_profile_of_efa_does_none_of_it() -> None:
    variables = [{"name": one.name, "value": one.value} for one in profiles()["efa"].environment]
    assert verdicts_of({"kind": "Pod", "spec": {"containers": [{"env": variables}]}}) == []


@pytest.mark.parametrize(
    ("count", "machines", "says"),
    [
        (4, ["p5.48xlarge"], "p5.48xlarge has 32"),
        (32, ["p4d.24xlarge"], "p4d.24xlarge has 4"),
        (4, [], "p4d.24xlarge, p4de.24xlarge, g6e.48xlarge have so many, p5.48xlarge has 32"),
        (3, ["m5.large"], "no known machine has so many"),
        (32, ["p5.48xlarge"], None),
        (31, ["p5.48xlarge"], None),
        (4, ["p4d.24xlarge", "p5.48xlarge"], None),
        (32, [], None),
    ],
)
def test_numbers_of_interfaces(count: int, machines: list[str], says: str | None) -> None:
    verdict = efa_verdict(count, machines)
    assert (verdict is None) is (says is None), verdict
    assert says is None or says in str(verdict)


JOBS: dict[str, tuple[str, list[str]]] = {
    "a PyTorchJob, each setting once": (
        """
        kind: PyTorchJob
        spec:
          pytorchReplicaSpecs:
            Master: {template: {spec: {containers: [{name: pytorch, env: [{name: NCCL_DEBUG, value: INFO}]}]}}}
            Worker: {template: {spec: {containers: [{name: pytorch, env: [{name: NCCL_DEBUG, value: INFO}]}]}}}
        """,
        ["NCCL_DEBUG=INFO"],
    ),
    "INFO about the start only": (
        """
        kind: Pod
        spec: {containers: [{env: [{name: NCCL_DEBUG, value: INFO}, {name: NCCL_DEBUG_SUBSYS, value: INIT}]}]}
        """,
        [],
    ),
    "INFO about more than the start, and in a container beside": (
        """
        kind: Pod
        spec:
          containers:
          - env: [{name: NCCL_DEBUG, value: INFO}]
          - env: [{name: NCCL_DEBUG, value: TRACE}, {name: NCCL_DEBUG_SUBSYS, value: INIT}]
          - env: [{name: NCCL_DEBUG, value: info}, {name: NCCL_DEBUG_SUBSYS, value: "INIT,NET"}]
        """,
        ["NCCL_DEBUG=INFO", "NCCL_DEBUG=TRACE", "NCCL_DEBUG=info"],
    ),
    "a TrainJob": (
        """
        kind: TrainJob
        spec: {trainer: {env: [{name: NCCL_NET, value: efa}], resourcesPerNode: {limits: {vpc.amazonaws.com/efa: 4}}}}
        """,
        ["NCCL_NET=efa", "vpc.amazonaws.com/efa: 4"],
    ),
    "a pod on a machine that is required by affinity": (
        """
        kind: Pod
        spec:
          affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [
            {key: node.kubernetes.io/instance-type, operator: In, values: [p4d.24xlarge]}]}]}}}
          containers: [{name: a, resources: {limits: {vpc.amazonaws.com/efa: "4"}}}]
        """,
        [],
    ),
    "variables from elsewhere": (
        "{kind: Pod, spec: {containers: [{env: [{name: NCCL_TIMEOUT, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}}",
        [],
    ),
    "a ConfigMap": ("{kind: ConfigMap, data: {NCCL_TIMEOUT: '1800', train.py: 'print()'}}", ["NCCL_TIMEOUT=1800"]),
    "shapes that no container has": ("{kind: Pod, spec: {env: 3, containers: [{env: [3, {name: [1]}]}, null]}}", []),
}


@pytest.mark.parametrize(("text", "settings"), JOBS.values(), ids=JOBS)
def test_settings_of_an_object(text: str, settings: list[str]) -> None:
    obj: Any = yaml.safe_load(text)
    assert [verdict.setting for verdict in verdicts_of(obj)] == settings
