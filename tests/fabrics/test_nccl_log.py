"""Which network NCCL trains over: read off its log, and held against what was asked for."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.fabrics import profiles
from shunter.fabrics.nccl_log import chosen_networks, network_lines, requested_profile

EFA_2_12 = """
test-efa-worker-0:21:21 [0] NCCL INFO Bootstrap : Using eth0:10.11.5.31<0>
test-efa-worker-0:21:21 [0] NCCL INFO NET/OFI Using aws-ofi-nccl 1.5.0aws
test-efa-worker-0:21:21 [0] NCCL INFO NET/OFI Selected Provider is efa (found 1 nics)
test-efa-worker-0:21:21 [0] NCCL INFO Using network AWS Libfabric
NCCL version 2.12.7+cuda11.4
"""
SOCKET_2_27 = """
bert-node-0-0:152:386 [0] NCCL INFO NET/IB : No device found.
bert-node-0-0:152:386 [0] NCCL INFO NET/IB : Using [RO]; OOB eth0:10.0.4.51<0>
bert-node-0-0:152:386 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.4.51<0>
bert-node-0-0:152:386 [0] NCCL INFO Initialized NET plugin Socket
bert-node-0-0:152:386 [0] NCCL INFO Assigned NET plugin Socket to comm
bert-node-0-0:152:386 [0] NCCL INFO Using network Socket
bert-node-0-0:152:386 [0] NCCL INFO ncclCommInitRankConfig comm 0x562b2c1973d0 rank 0 nranks 4 cudaDev 0 - Init START
"""
LOGS = {
    "EFA, 2.12": (EFA_2_12, ("AWS Libfabric",)),
    "TCP, 2.27": (SOCKET_2_27, ("Socket",)),
    "behind torchrun's prefix, with a carriage return": ("[default3]:h:1:9 [3] NCCL INFO Using network IB \r", ("IB",)),
    "each group says it again": (2 * EFA_2_12, ("AWS Libfabric",)),
    "groups differ": (EFA_2_12 + SOCKET_2_27, ("AWS Libfabric", "Socket")),
    "at the level WARN": ("NCCL version 2.30.7+cuda13.3", ()),
    "devices that are found are no choice": ("h:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.4.51<0>", ()),
    "the program's own words": ("Using network Socket for tests", ()),
}  # fmt: skip


@pytest.mark.parametrize(("log", "expected"), LOGS.values(), ids=LOGS)
def test_what_the_log_says(log: str, expected: tuple[str, ...]) -> None:
    assert chosen_networks(log.split("\n")) == expected


def pod(*variables: tuple[str, str], **limits: int) -> Json:
    env = [{"name": name, "value": value} for name, value in variables]
    resources = {
        "limits": {
            {"efa": "vpc.amazonaws.com/efa", "ib": "rdma/ib", "gpu": "nvidia.com/gpu"}[key]: value
            for key, value in limits.items()
        }
    }
    return {"spec": {"containers": [{"name": "sidecar"}, {"name": "node", "env": env, "resources": resources}]}}


ASKED = {
    "by annotation, whatever the pods have": ("efa", [pod(("NCCL_NET", "Socket"))], "efa"),
    "by the devices of a runtime's pods": ("", [pod(efa=32, gpu=8)], "efa"),
    "by the network of a runtime's pods": ("", [pod(("NCCL_NET", "gIB"))], "gib"),
    "by other devices": ("", [pod(ib=8)], "ib"),
    "GPUs alone": ("", [pod(gpu=8)], None),
    "TCP on purpose": ("", [pod(("NCCL_NET", "Socket"), gpu=8)], None),
    "--fabric none": ("none", [pod(gpu=8)], None),
    "a profile of a later release": ("ultra", [pod(gpu=8)], None),
    "no pods": ("", [], None),
}  # fmt: skip


@pytest.mark.parametrize(("name", "pods", "expected"), ASKED.values(), ids=ASKED)
def test_what_was_asked_for(name: str, pods: list[Json], expected: str | None) -> None:
    found = requested_profile(name, pods)
    assert (found.name if found else None) == expected


def test_tcp_is_warned_of_only_where_a_fast_network_was_asked_for() -> None:
    efa = profiles()["efa"]
    assert network_lines(["AWS Libfabric"], efa) == ("AWS Libfabric (NCCL, from the log)", "")
    assert network_lines(["Socket"], None) == ("Socket (NCCL, from the log)", "")
    shown, warning = network_lines(["AWS Libfabric", "Socket"], efa)
    assert shown == "AWS Libfabric, Socket (NCCL, from the log)"
    assert warning.startswith(
        "trains over TCP: NCCL chose Socket and not AWS Libfabric, the network of efa. With NCCL_NET='AWS Libfabric'"
    )


def test_a_log_that_does_not_say_is_no_network() -> None:
    efa = profiles()["efa"]
    assert network_lines([], efa) == (
        "not in the log (yet); NCCL logs it on start with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT",
        "",
    )
    assert network_lines([], None) == network_lines(None, efa) == network_lines(None, None) == ("", "")


def test_every_profile_lets_nccl_say_it() -> None:
    for profile in profiles().values():
        values = {variable.name: variable.value for variable in profile.environment}
        assert (values["NCCL_DEBUG"], values["NCCL_DEBUG_SUBSYS"]) == ("INFO", "INIT"), profile.name
