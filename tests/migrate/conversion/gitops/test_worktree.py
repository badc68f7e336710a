"""Whether git can bring back what is about to be changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shunter.migrate.conversion.gitops.worktree import unsaved

pytestmark = pytest.mark.integration


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.yaml").write_text("a: 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    return tmp_path


def test_what_is_committed_is_safe(repository: Path) -> None:
    (repository / "elsewhere.yaml").write_text("b: 1\n")
    assert unsaved(repository / "jobs") == []
    assert unsaved(repository / "jobs" / "a.yaml") == []


def test_changed_unknown_and_ignored_files_are_named(repository: Path) -> None:
    (repository / "jobs" / "a.yaml").write_text("a: 2\n")
    (repository / "jobs" / "b.yaml").write_text("b: 1\n")
    (repository / ".gitignore").write_text("c.yaml\n")
    (repository / "jobs" / "c.yaml").write_text("c: 1\n")
    assert unsaved(repository / "jobs") == [
        "jobs/a.yaml has changes",
        "jobs/b.yaml is not known to git",
        "jobs/c.yaml is ignored by git",
    ]


def test_outside_of_git_nothing_is_safe(tmp_path: Path) -> None:
    assert unsaved(tmp_path) == [f"{tmp_path} is in no git working tree"]


def test_what_git_cannot_tell_of_is_not_safe(repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(b"torn")
    assert unsaved(repository / "jobs") == [f"git status does not answer for {repository / 'jobs'}"]


def test_of_a_link_it_is_what_it_leads_to_that_must_be_safe(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "b.yaml"
    elsewhere.write_text("b: 1\n")
    (repository / "jobs" / "b.yaml").symlink_to(elsewhere)
    git(repository, "add", ".")
    git(repository, "commit", "-m", "a link")
    assert unsaved(repository / "jobs") == []
    assert unsaved(repository / "jobs" / "b.yaml") == [f"{elsewhere} is in no git working tree"]


def test_ignored_files_that_are_no_manifests_are_not_in_the_way(repository: Path) -> None:
    (repository / ".gitignore").write_text(".venv/\n__pycache__/\nout/\n")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "ignore")
    for name in (".venv/schema.json", "jobs/__pycache__/a.pyc", "jobs/out/b.yaml"):
        (repository / name).parent.mkdir()
        (repository / name).write_text("")
    assert unsaved(repository) == ["jobs/out/b.yaml is ignored by git"]
    assert unsaved(repository / "jobs" / "__pycache__" / "a.pyc") == ["jobs/__pycache__/a.pyc is ignored by git"]
