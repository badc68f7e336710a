"""A tree of kustomizations, converted so that every overlay builds what its old build converts to.

Bases are converted as the files that they are. A patch of a v1 job cannot be: what it says depends on the job. So its effect is
taken instead: both trees are built as they are when patches are applied, and the difference becomes a patch of the TrainJob. Then
each overlay is built in full on both sides and compared (square).
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.training.kinds import JOB_KINDS
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.merge_patch import difference
from shunter.migrate.emit.files import RUNTIMES_FILE
from shunter.migrate.emit.job import SEPARATOR, plain_text
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.gitops.editing import with_item, with_patch, without_items
from shunter.migrate.gitops.square import build_of, converted_build, differences, plain, runtime_of
from shunter.migrate.options import Options
from shunter.migrate.source.kustomization import FILE_NAMES, Kustomization, kustomizations
from shunter.migrate.source.provider import Input

CONFIGURATION_FILE = "trainjob-kustomizeconfig.yaml"
PATCH_FILE = "trainjob-patches.yaml"
OVERLAY_RUNTIMES_FILE = "trainjob-runtimes.yaml"
CONFIGURATION = f"""\
# Tells kustomize where images and names stand in TrainJobs: `images`, `namePrefix` and `nameSuffix` reach them by this.
images:
- path: spec/trainer/image
  kind: {TRAIN_JOBS.kind}
nameReference:
- kind: TrainingRuntime
  fieldSpecs:
  - path: spec/runtimeRef/name
    kind: {TRAIN_JOBS.kind}
