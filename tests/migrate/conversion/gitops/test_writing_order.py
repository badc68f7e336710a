"""The order in which the files of a tree of kustomizations are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.migrate.conversion.gitops.overlay_topics import PATCH_FILE
from shunter.migrate.conversion.gitops.writing_order import CONFIGURATION_FILE, OVERLAY_RUNTIMES_FILE, bases_first, in_order
from shunter.migrate.conversion.source.kustomization import Kustomization, kustomizations
from shunter.migrate.conversion.source.provider import read

BASE, MIDDLE, PROD = Path("base/kustomization.yaml"), Path("middle/kustomization.yaml"), Path("prod/kustomization.yaml")


def tree(root: Path, **texts: str) -> list[Kustomization]:
    for name, text in texts.items():
        (root / name).mkdir()
        (root / name / "kustomization.yaml").write_text(text)
    return kustomizations(read([str(root)]).files)


def test_bases_come_before_what_refers_to_them_each_once(tmp_path: Path) -> None:
    found = tree(
        tmp_path, a="resources: [../b, ../c]", b="components: [../d]", c="bases: [../d]", d="resources: [job.yaml]", e="{}"
    )
    assert [each.directory.name for each in bases_first(found)] == ["d", "b", "c", "a", "e"]


def test_kustomizations_that_refer_to_each_other_come_to_an_end(tmp_path: Path) -> None:
    found = tree(tmp_path, a="resources: [../b]", b="resources: [../a]")
    assert sorted(each.directory.name for each in bases_first(found)) == ["a", "b"]


@pytest.mark.parametrize("name", [CONFIGURATION_FILE, PATCH_FILE, OVERLAY_RUNTIMES_FILE])
def test_new_files_come_first_and_patches_go_before_the_kustomization_that_named_them(name: str) -> None:
    new, patch, job = Path("prod", name), Path("middle/old-patch.yaml"), Path("base/job.yaml")
    texts: dict[Path, str | None] = {job: "", BASE: "", patch: None, PROD: "", MIDDLE: "", new: ""}
    assert [*in_order(texts, [BASE, MIDDLE, PROD], {patch: MIDDLE})] == [new, PROD, patch, MIDDLE, BASE, job]
