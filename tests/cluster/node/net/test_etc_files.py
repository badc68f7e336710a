"""The files that tell a container which hosts have which names."""

from __future__ import annotations

from typing import Any

from shunter.cluster.node.net.etc_files import hosts_file, resolver_file

POD: Any = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"subdomain": "job"}}


def test_hosts_name_the_pod_in_full() -> None:
    pod = {**POD, "spec": {"subdomain": "job", "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "b"]}]}}
    lines = hosts_file(pod, "p-0", "10.1.2.3").splitlines()
    assert "10.1.2.3\tp-0.job.ns.svc.cluster.local\tp-0" in lines
    assert "1.2.3.4\ta\tb" in lines


def test_a_pod_that_overrides_its_host_name_has_no_domain() -> None:
    pod = {**POD, "spec": {"subdomain": "job", "hostnameOverride": "my.own"}}
    assert "10.1.2.3\tmy.own" in hosts_file(pod, "my.own", "10.1.2.3").splitlines()


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
