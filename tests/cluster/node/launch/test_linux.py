"""System calls that leave something to see."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ext4 import is_on_ext4, is_spread
from shunter.cluster.node.launch import linux

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="calls Linux")


def test_ext4_spreads_directories(tmp_path: Path) -> None:
    if not is_on_ext4(tmp_path):
        pytest.skip("no ext4 here")
    linux.spread_subdirectories(str(tmp_path))
    assert is_spread(tmp_path)


def test_other_file_systems_leave_them_as_they_are() -> None:
    linux.spread_subdirectories("/proc")


def test_where_the_kernel_cannot_end_processes_with_their_parent_nothing_is_asked_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(linux, "_libc", None)
    linux.die_with_parent(0)
