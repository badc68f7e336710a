"""How a container's root is put together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shunter.cluster.node.launch import rootfs


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_file_system_that_is_unmounted_meanwhile_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rootfs, "_host_mounts", lambda hidden: [("/no/such/directory", "tmpfs"), ("/no/such/share", "nfs4")])
    (tmp_path / "root").mkdir()
    rootfs._add_host_mounts(str(tmp_path), str(tmp_path / "root"), [])
    assert os.listdir(tmp_path) == ["root"]
