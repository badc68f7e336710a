"""`shunter migrate explain`, as people call it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.migrate.calls import migrate

pytestmark = pytest.mark.integration


def test_ids_and_fields_are_explained(folder: Path) -> None:
    done = migrate("explain", "RESTART001", "cleanPodPolicy", folder=folder)
    assert done.returncode == 0
    assert "RESTART001: restartPolicy Always becomes OnFailure" in done.stdout
    assert "spec.runPolicy.cleanPodPolicy" in done.stdout


def test_what_is_unknown_is_said_with_what_is_close(folder: Path) -> None:
    done = migrate("explain", "RESTART01", folder=folder)
    assert done.returncode == 1
    assert "Did you mean RESTART001" in done.stderr
