"""One tree of kustomizations converted, overlay by overlay (`overlays` says how and why)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.titles import object_title
from shunter.api.training.kinds import JOB_KINDS
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.merge_patch import difference
from shunter.migrate.conversion.emit.files import RUNTIMES_FILE
from shunter.migrate.conversion.emit.job import SEPARATOR, plain_text
from shunter.migrate.conversion.gitops.copies import named_files, reduced, standing
from shunter.migrate.conversion.gitops.editing import with_inline, with_item, with_patch, without_items
from shunter.migrate.conversion.gitops.overlay_check import (
    Key,
    KustomizeBuild,
    build_of,
    conversions,
    converted_build,
    differences,
    plain,
    runtime_of,
)
from shunter.migrate.conversion.gitops.overlay_topics import (
    LEFT,
    NOT_BUILT,
    NOT_CONVERTED,
    NOT_REWRITTEN,
    NOT_THE_SAME,
    PATCH_FILE,
    PATCH_REWRITTEN,
)
from shunter.migrate.conversion.gitops.replacements import aimed_at_train_jobs
from shunter.migrate.conversion.gitops.selection import PATCH_STAGE, marked, selected_by
from shunter.migrate.conversion.gitops.writing_order import CONFIGURATION_FILE, OVERLAY_RUNTIMES_FILE, bases_first, in_order
from shunter.migrate.conversion.source.kustomization import PATCH_FIELDS, Kustomization, Patch, names_v1_kind
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.options import Options

CONFIGURATION = f"""\
# Tells kustomize where TrainJobs contain images and names: `images`, `namePrefix` and `nameSuffix` reach them by this.
images:
- path: spec/trainer/image
  kind: {TRAIN_JOBS.kind}
nameReference:
- kind: TrainingRuntime
  fieldSpecs:
  - path: spec/runtimeRef/name
    kind: {TRAIN_JOBS.kind}
