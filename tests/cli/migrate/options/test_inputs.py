"""Which jobs verbs of the migration read: what goes together, and which words are paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.cli.migrate.options.inputs import InputOptions
from shunter.errors import InputError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with a directory `jobs` and files."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "bert").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "given",
    [
        {"files": ["a.yaml"]},
        {"kustomize": ["overlay"]},
        {"files": ["a.yaml"], "kustomize": ["overlay"]},
        {"helm_release": "r"},
        {"helm_release": "r", "namespace": "team"},
        {"cluster": True},
        {"cluster": True, "all_namespaces": True, "selector": "a=b"},
    ],
)
def test_files_and_a_cluster_are_read_with_the_flags_of_theirs(given: dict[str, Any]) -> None:
    InputOptions(**given).require_one_source()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "no input was named"),
        ({"files": []}, "no input was named"),
        ({"namespace": "team"}, "no input was named"),
        ({"cluster": True, "files": ["a.yaml"]}, "--cluster cannot be combined with another input"),
        ({"cluster": True, "helm_release": "r"}, "--cluster cannot be combined with another input"),
        ({"files": ["a.yaml"], "namespace": "team"}, "-n selects jobs of a cluster"),
        ({"kustomize": ["o"], "all_namespaces": True}, "-A selects jobs of a cluster"),
        ({"files": ["a.yaml"], "selector": "a=b"}, "-l selects jobs of a cluster"),
        ({"helm_release": "r", "selector": "a=b"}, "-l selects jobs of a cluster"),
    ],
)
def test_a_flag_that_would_do_nothing_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        InputOptions(**given).require_one_source()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("given", "words", "files", "names"),
    [
        ({}, ["jobs", "bert", "none"], ["jobs", "bert"], ["none"]),
        ({}, ["not-there.yaml"], ["not-there.yaml"], []),
        ({"files": ["a.yaml"]}, ["bert", "b.json"], ["a.yaml", "b.json"], ["bert"]),
        ({"cluster": True}, ["bert"], None, ["bert"]),
        ({"kustomize": ["jobs"]}, ["bert"], None, ["bert"]),
        ({}, [], None, []),
    ],
    ids=["what is there", "a manifest by its name", "beside a file", "of a cluster", "of an overlay", "no words"],
)
def test_a_word_is_a_path_or_the_name_of_a_job(
    given: dict[str, Any], words: list[str], files: list[str] | None, names: list[str]
) -> None:
    """With an input by option a word is a job's name, also where a file is called like the job."""
    found, rest = InputOptions(**given).with_paths(words)
    assert (found.files, rest) == (files, names)
