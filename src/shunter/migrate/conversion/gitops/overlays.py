"""A tree of kustomizations, converted so that every overlay builds what its old build converts to.

Bases are converted as the files that they are. A patch of a v1 job cannot be: what it says depends on the job. So its effect is
taken instead: both trees are built as they are when patches are applied, and the difference becomes a patch of the TrainJob. An
overlay with a patch of a job that is not converted stays as it is. Then each overlay is built in full on both sides and compared
(overlay_check.py).

A run that is killed while it writes must not leave patches of v1 jobs beside TrainJobs: what a patch did cannot be seen any more
once the base is converted. So what others build on is written last (`in_order`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from shunter.migrate.conversion.batch import Batch
from shunter.migrate.conversion.gitops.overlay_conversion import Build, OverlayConversion, Tree, finding_of
from shunter.migrate.conversion.gitops.overlay_topics import LEFT
from shunter.migrate.conversion.gitops.tree_copy import copy_tree
from shunter.migrate.conversion.gitops.worktree import known_kustomizations
from shunter.migrate.conversion.source.kustomization import FILE_NAMES, Kustomization, kustomizations
from shunter.migrate.conversion.source.provider import Input, found_file
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options

_LEFT_BEHIND = "is for v1 jobs that are converted where it builds on them: name a directory above both with -f"


def with_overlays(
    given: Input, texts: Mapping[Path, str], roots: Mapping[Path, Path], options: Options, build: Build
) -> tuple[dict[Path, str | None], list[Finding]]:
    """`texts`, and what kustomizations below `roots` need beside them; `roots` says of directories that were read where their
    files are written."""
    whole: dict[Path, str | None] = {}
    findings: list[Finding] = []
    for root, base in roots.items():
        others = _of_other_roots(given, root) if base != root else set()
        below = {path.relative_to(base): text for path, text in texts.items() if path.is_relative_to(base)}
        below = {path: text for path, text in below.items() if path not in others}
        tree = converted_tree(root, given, below, options, build)
        whole |= {base / path: text for path, text in tree.texts.items()}
        findings += tree.findings
    folders = [root.resolve() for root in roots]
    for each in kustomizations(given.files):
        if not any(each.directory.resolve().is_relative_to(folder) for folder in folders):
            for patch in each.v1_patches:
                message = f"{patch.title} is for v1 jobs, and its tree was not named as a directory."
                findings.append(finding_of(options, each, LEFT, (patch.field, patch.index), message))
    return whole | {path: text for path, text in texts.items() if path not in whole}, findings


def _of_other_roots(given: Input, root: Path) -> set[Path]:
    """Files, by their place in the output, that were not read below this root: several roots may be written to one folder."""
    top = root.resolve()
    return {file.relative for file in given.files if file.path is None or not file.path.resolve().is_relative_to(top)}


def unread_overlay_findings(given: Input, options: Options) -> list[Finding]:
    """Findings about kustomizations that patch v1 jobs, build on the input and are not part of it; only those in the same git
    working tree."""
    read = {os.path.realpath(file.path): file for file in given.files if file.path is not None}
    jobs = {id(job) for job in given.jobs}
    folders = {
        os.path.dirname(path)
        for path, file in read.items()
        if any(id(found) in jobs for document in file.documents for found in document.objects)
    }
    known = {path for folder in sorted(folders) for path in known_kustomizations(Path(folder))}
    others = [Path(os.path.relpath(path)) for path in sorted(known) if os.path.realpath(path) not in read]
    found = kustomizations([found_file(path, path) for path in others])
    reached = {*folders, *read, *(os.path.dirname(path) for path in read if os.path.basename(path) in FILE_NAMES)}
    building: list[Kustomization] = []
    while more := [each for each in found if each not in building and _builds_on(each, reached)]:
        building += more
        reached |= {os.path.realpath(each.directory) for each in more}
    return [
        finding_of(options, each, LEFT, (patch.field, patch.index), f"{patch.title} of {each.directory} {_LEFT_BEHIND}.")
        for each in building
        for patch in each.v1_patches
    ]


def _builds_on(each: Kustomization, reached: Collection[str]) -> bool:
    named = (path for field in ("resources", "bases", "components") for path in each.references(field))
    return any(os.path.realpath(path) in reached for path in named)


def build_options(batch: Batch) -> Options:
    """The options for converting builds: findings that are suppressed for the files are suppressed for the builds as well."""
    suppressed_ids = {finding.topic.id for finding in batch.findings if finding.suppressed and finding.topic.acceptable}
    return msgspec.structs.replace(batch.options, accepted=tuple(sorted({*batch.options.accepted, *suppressed_ids})))


def converted_tree(root: Path, given: Input, texts: Mapping[Path, str], options: Options, build: Build) -> Tree:
    """`texts` are the files that converting changed or made, by their paths below `root`; to these are added those that
    kustomize needs. Nothing is written below `root`."""
    found = [each for each in kustomizations(given.files) if each.directory.resolve().is_relative_to(root.resolve())]
    tree = Tree(dict(texts))
    if not found:
        return tree
    with tempfile.TemporaryDirectory(prefix="shunter-kustomize-") as folder:
        old, new = Path(folder, "old"), Path(folder, "new")
        for copy in (old, new):
            copy_tree(root, copy)
        OverlayConversion(root.resolve(), old, new, tree, options, build).run(found, has_v1=bool(given.jobs))
    return tree
