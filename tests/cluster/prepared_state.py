"""A state directory with all credentials, of a cluster that was not started."""

from __future__ import annotations

from pathlib import Path

from shunter.cluster.credentials import prepare_credentials
from shunter.cluster.state_dir import StateDir


def prepared(tmp_path: Path, port: int = 12345) -> StateDir:
    state = StateDir(tmp_path / "state")
    state.create()
    prepare_credentials(state, port)
    return state
