"""A pod's port keeps its number where it is free on this machine; what stands for it otherwise lasts as long as the pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.cluster.node.runtime.pod_ports import PortTable


@pytest.mark.integration
def test_a_port_is_the_same_for_all_who_mean_the_same_pod_and_survives_a_restart(tmp_path: Path) -> None:
    table = PortTable(tmp_path / "ports.json")
    first = table.port(("ns", "a"), 45454)
    second = table.port(("ns", "b"), 45454)
    assert first != second
    assert table.port(("ns", "a"), 45454) == first
    assert PortTable(tmp_path / "ports.json").port(("ns", "b"), 45454) == second


@pytest.mark.integration
def test_a_port_is_free_again_when_its_pod_is_gone(tmp_path: Path) -> None:
    table = PortTable(tmp_path / "ports.json")
    table.keep({("ns", "a")})
    table.port(("ns", "a"), 18454)
    table.port(("ns", "unseen"), 18455)
    table.keep(set())
    assert table.port(("ns", "b"), 18454) == 18454
    assert table.port(("ns", "unseen"), 18455) == 18455
