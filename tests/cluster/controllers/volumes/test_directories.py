"""The directories of volumes, removed with what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shunter.cluster.controllers.volumes.directories import is_to_be_emptied, remove_tree
from shunter.cluster.controllers.volumes.views import DIRECTORY_FINALIZER, VOLUME_PROTECTION, Volume

DELETED = {"deletionTimestamp": "2026-11-21T12:00:00Z"}


@pytest.mark.parametrize(
    ("metadata", "emptied"),
    [
        pytest.param({"finalizers": [DIRECTORY_FINALIZER]}, False, id="in use"),
        pytest.param({**DELETED, "finalizers": [DIRECTORY_FINALIZER, VOLUME_PROTECTION]}, False, id="a claim has it still"),
        pytest.param({**DELETED, "finalizers": [DIRECTORY_FINALIZER]}, True, id="no claim has it any more"),
        pytest.param({**DELETED, "finalizers": ["others"]}, False, id="emptied already, or not ours"),
    ],
)
def test_a_directory_is_emptied_when_its_volume_goes_and_no_claim_has_it(metadata: dict[str, Any], *, emptied: bool) -> None:
    assert is_to_be_emptied(msgspec.convert({"metadata": {"name": "v", "uid": "v1", **metadata}}, Volume)) is emptied


def test_a_directory_is_removed_with_all_that_is_in_it_once_or_again(tmp_path: Path) -> None:
    (tmp_path / "v" / "deep").mkdir(parents=True)
    (tmp_path / "v" / "deep" / "file").touch()
    for _ in range(2):
        remove_tree(tmp_path / "v")
    assert not (tmp_path / "v").exists()
