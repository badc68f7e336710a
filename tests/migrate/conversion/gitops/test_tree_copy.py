"""The copy of a tree, from which nothing that is written reaches the original."""

from __future__ import annotations

from pathlib import Path

from shunter.migrate.conversion.gitops.tree_copy import copy_tree


def test_what_is_written_through_a_link_of_the_copy_stays_in_the_copy(tmp_path: Path) -> None:
    root, copy, outside = tmp_path / "root", tmp_path / "copy", tmp_path / "outside.yaml"
    (root / "base").mkdir(parents=True)
    (root / "base" / "job.yaml").write_text("inside")
    outside.write_text("outside")
    (root / "absolute.yaml").symlink_to(root / "base" / "job.yaml")
    (root / "relative.yaml").symlink_to("base/job.yaml")
    (root / "outside.yaml").symlink_to(outside)
    copy_tree(root, copy)
    (copy / "absolute.yaml").write_text("changed")
    assert [(copy / name).read_text() for name in ("base/job.yaml", "relative.yaml")] == ["changed", "changed"]
    (copy / "outside.yaml").write_text("changed")
    assert [path.read_text() for path in (root / "base" / "job.yaml", outside)] == ["inside", "outside"]


def test_hidden_folders_stay_behind_and_hidden_files_come_along(tmp_path: Path) -> None:
    (tmp_path / "root" / ".git").mkdir(parents=True)
    (tmp_path / "root" / ".env").write_text("A=1")
    (tmp_path / "root" / "broken").symlink_to("nowhere")
    copy_tree(tmp_path / "root", tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == [".env", "broken"]
