"""What `shunter node` makes of its flags and of this machine."""

from __future__ import annotations

import fcntl
import os
import socket
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.node.process import (
    allocatable_amounts,
    alone,
    checked_address,
    client_authority,
    node_name,
    own_address,
    running_process,
    serving_certificate,
    stop_process,
)
from shunter.cluster.node.runtime.protocol import HostPort
from shunter.errors import EnvironmentProblem, InputError

MACHINE = {"cpu": Fraction(2), "memory": Fraction(2**34), "pods": Fraction(1000)}


def test_claims_go_before_what_the_machine_has() -> None:
    assert allocatable_amounts("cpu=64", MACHINE, strict=False) == {**MACHINE, "cpu": 64}


@pytest.mark.parametrize("text", ["cpu=3", "nvidia.com/gpu=1"])
def test_a_strict_node_claims_no_more_than_there_is(text: str) -> None:
    with pytest.raises(InputError, match="--strict-resources forbids more"):
        allocatable_amounts(text, MACHINE, strict=True)


def test_a_strict_node_may_claim_less() -> None:
    assert allocatable_amounts("cpu=1", MACHINE, strict=True)["cpu"] == 1


def test_a_node_is_called_like_its_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Big-Box.example")
    assert (node_name(""), node_name("mine")) == ("big-box.example", "mine")


@pytest.mark.parametrize("name", ["Upper", "-x", "x_y", "x" * 254])
def test_a_name_that_no_node_can_have_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="is not a node name"):
        node_name(name)


@pytest.mark.integration
def test_the_nodes_address_is_the_one_on_the_way_to_the_server() -> None:
    assert own_address(HostPort("127.0.0.1", 6443)) == "127.0.0.1"
    with pytest.raises(EnvironmentProblem, match=r"No route to the API server at no\.such\.host\.invalid"):
        own_address(HostPort("no.such.host.invalid", 6443))


def test_a_serving_certificate_is_made_or_read(tmp_path: Path) -> None:
    made = serving_certificate(None, "n", "127.0.0.1")
    (tmp_path / "tls.crt").write_bytes(made.certificate)
    (tmp_path / "tls.key").write_bytes(made.key)
    assert serving_certificate(tmp_path, "n", "127.0.0.1") == made
    with pytest.raises(InputError, match=r"--tls-cert-dir: .*tls\.crt cannot be read"):
        serving_certificate(tmp_path / "missing", "n", "127.0.0.1")


def test_certificates_that_are_none_are_named_by_their_flag(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("nothing")
    (tmp_path / "tls.key").write_text("nothing")
    with pytest.raises(InputError, match=r"--tls-cert-dir .* no certificate and its key"):
        serving_certificate(tmp_path, "n", "127.0.0.1")


@pytest.mark.parametrize("content", [b"nothing", b"\xff", b""])
async def test_an_authority_that_is_none_is_named_by_its_flag(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ca.crt").write_bytes(content)
    unused: Any = None
    with pytest.raises(InputError, match=r"--client-ca-file .* holds no certificate"):
        await client_authority(unused, unused, tmp_path / "ca.crt")


def test_an_address_is_no_name() -> None:
    assert checked_address("::1") == "::1"
    for text in ("my-box", "fe80::1%eth0"):
        with pytest.raises(InputError, match=f"--address {text!r} is not an IP address"):
            checked_address(text)


def test_a_name_that_the_api_server_takes_is_one() -> None:
    assert node_name("gpu-1.lab") == "gpu-1.lab"
    for text in ("a..b", "a-.b", "a.-b", "Gpu"):
        with pytest.raises(InputError, match="is not a node name"):
            node_name(text)


def test_one_who_looks_whether_a_node_runs_keeps_none_from_starting(tmp_path: Path) -> None:
    with alone(tmp_path):
        pass
    with open(tmp_path / "lock", "rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(0.05, fcntl.flock, (looking, fcntl.LOCK_UN)).start()
        with alone(tmp_path):
            assert running_process(tmp_path) == os.getpid()


def test_one_process_at_a_time_runs_a_node_on_a_directory(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    assert running_process(directory) == 0
    with alone(directory):
        assert running_process(directory) == os.getpid()
        with pytest.raises(EnvironmentProblem, match="Another process runs a node"), alone(directory):
            pass
    assert running_process(directory) == 0


async def test_a_process_that_ended_by_itself_needs_no_stopping(tmp_path: Path) -> None:
    with alone(tmp_path):
        pass
    assert (tmp_path / "lock").read_text() == str(os.getpid())
    await stop_process(tmp_path)
