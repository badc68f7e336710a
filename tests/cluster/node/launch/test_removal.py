"""What a pod left is removed as far as it can be, and what could not be removed is said."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from shunter.cluster.node.launch import removal


def test_one_that_cannot_be_unmounted_keeps_no_other_and_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, free = tmp_path / "held", tmp_path / "free"
    for directory in (held, free):
        (directory / "below").mkdir(parents=True)

    def unmount_below(directory: str) -> None:
        if directory == str(held):
            raise OSError(errno.EBUSY, "Device or resource busy", directory)

    monkeypatch.setattr(removal, "unmount_below", unmount_below)
    with pytest.raises(OSError, match="Device or resource busy") as raised:
        removal.remove_trees({"directories": [str(held), str(free), str(tmp_path / "gone")]})
    assert raised.value.filename == str(held)
    assert held.exists(), "what is mounted in it is not the pod's alone"
    assert not free.exists()
