"""In which order the files of a tree of kustomizations are made and written, so that a run that is killed can go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shunter.migrate.conversion.gitops.overlay_topics import PATCH_FILE
from shunter.migrate.conversion.source.kustomization import Kustomization

CONFIGURATION_FILE = "trainjob-kustomizeconfig.yaml"
OVERLAY_RUNTIMES_FILE = "trainjob-runtimes.yaml"


def bases_first(found: list[Kustomization]) -> list[Kustomization]:
    """Bases before their overlays, so that a base's own patches exist when those of its overlays are made."""
    by_directory = {each.directory.resolve(): each for each in found}
    ordered: dict[Path, Kustomization] = {}

    def visit(each: Kustomization) -> None:
        place = each.directory.resolve()
        if place in ordered or place not in by_directory:
            return
        del by_directory[place]
        for name in ("resources", "bases", "components"):
            for path in each.references(name):
                base = by_directory.get(path.resolve())
                if base is not None:
                    visit(base)
        ordered[place] = each

    for each in found:
        visit(each)
    return list(ordered.values())


def in_order(texts: Mapping[Path, str | None], bases_first: list[Path], removed: Mapping[Path, Path]) -> dict[Path, str | None]:
    """New files that are not named yet; kustomizations from the outermost to the bases, each right behind the files of its
    patches that go (one that is not named would be taken for a job); all else."""
    outermost_first = {path: -number for number, path in enumerate(bases_first)}

    def rank(path: Path) -> tuple[int, int, bool]:
        of = removed.get(path, path)
        if of in outermost_first:
            return 1, outermost_first[of], path == of
        return (0 if path.name in (CONFIGURATION_FILE, PATCH_FILE, OVERLAY_RUNTIMES_FILE) else 2), 0, False

    return {path: texts[path] for path in sorted(texts, key=rank)}
