"""Ports for programs that start later: no outgoing connection may get them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from shunter.cluster import free_ports

pytestmark = pytest.mark.integration


def system_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "range"
    path.write_text(text)
    monkeypatch.setattr(free_ports, "_LINUX_RANGE", path)


def test_a_port_is_none_that_outgoing_connections_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system_range(tmp_path, monkeypatch, "32768\t60999\n")
    assert {free_ports.free_port() in free_ports.BELOW_EPHEMERAL for _ in range(100)} == {True}


def test_where_outgoing_connections_get_all_ports_the_system_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system_range(tmp_path, monkeypatch, "1024\t65535\n")
    assert free_ports.is_free(free_ports.free_port())


def test_a_port_that_is_listened_on_or_taken_is_not_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system_range(tmp_path, monkeypatch, "32768\t60999\n")
    first = free_ports.free_port()
    with socket.create_server(("127.0.0.1", first)):
        assert not free_ports.is_free(first)
        assert not free_ports.is_free(first, "")
        second = free_ports.free_port(among=[first, first + 1, first + 2], taken=[first + 1])
        assert second not in (first, first + 1)


@pytest.mark.parametrize("number", [-1, 0, 65536, 99_999_999])
def test_what_is_no_port_is_not_free(number: int) -> None:
    assert not free_ports.is_free(number)
