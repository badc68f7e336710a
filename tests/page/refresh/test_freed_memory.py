"""Memory that was freed goes back to the system."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from shunter.page.refresh.freed_memory import return_freed_memory

PAGE = 4096
MIB = 2**20


def resident() -> float:
    """MiB of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / MIB


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what was freed, and can be asked for it")
def test_what_was_freed_below_something_that_is_kept_goes_back() -> None:
    blocks = [bytes([number % 251]) * 2000 for number in range(50_000)]
    last = blocks[-1]
    del blocks
    before = resident()
    return_freed_memory()
    assert resident() < before - 50, last[:1]
