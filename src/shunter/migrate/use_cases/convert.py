"""Converts the jobs of files or a cluster, with shared runtimes, and the objects that refer to their pods.

Nothing is written until `ConvertedTree.write` is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from shunter.errors import InputError
from shunter.migrate.conversion import batch as batches
from shunter.migrate.conversion import suppression
from shunter.migrate.conversion.batch import Batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.sharing import shared_in
from shunter.migrate.conversion.source.files import TextFile
from shunter.migrate.conversion.source.provider import Input, read
from shunter.migrate.conversion.suppression import Entry
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.use_cases.progress import Progress, silent
from shunter.migrate.writing import remove, write_whole


class ConvertedTree(msgspec.Struct, frozen=True):
    """The result of converting an input."""

    given: Input
    batch: Batch
    """The result of each job, in the order of the input."""
    faults: list[Finding]
    """Findings about files, other objects and suppressions."""
    documents: Mapping[int, str]
    """New texts of documents without jobs, by the document's id."""
    template_count: int
    """How many Helm templates were converted."""
    files: Mapping[Path, str | None] | None
    """The files to write, in this order, None for one that goes; None where the result is a stream."""

    @property
    def findings(self) -> list[Finding]:
        """The faults first, then the findings of the jobs."""
        return [*self.faults, *self.batch.findings]

    @property
    def is_blocked(self) -> bool:
        """Whether a finding stands that forbids the use of a result."""
        return any(finding.is_blocking for finding in self.findings)

    def stream(self) -> str:
        """All of it as one YAML stream."""
        return files.stream(self.given, self.batch, self.documents)

    def write(self) -> list[Path]:
        """Writes the files of a tree, and gives their paths. After an interruption the same call completes it."""
        assert self.files is not None, "a stream is written by who asked for it"
        for path, text in self.files.items():
            if text is None:
                remove(path)
            else:
                write_whole(path, text)
        return [path for path, text in self.files.items() if text is not None]


def convert(
    paths: Sequence[str | Path],
    options: Options = Options(),  # noqa: B008
    *,
    output_dir: Path | None = None,
    in_place: bool = False,
    force: bool = False,
    update_selectors: bool = False,
    suppressions: Path | None = None,
    progress: Progress = silent,
) -> ConvertedTree:
    """Converts files and directories: to a stream, to a tree below `output_dir`, or `in_place`.

    `suppressions` is a `migration.yaml`. Raises InputError where a path cannot be read; and, unless `force` is given, where git
    could not bring back a file that changes in place, or another file is in the way below `output_dir`.
    """
    named = [str(path) for path in paths]
    if in_place and not force:
        refuse_unsaved([Path(path) for path in named])
    with progress("reading files", None) as advance:
        given = read(named, advance)
    return converted(
        given,
        options,
        named=[Path(path) for path in named],
        output_dir=output_dir,
        in_place=in_place,
        force=force,
        update_selectors=update_selectors,
        entries=suppression.read(suppressions) if suppressions else (),
        progress=progress,
    )


def converted(
    given: Input,
    options: Options,
    *,
    named: Sequence[Path] = (),
    faults: Sequence[Finding] = (),
    output_dir: Path | None = None,
    in_place: bool = False,
    force: bool = False,
    update_selectors: bool = False,
    entries: Sequence[Entry] = (),
    progress: Progress = silent,
) -> ConvertedTree:
    """The conversion of an input that was already read. `named` are its files and directories, `faults` the findings from reading
    it; `entries` are those of a `migration.yaml`."""
    today = datetime.now(UTC).date()
    is_one_stream = output_dir is None and not in_place
    with progress("converting", len(given.convertible)) as advance:
        batch = batches.converted(given.convertible, options, given.other_objects, advance, is_one_stream=is_one_stream)
    templates, of_templates = _templates(given, options)
    there = files.staying(given, output_dir) if output_dir is not None else []
    batch = shared_in(given, suppression.applied(batch, entries, today).batch, there)
    documents, beside = _neighbours(given, batch, templates, update_selectors=update_selectors)
    texts, overlays = _texts(given, batch, documents, named, output_dir, there, progress, in_place=in_place)
    batch, faults = suppression.suppressed(batch, [*given.findings, *of_templates, *faults, *overlays, *beside], entries, today)
    if texts is not None and in_place and not force:
        refuse_unsaved([path for path, text in texts.items() if text is None or path.is_symlink()])
    elif texts is not None and not force:
        _refuse_others(texts)
    return ConvertedTree(given, batch, faults, documents, len(templates), texts)


def refuse_unsaved(paths: Sequence[Path]) -> None:
    """Raises InputError unless git can bring back what is about to be changed."""
    from shunter.migrate.conversion.gitops.worktree import unsaved

    reasons = [reason for path in paths for reason in unsaved(path)]
    if reasons:
        shown = "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more" if len(reasons) > 3 else "")
        raise InputError(f"--in-place: git could not bring back what changes: {shown}.", "Commit first, or add --force.")


def _refuse_others(texts: Mapping[Path, str | None]) -> None:
    for path, text in texts.items():
        if text is not None and path.exists() and path.read_bytes() != text.encode():
            raise InputError(f"{path}: there already, and different.", "Name an empty directory, or add --force.")


def _templates(given: Input, options: Options) -> tuple[dict[int, str], list[Finding]]:
    """New texts of Helm templates, by document, and findings about them."""
    if not given.templates:
        return {}, []
    from shunter.migrate.conversion.gitops import chart_values, helm  # takes long to import, and few inputs have templates

    texts, findings = helm.skeletons(given.templates, options)
    return texts, [*findings, *chart_values.reads_in_values(given.files, given.templates)]


def _neighbours(
    given: Input, batch: Batch, templates: dict[int, str], *, update_selectors: bool
) -> tuple[dict[int, str], list[Finding]]:
    """New texts of documents, including those with rewritten selectors, and findings about objects that are not converted."""
    if not given.passed_on and len(batch.outcomes) < 2:
        return templates, []
    from shunter.migrate.survey.neighbours.checks import neighbours  # the scan takes long to import

    found = neighbours(given, batch, update_selectors=update_selectors)
    return {**templates, **found.texts}, found.findings


def _texts(
    given: Input,
    batch: Batch,
    documents: Mapping[int, str],
    named: Sequence[Path],
    output_dir: Path | None,
    there: Sequence[TextFile],
    progress: Progress,
    *,
    in_place: bool,
) -> tuple[dict[Path, str | None] | None, list[Finding]]:
    """The files to write, None for a stream; and findings about their kustomizations."""
    if not in_place and output_dir is None:
        return None, given.unbuilt
    from shunter.migrate.conversion.gitops.kustomize import build  # only trees need kustomize
    from shunter.migrate.conversion.gitops.overlays import build_options, unread_overlay_findings, with_overlays

    roots = {path: path for path in named if path.is_dir()}
    if output_dir is None:
        texts = files.in_place(given, batch, documents)
    else:
        texts = {output_dir / path: text for path, text in files.tree(given, batch, documents, there).items()}
        roots = dict.fromkeys(roots, output_dir)
    overlays = build_options(batch)
    with progress("building kustomizations", None) as advance:
        whole, found = with_overlays(given, texts, roots, overlays, _counted(build, advance))
    return whole, [*found, *unread_overlay_findings(given, overlays)]


def _counted(build: Callable[[Path], str], advance: Callable[[int], None]) -> Callable[[Path], str]:
    def counting_build(directory: Path) -> str:
        text = build(directory)
        advance(1)
        return text

    return counting_build
