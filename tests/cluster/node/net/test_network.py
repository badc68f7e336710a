"""Subnets, and the addresses of pods in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.cluster.node.net.network import Network, choose_network
from shunter.errors import EnvironmentProblem

HEADER = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"


def test_a_subnet_that_is_routed_is_not_chosen(tmp_path: Path) -> None:
    routes = tmp_path / "route"
    routes.write_text(HEADER)
    first = choose_network(tmp_path, routes)
    assert choose_network(tmp_path, routes) == first
    octets = [int(number) for number in first.subnet.split(".")]
    destination = f"00{octets[2]:02X}{octets[1]:02X}{octets[0]:02X}"
    routes.write_text(f"{HEADER}eth0\t{destination}\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n")
    second = choose_network(tmp_path, routes)
    assert second.subnet != first.subnet
    assert second.bridge == first.bridge


def test_two_clusters_have_different_bridges(tmp_path: Path) -> None:
    routes = tmp_path / "route"
    routes.write_text(HEADER)
    assert choose_network(tmp_path / "a", routes).bridge != choose_network(tmp_path / "b", routes).bridge


def test_addresses_run_out_with_a_message() -> None:
    network = Network("sh12345678", "10.1.2")
    assert network.free_address(["10.1.2.2", "10.1.2.4"]) == "10.1.2.3"
    assert len(network.host_end("10.1.2.254")) <= 15
    with pytest.raises(EnvironmentProblem, match="All 253 pod addresses"):
        network.free_address(f"10.1.2.{last}" for last in range(2, 255))
