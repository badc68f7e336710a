"""Manifests as users hand them over: files, directories or standard input; YAML with several documents, JSON, or List kinds.

Every object keeps the place it came from, so that whatever is wrong with it later can be said with file and line.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from shunter.api.meta import Json
from shunter.api.titles import object_title
from shunter.api.yaml import Loader
from shunter.errors import InputError
from shunter.kube.positions import followed
from shunter.missing_file import missing_file

SUFFIXES = (".yaml", ".yml", ".json")


@dataclasses.dataclass(frozen=True)
class Document:
    """One document of a text, by its number from 0. It is read a second time when a position in it is asked for: the nodes that
    know it take a hundred times the space of their text, and only what is refused needs them."""

    text: str = dataclasses.field(repr=False)
    number: int

    @cached_property
    def node(self) -> yaml.Node:
        """What it consists of, merge keys resolved."""
        loader = Loader(self.text)
        try:
            node = None
            for _ in range(self.number + 1):
                node = loader.get_node() if loader.check_node() else None
            assert node is not None, "it was read once already"
            loader.construct_document(node)
            return node
        finally:
            loader.dispose()


class Manifest(NamedTuple):
    """One object and where it stands: in a document, or (an item of a List) within one."""

    object: Json
    source: str
    line: int
    document: Document | None = None
    within: tuple[str | int, ...] = ()

    @property
    def place(self) -> str:
        """`job.yaml:12`, for messages."""
        return f"{self.source}:{self.line}"

    def line_of(self, path: tuple[str | int, ...], *, or_parent: bool = False) -> int | None:
        """The line of a field as it was written; of the nearest field around it, with `or_parent`, where it was not. None when
        that is unknown."""
        if self.document is None:
            return None
        steps, mark, _ = followed(self.document.node, (*self.within, *path))
        missing = len(self.within) + len(path) - steps
        return mark.line + 1 if not missing or (or_parent and missing <= len(path)) else None

    @property
    def title(self) -> str:
        """`PyTorchJob training/pytorch-simple`, for messages."""
        metadata = self.object.get("metadata") or {}
        name = metadata.get("name") or f"{metadata.get('generateName', '')}*"
        return object_title(str(self.object.get("kind")), metadata.get("namespace") or "", name)


def load(source: str) -> list[Manifest]:
    """The objects in a file, in all YAML and JSON files of a directory (sorted by name), or on standard input (`-`).

    Raises InputError naming file, line and remedy for anything that is not a Kubernetes object.
    """
    if source == "-":
        return some(parse(_decoded(sys.stdin.buffer.read(), "standard input"), "standard input"), "standard input")
    path = Path(source)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
        if not files:
            raise InputError(f"{source}: the directory holds no file ending in {', '.join(SUFFIXES)}.")
        return [manifest for file in files for manifest in load(str(file))]
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise missing_file(source) from None
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror}.") from error
    return some(parse(_decoded(content, source), source), source)


def _decoded(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source}:{line}: not UTF-8 text: byte 0x{content[error.start]:02x}.", "Name a YAML or JSON file."
        ) from error


def some(found: Iterator[Manifest], source: str) -> list[Manifest]:
    """All of them as a list; InputError naming `source` where there is none."""
    manifests = list(found)
    if not manifests:
        raise InputError(f"{source}: holds no object.", "A manifest has at least apiVersion, kind and metadata.name.")
    return manifests


def parse(text: str, source: str) -> Iterator[Manifest]:
    """The objects of one text, List kinds unpacked."""
    with loading(text, source) as loader:
        for number in count():
            if not loader.check_node():
                return
            node = loader.get_node()
            assert node is not None, "check_node said there is one"
            line = node.start_mark.line + 1
            value = loader.construct_document(node)
            if value is None:
                continue
            _require_json(value, source, line)
            yield from objects(Manifest(value, source, line, Document(text, number)), node)


@contextmanager
def loading(text: str, source: str) -> Iterator[Loader]:
    """A loader of a text. InputError, naming line and column, when that turns out to be no YAML."""
    loader: Loader | None = None
    try:
        loader = Loader(text)
        yield loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        raise InputError(f"{where}: not valid YAML: {error.problem or error.context}.") from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        where = f"{source}:{before.count(chr(10)) + 1}:{error.position - before.rfind(chr(10))}"
        raise InputError(
            f"{where}: not valid YAML: a control character, {text[error.position]!r}.", "Remove it, or name another file."
        ) from error
    finally:
        if loader is not None:
            loader.dispose()


def objects(found: Manifest, node: yaml.Node) -> Iterator[Manifest]:
    """What was found, if it is an object; the items of a List, each with the line that it begins in."""
    value: object = found.object
    source, line = found.source, found.line
    if not isinstance(value, dict):
        raise InputError(f"{source}:{line}: expected a Kubernetes object, found {describe(value)}.")
    if isinstance(value.get("items"), list) and str(value.get("kind", "")).endswith("List"):
        for index, item in enumerate(value["items"]):
            _, mark, inner = followed(node, ("items", index))
            within = (*found.within, "items", index)
            yield from objects(found._replace(object=item, line=mark.line + 1, within=within), inner)
        return
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field), str) or not value[field]:
            raise InputError(f"{source}:{line}: {field} is missing.", "Every object starts with apiVersion and kind.")
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise InputError(f"{source}:{line}: {value['kind']} has no metadata.name.", "Give it a name (or a generateName).")
    for field in ("name", "generateName", "namespace"):
        if not isinstance(metadata.get(field, ""), str):
            raise InputError(f"{source}:{line}: metadata.{field} is {describe(metadata[field])}, not text.", "Put it in quotes.")
    yield found


def _require_json(value: object, source: str, line: int) -> None:
    """Raises InputError for what YAML can say and JSON, in which it is sent, cannot."""
    try:
        msgspec.json.encode(value)
    except TypeError as error:
        raise InputError(
            f"{source}:{line}: a key is not a string: YAML reads y, n, yes, no, on, off, true, false and null as other values.",
            "Put it in quotes.",
        ) from error
    except RecursionError as error:
        raise InputError(f"{source}:{line}: nested too deeply, or an alias refers to itself.") from error


def describe(value: object) -> str:
    """`int 5`, for messages; the value is cut to 40 characters."""
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) < 40 else shown[:37] + '...'}"
