"""What a process is told when the kernel does not let it into a cgroup."""

from __future__ import annotations

import pytest

from shunter.cluster.node.launch.cgroup_files import CgroupFiles


def test_a_refusal_names_the_file() -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        CgroupFiles(["/dev/zero", "/dev/full"]).join()
