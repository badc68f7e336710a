"""Which cluster is meant, by what $KUBECONFIG lists."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shunter.cluster.state_dir import Record, StateDir
from shunter.cluster.target import embedded_at, is_named
from shunter.kube.kubeconfig import listed

SERVER = "https://127.0.0.1:39009"


@pytest.mark.parametrize(("value", "names"), [("", False), (":", False), ("::", False), (":/a/config", True), ("/a:/b", True)])
def test_only_a_file_that_the_variable_names_is_a_choice(value: str, names: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ~/.kube/config that merely exists may be production."""
    monkeypatch.setenv("KUBECONFIG", value.replace(":", os.pathsep))
    assert is_named(None, "") is names
    assert bool(listed()) is names


@pytest.mark.parametrize("value", ["{}", ":{}", "/elsewhere/config:{}"])
def test_the_embedded_cluster_is_known_wherever_its_file_stands_in_the_list(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record(server=SERVER, supervisor=1)
    monkeypatch.setattr(StateDir, "read_record", lambda state: record if state.root == tmp_path else None)
    monkeypatch.setenv("KUBECONFIG", value.format(tmp_path / "kubeconfig").replace(":", os.pathsep))
    found = embedded_at(SERVER, None)
    assert found is not None
    assert found.root == tmp_path
    assert embedded_at("https://other:6443", None) is None
