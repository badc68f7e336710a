"""Level `plain`: what a pod leaves on the disk."""

from __future__ import annotations

import os
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


def test_directories_are_opened_before_they_are_removed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = [tmp_path / "pod", tmp_path / "pod" / "volumes"]
    closed[1].mkdir(parents=True)
    modes: list[list[int]] = []

    def look(*_arguments: object, **_options: object) -> None:
        modes.append([directory.stat().st_mode & 0o777 for directory in closed])

    for directory in reversed(closed):
        directory.chmod(0)
    monkeypatch.setattr(shutil, "rmtree", look)
    remove_directory(tmp_path / "pod")
    assert modes == [[0, 0], [0o700, 0o700]]


def test_a_directory_of_another_owner_is_warned_of_and_keeps_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "pod" / "volumes").mkdir(parents=True)
    passes: list[str] = []

    def refuse(*_arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(shutil, "rmtree", lambda path, **_options: passes.append(path))
    monkeypatch.setattr(os, "chmod", refuse)
    remove_directory(tmp_path / "pod")
    assert "Operation not permitted" in caplog.text
    assert "delete it as its owner" in caplog.text
    assert len(passes) == 2, "what can be deleted is, whatever cannot be opened"


def test_a_directory_that_stays_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shutil, "rmtree", lambda *_args, **_options: None)
    remove_directory(tmp_path)
    assert f"{tmp_path} of a pod that has ended cannot be removed" in caplog.text


def test_a_directory_that_is_gone_already_is_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    remove_directory(tmp_path / "gone")
    assert caplog.text == ""
