"""The directory of a cluster."""

import os
from pathlib import Path

import pytest

from shunter.cluster.state_dir import StateDir, default_state_dir
from shunter.errors import EnvironmentProblem


def test_a_directory_below_a_file_is_refused_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem) as error:
        StateDir(tmp_path / "file" / "below").create()
    assert "--state-dir" in error.value.remedy


def test_the_state_directory_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHUNTER_STATE_DIR", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert default_state_dir() == Path("/somewhere/shunter/default")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert default_state_dir() == Path(os.path.expanduser("~/.local/state/shunter/default"))
