"""Level `plain`: what a pod leaves on the disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shunter.cluster.node.runtime.plain import remove_directory


def test_a_directory_that_its_program_closed_is_removed(tmp_path: Path) -> None:
    closed = tmp_path / "pod" / "volumes"
    closed.mkdir(parents=True)
    (closed / "file").touch()
    closed.chmod(0)
    remove_directory(tmp_path / "pod")
    assert not (tmp_path / "pod").exists()


def test_a_directory_that_stays_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shutil, "rmtree", lambda *_args, **_options: None)
    remove_directory(tmp_path)
    assert f"{tmp_path} of a deleted pod cannot be removed" in caplog.text


def test_a_directory_that_is_gone_already_is_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    remove_directory(tmp_path / "gone")
    assert caplog.text == ""