"""
_TRANSFORMERS = ("namePrefix", "nameSuffix", "images")

Build = Callable[[Path], str]


@dataclass
class Tree:
    """What becomes of the files of a tree, by their paths in it; None for a file that goes. They are to be written in this
    order: a run that was killed between any two and runs again ends the same, or says what is missing."""

    texts: dict[Path, str | None]
    findings: list[Finding] = field(default_factory=list)


class OverlayConversion:
    """One tree, in two copies: as it was, and as it becomes."""

    def __init__(self, root: Path, old: Path, new: Path, tree: Tree, options: Options, build: Build) -> None:
        self.root, self.old, self.new = root, old, new
        self.tree, self.options, self.build = tree, options, build
        self.given = dict(tree.texts)
        self.left: set[Path] = set()
        """Directories of the kustomizations that stay as they are."""
        self.removed: dict[Path, Path] = {}
        """Files of patches that go, with the innermost kustomization that named them: the last of these to be written."""

    def run(self, found: list[Kustomization], *, has_v1: bool) -> None:
        """Fills `tree` with texts and findings. Bases are converted before what is built on them."""
        for path, text in self.given.items():
            if text is not None:
                self._write(path, text)
        built = {each.directory: text for each in found if (text := self._built(each)) is not None}
        ordered = bases_first(found)
        holding = {each.directory for each in found if _holds_v1(built.get(each.directory, ""))}
        ours = [each for each in ordered if each.directory in holding or (has_v1 and each.directory in built and each.v1_patches)]
        for each in ordered:
            if each not in ours:
                self._tell_of_left(each, each.directory in built, has_v1=has_v1)
        for each in ours:
            self._prepare(each, each.v1_patches)
        taken = {each.directory: self._patch(each, each.directory in holding) if each.v1_patches else [] for each in ours}
        for each in ours:
            if each.directory not in self.left:
                self._aim_replacements(each)
        for each in ordered:
            if each in ours or each.is_component:
                self._tell_of_kinds(each)
        self._remove_files(ordered, taken)
        for each in ours:
            self._compare(each, built[each.directory])
        self.tree.texts = in_order(self.tree.texts, [self._relative(each) for each in ordered], self.removed)

    def _place(self, each: Kustomization) -> Path:
        return each.directory.resolve().relative_to(self.root)

    def _built(self, each: Kustomization) -> str | None:
        if each.is_component:
            return None
        try:
            return self.build(self.old / self._place(each))
        except (InputError, EnvironmentProblem) as error:
            said = error.message.replace(str(self.old), str(self.root))
            if outside := self._outside(each):
                said = f"{each.directory} builds on {outside}: name a directory above both with -f, which is converted as one."
            self._tell(each, NOT_BUILT, (), said)
            return None

    def _outside(self, each: Kustomization) -> str:
        """What a kustomization builds on that is not below the root, so that no copy has it; empty when there is nothing."""
        named = [path for field in ("resources", "bases", "components") for path in each.references(field)]
        return next((os.path.normpath(path) for path in named if not path.resolve().is_relative_to(self.root)), "")

    def _tell(self, each: Kustomization, topic: Topic, path: tuple[str | int, ...], message: str) -> None:
        self.tree.findings.append(finding_of(self.options, each, topic, path, message))

    def _tell_of_kinds(self, each: Kustomization) -> None:
        value = msgspec.yaml.decode(self._text(each))
        for key in ("replacements", "vars", "labels"):
            if names_v1_kind(value.get(key)):
                self._tell(each, NOT_REWRITTEN, (key,), f"{key} names kinds of v1.")

    def _tell_of_left(self, each: Kustomization, is_built: bool, *, has_v1: bool) -> None:
        for patch in each.patches:
            if each.is_component and patch.is_for_v1:
                reason = "is for v1 jobs and stands in a component, whose patches are not rewritten"
            elif patch.is_for_v1:
                reason = "is for v1 jobs, but " + ("it selects none" if is_built else "the kustomization cannot be built")
            elif patch.is_missing and has_v1 and not is_built:
                reason = "cannot be read, so it is unknown whether it is for v1 jobs"
            else:
                continue
            self._tell(each, LEFT, (patch.field, patch.index), f"{patch.title} {reason}.")

    def _prepare(self, each: Kustomization, taken: list[Patch]) -> None:
        """Patches of v1 out, the configuration and shared runtimes in."""
        text = each.file.text
        for name in PATCH_FIELDS:
            indexes = [patch.index for patch in taken if patch.field == name]
            if indexes:
                text = without_items(text, name, indexes)
        for patch in taken:
            if patch.is_mixed:
                text = with_inline(text, patch.field, _rest(patch))
        place = self._place(each)
        if any(each.value.get(key) for key in _TRANSFORMERS):
            text = self._with_configuration(each, text)
        for name in (RUNTIMES_FILE, f"shared-{RUNTIMES_FILE}"):
            if self.given.get(place / name) is not None and not (self.old / place / name).exists():
                text = with_item(text, "resources", name)
        self._change(each, text)

    def _with_configuration(self, each: Kustomization, text: str) -> str:
        self._set(self._place(each) / CONFIGURATION_FILE, CONFIGURATION)
        return with_item(text, "configurations", CONFIGURATION_FILE)

    def _patch(self, each: Kustomization, holds_v1: bool) -> list[Patch]:
        """The patches of v1 jobs that are rewritten: none where one of them has to stay, unless it does nothing today."""
        place = self._place(each)
        patches = each.v1_patches
        try:
            with standing(self.old / place, {key: each.value[key] for key in each.value if key in PATCH_STAGE}):
                wanted = converted_build(self.build(self.old / place), self.options)
            with standing(self.old / place, marked(each.value, patches)):
                selected = selected_by(build_of(self.build(self.old / place)), patches)
            with reduced(self.new / place, self._text(each)):
                seen = build_of(self.build(self.new / place))
        except InputError as error:
            said = error.message.replace(str(self.old), str(self.root)).replace(str(self.new), str(self.root))
            self._tell(each, NOT_BUILT, (), said)
            self._leave(each, dict.fromkeys(patches, (LEFT, "the kustomization cannot be built without it")))
            return []
        for patch in patches:
            if not selected[patch]:
                self._tell(each, LEFT, (patch.field, patch.index), f"{patch.title} is for v1 jobs, but it selects none.")
        working = [patch for patch in patches if selected[patch]]
        kept = {patch: kept for patch in working if (kept := self._kept(selected[patch], wanted, seen)) is not None}
        if kept:
            self._leave(each, {patch: kept.get(patch, (LEFT, "a patch beside it has to stay")) for patch in working})
            return []
        if not working and not holds_v1:
            self._leave(each, {})
            return []
        self._prepare(each, working)
        self._add_patches(each, wanted, seen)
        for patch in working:
            self._tell(each, PATCH_REWRITTEN, (patch.field, patch.index), f"The patch is now part of {PATCH_FILE}.")
        return working

    def _kept(self, selected: set[Key], wanted: KustomizeBuild, seen: KustomizeBuild) -> tuple[Topic, str] | None:
        """Why a patch cannot be rewritten, if so."""
        stuck = sorted(key for key in selected if key in wanted.unconverted or key in seen.unconverted)
        if stuck:
            left = [(object_title(*key), wanted.unconverted[key].reasons if key in wanted.unconverted else ()) for key in stuck]
            titles = ", ".join(f"{title} ({', '.join(reasons)})" if reasons else title for title, reasons in left)
            return NOT_CONVERTED, f"it selects {titles}, which is not converted"
        foreign = sorted(object_title(*key) for key in selected if not _is_v1_kind(key))
        if foreign:
            return LEFT, f"it also selects {', '.join(foreign[:3])}"
        return None

    def _leave(self, each: Kustomization, reasons: Mapping[Patch, tuple[Topic, str]]) -> None:
        for path in (self._relative(each), self._place(each) / CONFIGURATION_FILE):
            self.tree.texts.pop(path, None)
            before = self.given.get(path)
            if before is not None:
                self._set(path, before)
            elif (self.old / path).exists():
                shutil.copyfile(self.old / path, self.new / path)
            else:
                (self.new / path).unlink(missing_ok=True)
        self.left.add(each.directory)
        for patch, (topic, reason) in reasons.items():
            message = f"{patch.title} of {each.directory} is left, and so is all of the kustomization: {reason}."
            self._tell(each, topic, (patch.field, patch.index), message)

    def _add_patches(self, each: Kustomization, wanted: KustomizeBuild, seen: KustomizeBuild) -> None:
        """What the v1 patches did, as patches of the TrainJobs, with the runtimes that they changed."""
        place = self._place(each)
        patches, runtimes = [], {}
        for key, job in wanted.objects.items():
            before = seen.objects.get(key)
            if key[0] != TRAIN_JOBS.kind or before is None:
                continue
            had, has = runtime_of(before, seen.objects), runtime_of(job, wanted.objects)
            changed = difference(plain(before), plain(job))
            same_runtime = had is not None and has is not None and had["spec"] == has["spec"]
            if same_runtime:
                changed.get("spec", {}).pop("runtimeRef", None)
            elif has is not None:
                runtimes[has["metadata"]["name"]] = has
            changed = {name: inner for name, inner in changed.items() if inner}
            if changed:
                patches.append(_patch_of(job, changed))
        if not wanted.unconverted:
            gone = [job for key, job in seen.objects.items() if key[0] == TRAIN_JOBS.kind and key not in wanted.objects]
            patches += [_patch_of(job, {"$patch": "delete"}) for job in gone]
        text = self._text(each)
        if runtimes:
            self._set(place / OVERLAY_RUNTIMES_FILE, _stream(list(runtimes.values())))
            text = with_item(text, "resources", OVERLAY_RUNTIMES_FILE)
        if patches:
            self._set(place / PATCH_FILE, _stream(patches))
            text = with_patch(text, PATCH_FILE)
        self._change(each, text)

    def _aim_replacements(self, each: Kustomization) -> None:
        """Aims replacements of v1 jobs at the TrainJobs; whether they do the same there is compared with all else."""
        if not names_v1_kind(each.value.get("replacements")):
            return
        place = self._place(each)
        try:
            with standing(self.old / place, {key: each.value[key] for key in each.value if key in PATCH_STAGE}):
                before = self.build(self.old / place)
            with reduced(self.new / place, self._text(each)):
                seen = build_of(self.build(self.new / place))
        except InputError:
            return
        if not seen.unconverted and not converted_build(before, self.options).unconverted:
            self._change(each, aimed_at_train_jobs(self._text(each), conversions(before, self.options)))

    def _remove_files(self, found: list[Kustomization], taken: Mapping[Path, list[Patch]]) -> None:
        """Files of patches that were rewritten and that no kustomization names any more."""
        named = {path for each in found for path in named_files(each.directory, msgspec.yaml.decode(self._text(each)))}
        for owner, patch in ((each, patch) for each in found for patch in taken.get(each.directory, ())):
            file = patch.file.resolve() if patch.file is not None else None
            if file is not None and file.is_relative_to(self.root) and os.path.realpath(file) not in named:
                self._remove(file.relative_to(self.root))
                self.removed.setdefault(file.relative_to(self.root), self._relative(owner))

    def _compare(self, each: Kustomization, built: str) -> None:
        """A job that is not converted has to be built as it was, where it is still there; that it is left is reported."""
        wanted = converted_build(built, self.options)
        try:
            seen = build_of(self.build(self.new / self._place(each)))
        except InputError as error:
            self._tell(each, NOT_THE_SAME, (), error.message.replace(str(self.new), str(self.root)))
            return
        if each.directory not in self.left and any(key[0] == TRAIN_JOBS.kind for key in seen.objects):
            # Images and prefixes may be set where nobody sees it here: by `kustomize edit`, Argo CD or Flux.
            self._change(each, self._with_configuration(each, self._text(each)))
        kept = {key: left.job for key, left in wanted.unconverted.items() if key in seen.objects}
        for words in differences(KustomizeBuild(wanted.objects | kept, {}), seen):
            self._tell(each, NOT_THE_SAME, (), f"After the conversion, {words}.")

    def _text(self, each: Kustomization) -> str:
        return self.tree.texts.get(self._relative(each)) or each.file.text

    def _relative(self, each: Kustomization) -> Path:
        assert each.file.path is not None, "kustomizations are files"
        return self._place(each) / each.file.path.name

    def _change(self, each: Kustomization, text: str) -> None:
        if text != self._text(each):
            self._set(self._relative(each), text)
        if text == each.file.text and self._relative(each) not in self.given:
            self.tree.texts.pop(self._relative(each), None)

    def _set(self, path: Path, text: str) -> None:
        self.tree.texts[path] = text
        self._write(path, text)

    def _write(self, path: Path, text: str) -> None:
        (self.new / path).parent.mkdir(parents=True, exist_ok=True)
        (self.new / path).write_bytes(text.encode())

    def _remove(self, path: Path) -> None:
        self.tree.texts[path] = None
        (self.new / path).unlink(missing_ok=True)


def finding_of(options: Options, each: Kustomization, topic: Topic, path: tuple[str | int, ...], message: str) -> Finding:
    """At a field of the kustomization, taken on where the options accept it."""
    accepted = topic.suppression_reason(options.accepted)
    return Finding(topic, str(each.file.source), each.place(path), path, message, suppressed=accepted)


def _holds_v1(built: str) -> bool:
    return "kubeflow.org/v" in built and bool(build_of(built).unconverted)


def _is_v1_kind(key: Key) -> bool:
    return any(key[0] == kind.resource.kind for kind in JOB_KINDS)


def _rest(patch: Patch) -> str:
    """The documents of a patch for other objects than v1 jobs, as they are written."""
    texts = [document.text[len(document.separator) :] for document in patch.others]
    return SEPARATOR.join(text if text.endswith("\n") else text + "\n" for text in texts)


def _patch_of(job: Json, changed: Json) -> Json:
    names = {key: job["metadata"][key] for key in ("name", "namespace") if key in job["metadata"]}
    metadata = {**names, **(changed.pop("metadata", None) or {})}
    return {"apiVersion": job["apiVersion"], "kind": job["kind"], "metadata": metadata, **changed}


def _stream(values: list[Json]) -> str:
    return SEPARATOR.join(map(plain_text, values))
