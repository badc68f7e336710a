"""The cgroup drivers against directories that look like the kernel's."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from shunter.cluster.node.runtime.cgroups import CgroupsV1, CgroupsV2, Group, Limits, NoCgroups, find_cgroups

LIMITS = Limits(memory=64 << 20, cpu=Fraction(1, 2))


def test_version_1_writes_one_tree_per_controller(tmp_path: Path) -> None:
    group = CgroupsV1(tmp_path, "sh1").create("uid/main.0", LIMITS)
    memory, cpu = tmp_path / "memory/sh1/uid/main.0", tmp_path / "cpu/sh1/uid/main.0"
    assert (memory / "memory.limit_in_bytes").read_text() == str(64 << 20)
    assert (cpu / "cpu.cfs_quota_us").read_text() == "50000"
    assert group == Group((str(memory / "cgroup.procs"), str(cpu / "cgroup.procs")), (str(memory / "memory.oom_control"),))


def test_version_2_enables_controllers_on_the_way_down(tmp_path: Path) -> None:
    (tmp_path / "sh1").mkdir()
    group = CgroupsV2(tmp_path, "sh1").create("uid/main.0", LIMITS)
    leaf = tmp_path / "sh1/uid/main.0"
    for parent in (tmp_path / "sh1", tmp_path / "sh1/uid"):
        assert (parent / "cgroup.subtree_control").read_text() == "+memory +cpu"
    assert (leaf / "memory.max").read_text() == str(64 << 20)
    assert (leaf / "memory.oom.group").read_text() == "1"
    assert (leaf / "cpu.max").read_text() == "50000 100000"
    assert group == Group((str(leaf / "cgroup.procs"),), (str(leaf / "memory.events"),))


@pytest.mark.parametrize("driver", [CgroupsV1, CgroupsV2])
def test_a_container_without_limits_gets_no_group(tmp_path: Path, driver: type[CgroupsV1 | CgroupsV2]) -> None:
    assert driver(tmp_path, "sh1").create("uid/main.0", Limits()) == Group()
    assert not list(tmp_path.rglob("main.0"))


def test_a_machine_without_cgroups_has_no_limits(tmp_path: Path) -> None:
    driver = find_cgroups("sh1", tmp_path)
    assert isinstance(driver, NoCgroups)
    assert driver.create("uid/main.0", LIMITS) == Group()


def test_a_tiny_share_is_still_a_share(tmp_path: Path) -> None:
    CgroupsV1(tmp_path, "sh1").create("uid/main.0", Limits(cpu=Fraction(1, 1000)))
    assert (tmp_path / "cpu/sh1/uid/main.0/cpu.cfs_quota_us").read_text() == "1000"