"""
_PATCHED = frozenset(
    (
        "apiVersion", "kind", "resources", "bases", "components", "patches", "patchesStrategicMerge", "patchesJson6902", "crds",
        "openapi", "configurations", "generatorOptions", "configMapGenerator", "secretGenerator",
    )
)  # fmt: skip
"""Fields that have done their work when patches are applied; names, images, labels and replacements come after."""
_V1 = re.compile(r"^apiVersion: kubeflow\.org/v1$", re.M)
_TRANSFORMERS = ("namePrefix", "nameSuffix", "images")

PATCH_REWRITTEN = Topic(
    id="KUSTOMIZE001",
    title="a patch of v1 jobs becomes a patch of TrainJobs",
    severity="info",
    impact="advisory",
    change="lossless",
    grade="Q",
    explanation=(
        "kustomize applies a patch with a target only to what it selects, and says nothing when that is nothing: left as it was, "
        f"the patch would do nothing any more. What it did is in {PATCH_FILE} now, as the difference that it made."
    ),
    remedy=f"Read {PATCH_FILE}; what it says in full may be said shorter by hand.",
    effort=1,
)
NOT_REWRITTEN = Topic(
    id="KUSTOMIZE002",
    title="a kustomization that names v1 kinds",
    severity="warning",
    impact="advisory",
    change="manual",
    grade="D",
    explanation="Replacements, variables, labels and components select objects by kind. Those of v1 are not there any more.",
    remedy="Write the entry anew for TrainJob; its fields are in spec.trainer and in the runtime.",
    effort=3,
)
NOT_BUILT = Topic(
    id="KUSTOMIZE003",
    title="a kustomization whose conversion is not checked",
    severity="warning",
    impact="advisory",
    change="manual",
    grade="D",
    explanation="The kustomization cannot be built, so nobody knows whether its conversion builds the same.",
    remedy="Make `kubectl kustomize DIRECTORY` work (pip install 'shunter[kubectl]' brings one), and convert again.",
    effort=1,
)
NOT_THE_SAME = Topic(
    id="KUSTOMIZE004",
    title="an overlay that builds something else after its conversion",
    severity="error",
    impact="blocking",
    change="semantic-change",
    grade="L",
    explanation=(
        "What the overlay built before, converted, is not what the converted overlay builds. Usual reasons: a prefix that does "
        "not reach a host name within a value, a replacement aimed at a v1 kind, a component with patches of v1 jobs."
    ),
    remedy="Bring the overlay in line by hand, or convert what it builds: shunter migrate convert --kustomize DIRECTORY.",
    effort=3,
    traps=("T33",),
    acceptable=True,
)

Build = Callable[[Path], str]


@dataclass
class Tree:
    """What becomes of the files of a tree, by their paths in it; None for a file that goes."""

    texts: dict[Path, str | None]
    findings: list[Finding] = field(default_factory=list)


def with_overlays(
    given: Input, texts: Mapping[Path, str], roots: Mapping[Path, Path], options: Options, build: Build
) -> tuple[dict[Path, str | None], list[Finding]]:
    """`texts`, and what kustomizations below `roots` need beside them; `roots` says of directories that were read where their
    files are written."""
    whole: dict[Path, str | None] = dict(texts)
    findings: list[Finding] = []
    for root, base in roots.items():
        below = {path.relative_to(base): text for path, text in texts.items() if path.is_relative_to(base)}
        tree = converted_tree(root, given, below, options, build)
        whole |= {base / path: text for path, text in tree.texts.items()}
        findings += tree.findings
    return whole, findings


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
            shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".*"), symlinks=True)
        _Conversion(root.resolve(), old, new, tree, options, build).run(found)
    return tree


class _Conversion:
    def __init__(self, root: Path, old: Path, new: Path, tree: Tree, options: Options, build: Build) -> None:
        self.root, self.old, self.new = root, old, new
        self.tree, self.options, self.build = tree, options, build

    def run(self, found: list[Kustomization]) -> None:
        for path, text in self.tree.texts.items():
            if text is not None:
                self._write(path, text)
        built = {each.directory: text for each in found if (text := self._built(each)) is not None}
        ours = [each for each in _bases_first(found) if each.is_component or _V1.search(built.get(each.directory, ""))]
        for each in ours:
            self._tell_of_kinds(each)
            if not each.is_component:
                self._prepare(each)
        for each in ours:
            if each.v1_patches and not each.is_component:
                self._patch(each)
        for each in ours:
            if not each.is_component:
                self._compare(each, built[each.directory])

    def _place(self, each: Kustomization) -> Path:
        return each.directory.resolve().relative_to(self.root)

    def _built(self, each: Kustomization) -> str | None:
        if each.is_component:
            return None
        try:
            return self.build(self.old / self._place(each))
        except (InputError, EnvironmentProblem) as error:
            self._tell(each, NOT_BUILT, (), error.message.replace(str(self.old), str(self.root)))
            return None

    def _tell(self, each: Kustomization, topic: Topic, path: tuple[str | int, ...], message: str) -> None:
        self.tree.findings.append(Finding(topic, each.file.source, each.place(path), path, message))

    def _tell_of_kinds(self, each: Kustomization) -> None:
        named = [key for key in ("replacements", "vars", "labels") if _names_v1(each.value.get(key))]
        named += ["patches"] if each.is_component and each.v1_patches else []
        for key in named:
            self._tell(each, NOT_REWRITTEN, (key,), f"{key} names kinds of v1.")

    def _prepare(self, each: Kustomization) -> None:
        """Patches of v1 out, the configuration and shared runtimes in."""
        text = each.file.text
        for name in ("patches", "patchesStrategicMerge", "patchesJson6902"):
            indexes = [patch.index for patch in each.v1_patches if patch.field == name]
            if indexes:
                text = without_items(text, name, indexes)
        place = self._place(each)
        if any(each.value.get(key) for key in _TRANSFORMERS):
            text = with_item(text, "configurations", CONFIGURATION_FILE)
            self._set(place / CONFIGURATION_FILE, CONFIGURATION)
        for name in (RUNTIMES_FILE, f"shared-{RUNTIMES_FILE}"):
            if self.tree.texts.get(place / name) is not None and not (self.old / place / name).exists():
                text = with_item(text, "resources", name)
        self._change(each, text)
        for patch in each.v1_patches:
            if patch.file is not None and patch.file.resolve().is_relative_to(self.root):
                self._remove(patch.file.resolve().relative_to(self.root))

    def _patch(self, each: Kustomization) -> None:
        place = self._place(each)
        try:
            with _reduced(self.old / place, each.file.text), _reduced(self.new / place, self._text(each)):
                wanted = converted_build(self.build(self.old / place), self.options)
                seen = build_of(self.build(self.new / place))
        except InputError as error:
            self._tell(each, NOT_BUILT, (), error.message)
            return
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
        text = self._text(each)
        if runtimes:
            self._set(place / OVERLAY_RUNTIMES_FILE, _stream(list(runtimes.values())))
            text = with_item(text, "resources", OVERLAY_RUNTIMES_FILE)
        if patches:
            self._set(place / PATCH_FILE, _stream(patches))
            text = with_patch(text, PATCH_FILE)
        self._change(each, text)
        for patch in each.v1_patches:
            self._tell(each, PATCH_REWRITTEN, (patch.field, patch.index), f"The patch is now part of {PATCH_FILE}.")

    def _compare(self, each: Kustomization, built: str) -> None:
        wanted = converted_build(built, self.options)
        if not wanted.is_complete:
            return
        try:
            seen = build_of(self.build(self.new / self._place(each)))
        except InputError as error:
            self._tell(each, NOT_THE_SAME, (), error.message.replace(str(self.new), str(self.root)))
            return
        for words in differences(wanted, seen):
            self._tell(each, NOT_THE_SAME, (), f"After the conversion, {words}.")

    def _text(self, each: Kustomization) -> str:
        return self.tree.texts.get(self._relative(each)) or each.file.text

    def _relative(self, each: Kustomization) -> Path:
        assert each.file.path is not None, "kustomizations are files"
        return each.file.path.resolve().relative_to(self.root)

    def _change(self, each: Kustomization, text: str) -> None:
        if text != self._text(each):
            self._set(self._relative(each), text)

    def _set(self, path: Path, text: str) -> None:
        self.tree.texts[path] = text
        self._write(path, text)

    def _write(self, path: Path, text: str) -> None:
        (self.new / path).parent.mkdir(parents=True, exist_ok=True)
        (self.new / path).write_bytes(text.encode())

    def _remove(self, path: Path) -> None:
        self.tree.texts[path] = None
        (self.new / path).unlink(missing_ok=True)


def _bases_first(found: list[Kustomization]) -> list[Kustomization]:
    """So that a base's own patches are there when those of its overlays are made."""
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


@contextmanager
def _reduced(directory: Path, text: str) -> Iterator[None]:
    """The kustomization of a copy with only what counts until patches are applied, while the block runs."""
    file = next(directory / name for name in FILE_NAMES if (directory / name).exists())
    whole = file.read_bytes()
    value = msgspec.yaml.decode(text)
    file.write_bytes(msgspec.yaml.encode({key: inner for key, inner in value.items() if key in _PATCHED}))
    try:
        yield
    finally:
        file.write_bytes(whole)


def _names_v1(value: object) -> bool:
    text = msgspec.json.encode(value).decode()
    return any(f'"{kind.resource.kind}"' in text for kind in JOB_KINDS)


def _patch_of(job: Json, changed: Json) -> Json:
    names = {key: job["metadata"][key] for key in ("name", "namespace") if key in job["metadata"]}
    metadata = {**names, **(changed.pop("metadata", None) or {})}
    return {"apiVersion": job["apiVersion"], "kind": job["kind"], "metadata": metadata, **changed}


def _stream(values: list[Json]) -> str:
    return SEPARATOR.join(map(plain_text, values))
