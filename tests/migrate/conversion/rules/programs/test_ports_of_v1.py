"""Programs that have the port at which v1's pods meet are told of; other numbers are not."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, limits, python, shell


def told(command: list[str], kind: str = "PyTorchJob") -> list[str]:
    return limits(converted(command, kind))


@pytest.mark.parametrize(
    "code",
    [
        "for port in range(22000, 24000, 8): probe(port)",
        "for port in range(22000, 23457, 1456): probe(port)",
        "candidates = range(23400, 23500)\nfor each in candidates:\n    socket.create_connection((host, each))",
        "PORT = 0x5ba0",
        "where = 0x5ba0\nserver.bind(('', where))",
        "port = 23000 + 456\nopen_channel(port)",
        "server.bind(('', 24000-544))",
        "port = 23000 + 456 + rank",
    ],
)
def test_python_that_goes_through_ports_with_the_one_of_v1_is_told_of(code: str) -> None:
    assert "HOST006" in told(python(f"{code}\ntrain()"))


@pytest.mark.parametrize(
    "text",
    [
        "for p in $(seq 23450 2 23460); do nc -z $MASTER_ADDR $p; done",
        "for p in {23450..23460..3}; do nc -z $MASTER_ADDR $p; done",
        "for p in {23450..23460}; do\n  (echo > /dev/tcp/$MASTER_ADDR/$p) && break\ndone",
        "nc -z $MASTER_ADDR 23450-23460",
        "grep /proc/net/tcp -e :5BA0",
        "nc -z $MASTER_ADDR $((23000 + 456))",
    ],
)
def test_a_shell_that_goes_through_ports_with_the_one_of_v1_is_told_of(text: str) -> None:
    assert "HOST006" in told(shell(f"{text}\npython train.py"))


@pytest.mark.parametrize(
    "code",
    [
        "for port in range(22000, 23501, 500): probe(port)",
        "for port in range(22000, 24000, 1000): probe(port)",
        "for step in range(23000, 24000): train(step)",
        "milestones = {23000, 24000}",
        "ports = {23000, 24000}",
        "color = 0x5ba0",
        "steps = 23000 + 456",
        "port = 23000 + 457",
        "port = base + 23000 + 456",
        "port = 23000 + 456 * 2",
        "port = 23000 + 456 + 1",
        "port = 23000 + 456 - 1",
        "port = 23000 + 456 << 1",
        "port = (23000 + 456) * 2",
        "port = 2 * (23000 + 456)",
        "port = 8 & 23000 + 456",
        "port = 23000 + 456.5",
    ],
)
def test_numbers_of_python_that_are_no_ports_are_not_told_of(code: str) -> None:
    assert told(python(f"{code}\ntrain()")) == []


@pytest.mark.parametrize(
    "text",
    [
        "python train.py --sizes {22000,23500}",
        "ls imagenet-{23000..23999}.tar",
        "for s in $(seq 23000 24000); do ls ckpt-$s; done",
        "for s in $(seq 23000 24000); do ls ckpt-$s; done; echo $MASTER_PORT",
        "for s in $(seq 23000 24000); do ls ckpt-$s; done; export REPORT=import",
        "for p in $(seq 23000 500 24000); do nc -z $MASTER_ADDR $p; done",
        "nc -z $MASTER_ADDR 23450 23460",
    ],
)
def test_numbers_of_a_shell_that_are_no_ports_are_not_told_of(text: str) -> None:
    assert told(shell(f"{text}\npython train.py")) == []


@pytest.mark.parametrize(
    "command",
    [
        python("for port in range(6000, 8000, 500): probe(port)\ntrain()"),
        python("size={6000, 7000}\ntrain()"),
        shell("ls data-{6000..6999}.tfrecord\npython train.py"),
        shell("for s in $(seq 6000 6999); do ls ckpt-$s; done\npython train.py"),
    ],
)
def test_numbers_that_are_no_ports_are_not_told_of_in_a_jax_job(command: list[str]) -> None:
    assert told(command, "JAXJob") == []
