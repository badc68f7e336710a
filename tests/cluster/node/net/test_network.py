"""Subnets, and the files that tell a container about its network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.node.net.network import Network, choose_network, hosts_file, resolver_file
from shunter.errors import EnvironmentProblem

POD: Any = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"subdomain": "job"}}
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


def test_hosts_name_the_pod_in_full() -> None:
    pod = {**POD, "spec": {"subdomain": "job", "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "b"]}]}}
    lines = hosts_file(pod, "p-0", "10.1.2.3").splitlines()
    assert "10.1.2.3\tp-0.job.ns.svc.cluster.local\tp-0" in lines
    assert "1.2.3.4\ta\tb" in lines


def test_the_resolver_asks_us_and_never_waits_long() -> None:
    assert resolver_file(POD, "10.1.2.1").splitlines() == [
        "nameserver 10.1.2.1",
        "search ns.svc.cluster.local svc.cluster.local cluster.local",
        "options ndots:5 timeout:1 attempts:2",
    ]


def test_a_pods_own_dns_settings_count() -> None:
    config = {
        "nameservers": ["9.9.9.9"],
        "searches": ["x.test"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}],
    }
    merged = {**POD, "spec": {"dnsConfig": config}}
    assert resolver_file(merged, "10.1.2.1").splitlines() == [
        "nameserver 10.1.2.1",
        "nameserver 9.9.9.9",
        "search ns.svc.cluster.local svc.cluster.local cluster.local x.test",
        "options ndots:2 timeout:1 attempts:2 rotate",
    ]
    alone = {**POD, "spec": {"dnsPolicy": "None", "dnsConfig": config}}
    assert resolver_file(alone, "10.1.2.1").splitlines() == ["nameserver 9.9.9.9", "search x.test", "options ndots:2 rotate"]
