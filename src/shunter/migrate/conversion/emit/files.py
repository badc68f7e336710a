"""The texts that a run writes: a stream, the files of a tree anew, or a tree of its own beside the old one.

Documents without a convertible job stay as they are, byte for byte. Jobs with equal runtimes share one: it stands before the
first of them (of the stream; of a directory, when files are changed in place), or in a `runtimes.yaml` beside them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
import yaml
from msgspec.structs import replace

from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.api.resources import TRAINING_RUNTIMES
from shunter.errors import InputError
from shunter.migrate.conversion.batch import Batch, Outcome
from shunter.migrate.conversion.emit import katib
from shunter.migrate.conversion.emit.job import SEPARATOR, Written, comments_missing_in, plain_text, written
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.source.documents import Document
from shunter.migrate.conversion.source.embedded import Embedded
from shunter.migrate.conversion.source.files import TextFile
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import Input, read
from shunter.migrate.findings import Finding
from shunter.migrate.parallel import mapped

RUNTIMES_FILE = "runtimes.yaml"
LEAST_FILES = 100
"""For which another process pays: a text takes about a millisecond."""
NO_TEMPLATES: Mapping[int, str] = {}

RuntimeKey: TypeAlias = tuple[str, str]
"""Namespace and name. Names say the content (conversion), so runtimes of one key are equal."""


class EmitContext(msgspec.Struct):
    """One run of writing: what became of each job, and which runtimes are written already."""

    outcomes: Mapping[int, Outcome]
    embedded: Mapping[int, list[tuple[Embedded, Outcome]]]
    """The jobs within the objects of a document, by the document."""
    templates: Mapping[int, str]
    """New texts of templates and of other documents that change, by the document; of items of Lists with jobs, by the object."""
    keeps_blocked: bool
    """Whether a job that is not converted stays as it is; otherwise a comment says why it is missing."""
    runtimes: dict[RuntimeKey, str] = {}
    in_cluster: Mapping[RuntimeKey, SourceObject] = {}
    """Runtimes of the cluster that jobs were read from: they need not be written."""
    existing: Mapping[RuntimeKey, SourceObject] = {}
    """Runtimes that the input has already: an earlier run has written them, perhaps one that was killed."""

    def of(self, files: Iterable[TextFile]) -> EmitContext:
        """The context for some of the files, which share no runtimes with other files."""
        objects = (found for file in files for document in file.documents for found in document.objects)
        existing = {runtime_key(found.value): found for found in _runtimes_among(objects)}
        return replace(self, runtimes={}, existing={**self.in_cluster, **existing})

    def outcome(self, source: SourceObject) -> Outcome | None:
        """None for an object that was not to be converted."""
        return self.outcomes.get(id(source))

    def write(self, conversion: Conversion, *, is_whole_document: bool) -> Written:
        """The texts of a result. Its runtime is as it was written before, or stands in the input, where that is the same one."""
        if conversion.runtime is None:
            return written(conversion, is_whole_document=is_whole_document)
        key = runtime_key(conversion.runtime)
        known = self.runtimes.get(key)
        there = self.existing.get(key)
        if known is None and there is not None and there.value.get("spec") == conversion.runtime["spec"]:
            known = there.text
        result = written(conversion, is_whole_document=is_whole_document, runtime_text=known)
        self.runtimes.setdefault(key, result.runtime if known is None else known)
        return result


def runtime_key(runtime: Json) -> RuntimeKey:
    """Namespace and name. The namespace is empty where the manifest says none."""
    return str(runtime["metadata"].get("namespace") or ""), str(runtime["metadata"]["name"])


def stream(given: Input, batch: Batch, templates: Mapping[int, str] = NO_TEMPLATES) -> str:
    """One YAML stream: every file that was named, those found in directories that hold a v1 job, and the jobs of the cluster.
    `templates` are new texts of Helm templates, by document."""
    context = _emit_context(given, batch, templates, keeps_blocked=False)
    texts = _file_texts([file for file in given.files if _has_job(file, context) or not file.is_found], context)
    texts += [_live_text(source, context) for source in given.live]
    return joined([text for text in texts if text.strip()])


def results(batch: Batch, in_cluster: Sequence[SourceObject] = ()) -> list[Json]:
    """The manifests of all conversions that may be used, runtimes once and before their jobs, but for those of the cluster."""
    found: list[Json] = []
    seen: set[RuntimeKey] = set()
    there = {runtime_key(one.value): one.value["spec"] for one in in_cluster}
    for conversion in usable(batch):
        if conversion.runtime is not None and (key := runtime_key(conversion.runtime)) not in seen:
            seen.add(key)
            found += [] if there.get(key) == conversion.runtime["spec"] else [conversion.runtime]
        found.append(conversion.train_job)
    return found


def in_place(given: Input, batch: Batch, templates: Mapping[int, str] = NO_TEMPLATES) -> dict[Path, str]:
    """The new texts of the files that change. What cannot be converted stays."""
    changed: dict[Path, str] = {}
    context = _emit_context(given, batch, templates, keeps_blocked=True)
    folders: dict[Path, list[TextFile]] = {}
    for file in given.files:
        if file.path is not None:
            folders.setdefault(file.path.parent, []).append(file)
    for files in folders.values():
        local = context.of(files)
        for file in files:
            text = _file_text(file, local)
            if text != file.text and file.path is not None:
                changed[file.path] = text
    return changed


def tree(
    given: Input, batch: Batch, templates: Mapping[int, str] = NO_TEMPLATES, there: Sequence[TextFile] = ()
) -> dict[Path, str]:
    """The texts of a directory of results by their paths in it: every file that could be read, and the runtimes that files
    share, but for those of `there`, files that stand in the directory and stay. Raises InputError where two of them would be one
    file."""
    context = _emit_context(given, batch, templates, keeps_blocked=False)
    found = _Tree()
    for folder, files in grouped_by(given.files, lambda file: _relative(file).parent).items():
        staying = [file for file in there if file.relative.parent == folder]
        local = context.of([*files, *staying])
        shared = _shared_runtimes(files, local)
        if shared:
            taken = {_relative(file) for file in (*files, *staying)}
            name = RUNTIMES_FILE
            while folder / name in taken:
                name = f"shared-{name}"
            found.add(folder / name, "the runtimes that files share", SEPARATOR.join(shared))
        for file in files:
            if not file.findings:
                found.add(_relative(file), file.source, _file_text(file, local))
    for source in given.live:
        path = Path(source.namespace, f"{source.kind.lower()}-{source.name}.yaml")
        found.add(path, source.title, _live_text(source, context.of([])))
    return found.texts


class _Tree(msgspec.Struct):
    texts: dict[Path, str] = {}
    sources: dict[Path, str] = {}
    """What each text is of."""

    def add(self, path: Path, source: str, text: str) -> None:
        if path in self.sources:
            raise InputError(
                f"--output-dir: {self.sources[path]} and {source} would both be written to {path}.",
                "Name the directory above both of them with -f, or convert them into separate directories.",
            )
        self.texts[path], self.sources[path] = text, source


def usable(batch: Batch) -> list[Conversion]:
    """The results that may be used, in the order of the sources."""
    return [outcome.conversion for outcome in batch.outcomes if outcome.conversion is not None and not outcome.is_blocked]


def joined(texts: Iterable[str]) -> str:
    """Texts of files as one stream."""
    pieces: list[str] = []
    for text in texts:
        if pieces and not pieces[-1].endswith("\n"):
            pieces.append("\n")
        if pieces and not text.startswith(("---", "%")):
            pieces.append(SEPARATOR)
        pieces.append(text)
    return "".join(pieces)


def _emit_context(given: Input, batch: Batch, templates: Mapping[int, str], *, keeps_blocked: bool) -> EmitContext:
    outcomes = {id(outcome.source): outcome for outcome in batch.outcomes}
    embedded: dict[int, list[tuple[Embedded, Outcome]]] = {}
    for document in (document for file in given.files for document in file.documents):
        within = [(found, outcomes[id(found.job)]) for found in document.embedded if id(found.job) in outcomes]
        if within:
            embedded[id(document)] = within
    in_cluster = {runtime_key(found.value): found for found in given.runtimes}
    return EmitContext(outcomes, embedded, templates, keeps_blocked, in_cluster=in_cluster).of(given.files)


def _has_job(file: TextFile, context: EmitContext) -> bool:
    return any(
        id(document) in context.embedded
        or id(document) in context.templates
        or any(context.outcome(source) for source in document.objects)
        for document in file.documents
    )


def _relative(file: TextFile) -> Path:
    """Where the file stands in a tree; what was built, and is no file, by the name of what built it."""
    return file.relative if file.relative.name else Path(re.sub("[^A-Za-z0-9._-]+", "-", file.source).strip("-") + ".yaml")


def _shared_runtimes(files: list[TextFile], context: EmitContext) -> list[str]:
    """The texts of the runtimes that several files need; the context knows them from then on."""
    users: Counter[RuntimeKey] = Counter()
    first: dict[RuntimeKey, Conversion] = {}
    for file in files:
        keys: dict[RuntimeKey, None] = {}
        for source in (found for document in file.documents for found in document.objects):
            outcome = context.outcome(source)
            if outcome is None or outcome.conversion is None or outcome.is_blocked or outcome.conversion.runtime is None:
                continue
            key = runtime_key(outcome.conversion.runtime)
            first.setdefault(key, outcome.conversion)
            keys[key] = None
        users.update(list(keys))
    texts = []
    for key, count in users.items():
        if count > 1 and (text := context.write(first[key], is_whole_document=False).runtime):
            texts.append(text)
    return texts


def staying(given: Input, directory: Path) -> list[TextFile]:
    """The files of a directory of results that `tree` does not write: what an earlier run has put there of other files."""
    written = {_relative(file) for file in given.files}
    return [file for file in read([str(directory)]).files if file.relative not in written] if directory.is_dir() else []


def _file_texts(files: Sequence[TextFile], context: EmitContext) -> list[str]:
    """The texts of files in their order: first of those that write a runtime, then of all others, which need nothing of each
    other."""
    found: dict[int, str] = {}
    later = []
    for number, file in enumerate(files):
        if _writes_runtime(file, context):
            found[number] = _file_text(file, context)
        else:
            later.append(number)
    texts = mapped(lambda number: _file_text(files[number], context), later, least=LEAST_FILES)
    found.update(zip(later, texts, strict=True))
    return [found[number] for number in range(len(files))]


def _writes_runtime(file: TextFile, context: EmitContext) -> bool:
    """Whether a job of the file has a runtime that nothing before it has written."""
    for document in file.documents:
        outcomes = [context.outcome(source) for source in document.objects]
        outcomes += [outcome for _, outcome in context.embedded.get(id(document), ())]
        for outcome in outcomes:
            conversion = outcome.conversion if outcome is not None else None
            if (
                conversion is not None
                and conversion.runtime is not None
                and runtime_key(conversion.runtime) not in context.runtimes
            ):
                return True
    return False


def runtimes_beside(paths: Sequence[str], objects: Sequence[SourceObject]) -> tuple[list[SourceObject], list[Finding]]:
    """The runtimes that `tree` has written for several files of a folder, for use of one of the files alone; but for those
    among the objects, by namespace and name. With them what there is to tell of reading their files."""
    folders = dict.fromkeys(Path(path).parent for path in paths if path != "-" and not Path(path).is_dir())
    known = {runtime_key(found.value) for found in _runtimes_among(objects)}
    files = [str(file) for folder in folders for file in sorted(folder.glob(f"*{RUNTIMES_FILE}"))]
    given = read(files)
    return [one for one in _runtimes_among(given.objects) if runtime_key(one.value) not in known], given.findings


def _runtimes_among(objects: Iterable[SourceObject]) -> Iterator[SourceObject]:
    return (found for found in objects if found.kind == TRAINING_RUNTIMES.kind and found.metadata.get("name"))


def _file_text(file: TextFile, context: EmitContext) -> str:
    texts = [_document_text(document, context) for document in file.documents]
    complete = [text if text.endswith("\n") else text + "\n" for text in texts[:-1]]
    return file.prefix + "".join([*complete, *texts[-1:]])


def _live_text(source: SourceObject, context: EmitContext) -> str:
    outcome = context.outcome(source)
    return _object_text(outcome, context, is_whole_document=True) if outcome is not None else ""


def _document_text(document: Document, context: EmitContext) -> str:
    if id(document) in context.templates:
        return context.templates[id(document)]
    embedded = [found for found in context.embedded.get(id(document), ()) if not _is_left(found[1])]
    if embedded:
        return _host_text(document, embedded, context)
    known = [context.outcome(source) for source in document.objects]
    jobs = [outcome for outcome in known if outcome is not None]
    if not jobs or (context.keeps_blocked and all(_is_left(outcome) for outcome in jobs)):
        return document.text
    if document.is_json:
        return document.separator + _json_text(document, context)
    text = _list_text(document, context) if document.is_list else _object_text(jobs[0], context, is_whole_document=True)
    separator = document.separator or (SEPARATOR if document.text.startswith("---") else "")
    if "\r\n" in document.text:
        text = text.replace("\n", "\r\n")
    if not document.text.endswith("\n"):
        text = text.rstrip("\r\n")
    return separator + text


def _host_text(document: Document, embedded: list[tuple[Embedded, Outcome]], context: EmitContext) -> str:
    """An object with TrainJobs in place of the v1 jobs within, behind their runtimes."""
    changes: list[katib.Edit] = []
    runtimes = []
    for found, outcome in embedded:
        assert outcome.conversion is not None, "what is left was sorted out"
        result = context.write(outcome.conversion, is_whole_document=False)
        runtimes.append(result.runtime)
        changes += [_in_host(found, result, document.text), *katib.edits(found, outcome.conversion)]
    text = document.text
    for change in sorted(changes, reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    body = text[len(document.separator) :]
    whole = document.separator + joined([*(runtime for runtime in runtimes if runtime), body])
    return whole.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in document.text else whole


def _in_host(found: Embedded, result: Written, text: str) -> katib.Edit:
    """The TrainJob at the place and the indentation of the job within."""
    node = found.job.node
    assert node is not None, "what stands in a text was sorted out"
    start, end = node.start_mark, node.end_mark
    margin = " " * start.column
    lines = f"{result.head}{result.train_job}{result.tail}".rstrip("\n").split("\n")
    replaced = "\n".join(margin + line if line and number else line for number, line in enumerate(lines))
    if not text[end.index :].strip():
        return katib.Edit(start.index, len(text), replaced + ("\n" if text.endswith("\n") else ""))
    return katib.Edit(start.index, end.index, f"{replaced}\n{' ' * end.column}")


def _object_text(outcome: Outcome, context: EmitContext, *, is_whole_document: bool) -> str:
    if outcome.conversion is None or _is_left(outcome):
        return _reason(outcome)
    return context.write(outcome.conversion, is_whole_document=is_whole_document).text


def _list_text(document: Document, context: EmitContext) -> str:
    """The items as documents of their own: a List is only how kubectl prints them."""
    texts = []
    for source in document.objects:
        outcome = context.outcome(source)
        if outcome is None or (context.keeps_blocked and _is_left(outcome)):
            texts.append(context.templates.get(id(source)) or item_text(source))
        else:
            texts.append(_object_text(outcome, context, is_whole_document=False))
    assert document.node is not None, "a document that is no JSON was read from nodes"
    whole = SourceObject(document.value, document.source, document.node, document.first_line, document.text)
    body = joined(texts)
    missing = comments_missing_in(body, whole)
    return "".join(f"{line}\n" for line in missing) + body


def item_text(source: SourceObject) -> str:
    """An item of a list that is no v1 job, as it is written; in the usual layout where that says nothing by itself."""
    node = source.node
    if node is None or not isinstance(node, yaml.MappingNode) or node.flow_style or not _stands_alone(node):
        return plain_text(source.value)
    column = node.start_mark.column
    text = " " * column + source.text[node.start_mark.index : node.end_mark.index].rstrip(" ")
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    return "".join(f"{line[column:] if not line[:column].strip() else line.lstrip()}\n" for line in lines)


def _stands_alone(whole: yaml.MappingNode) -> bool:
    """Whether the node's text says the whole object: its kind, and all anchors of its aliases. What an alias stands for lies
    where its anchor is."""
    if not {"apiVersion", "kind"} <= {key.value for key, _ in whole.value}:
        return False
    start, end = whole.start_mark.index, whole.end_mark.index
    left: list[yaml.Node] = [whole]
    seen: set[int] = set()
    while left:
        node = left.pop()
        if not start <= node.start_mark.index < max(end, start + 1):
            return False
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        left += [inner for pair in node.value for inner in pair] if isinstance(node, yaml.MappingNode) else node.value
    return True


def _json_text(document: Document, context: EmitContext) -> str:
    values: list[Json] = []
    seen: set[RuntimeKey] = set()
    for source in document.objects:
        outcome = context.outcome(source)
        if outcome is None or (context.keeps_blocked and _is_left(outcome)):
            values.append(source.value)
        elif outcome.conversion is not None and not outcome.is_blocked:
            runtime = outcome.conversion.runtime
            if runtime is not None and runtime_key(runtime) not in {*seen, *context.runtimes}:
                values.append(runtime)
                seen.add(runtime_key(runtime))
            values.append(outcome.conversion.train_job)
    context.runtimes.update(dict.fromkeys(seen, ""))
    if not values:
        return ""
    value = values[0] if len(values) == 1 and not document.is_list else {"apiVersion": "v1", "kind": "List", "items": values}
    end = "\n" if document.text.endswith("\n") else ""
    return msgspec.json.format(msgspec.json.encode(value), indent=_json_indent(document.text)).decode() + end


def _json_indent(text: str) -> int:
    """Blanks a level; below 0 for JSON in one line."""
    lines = text.strip().split("\n")
    return max(len(lines[1]) - len(lines[1].lstrip()), 1) if len(lines) > 1 else -1


def _is_left(outcome: Outcome) -> bool:
    return outcome.conversion is None or outcome.is_blocked


def _reason(outcome: Outcome) -> str:
    lines = [f"# {outcome.source.title} ({outcome.source.place()}) is not converted:"]
    lines += [f"#   {finding.topic.id} {finding.message}" for finding in outcome.findings if finding.is_blocking]
    return "".join(f"{line}\n" for line in lines)
