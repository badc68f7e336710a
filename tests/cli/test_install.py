"""`install`, `uninstall`: what they say before any cluster is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.cli.install import Screen, install, named_cluster, read_values
from shunter.cli.output.console import ObjectForm
from shunter.errors import InputError
from shunter.install.changes import Change


def test_objects_are_printed_only_where_nothing_is_installed() -> None:
    with pytest.raises(InputError, match="-o prints objects and installs nothing"):
        install(form=ObjectForm.yaml)


def test_a_cluster_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(InputError, match="no cluster was named"):
        named_cluster(None, "")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"a: [", "not YAML"),
        (b"a: \xff", "not YAML"),
        (b"replicas: 1\nreplicas: 2", "not YAML: key 'replicas' is duplicated"),
        (b"- replicas", "is not a mapping"),
        (None, "No such file"),
    ],
    ids=["not YAML", "no text", "a key twice", "a list", "no file"],
)
def test_a_values_file_that_holds_none_is_named(tmp_path: Path, content: bytes | None, named: str) -> None:
    path = tmp_path / "values.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=f"{path}.*{named}"):
        read_values(path)


def test_an_empty_values_file_sets_nothing(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text("# all as it comes\n")
    assert read_values(path) == {}


def test_changes_are_lines_with_the_fields_and_what_is_unchanged_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen(dry_run=True) as screen:
        screen.begin(3)
        screen.doing("Role a/b")
        screen.done(Change("changed", "Role a/b", ("rules", "metadata.labels[x]")))
        screen.done(Change("unchanged", "Role a/c"))
        screen.done(Change("unchanged", "Role a/d"))
    assert capsys.readouterr().out.splitlines() == ["would be changed Role a/b: rules, metadata.labels[x]", "2 unchanged"]
