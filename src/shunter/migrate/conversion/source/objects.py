"""One object that was found: its value, and where each field of it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import yaml

from shunter.api.meta import Json
from shunter.api.titles import object_title
from shunter.kube.positions import followed
from shunter.migrate.findings import Place
from shunter.migrate.paths import Path, path_text


@dataclass(frozen=True)
class SourceObject:
    """`value` is never changed. `node` is the YAML node that it was read from, None for an object of a cluster; `first_line` is
    the number of lines before `text`, which the node's marks count from."""

    value: Json
    source: str
    """The file's path as it was given, `standard input`, or `cluster`."""
    node: yaml.Node | None = None
    first_line: int = 0
    text: str = field(default="", repr=False)
    is_embedded: bool = False
    """Whether it stands within another object, whose owner creates it and may name it."""
    at: Place | None = None
    """Where it stands although it has no nodes: the text that holds it, or the document of JSON that is no YAML."""
    host_namespace: str = ""
    """The namespace of the containing object, in which an embedded object without a namespace is created."""

    @property
    def is_object(self) -> bool:
        """Whether it says what it is: values of a chart, say, do not."""
        return isinstance(self.value.get("kind"), str) and isinstance(self.value.get("apiVersion"), str)

    @property
    def kind(self) -> str:
        """Empty where it says none."""
        return str(self.value.get("kind", ""))

    @property
    def api_version(self) -> str:
        """`kubeflow.org/v1`; empty where it says none."""
        return str(self.value.get("apiVersion", ""))

    @property
    def name(self) -> str:
        """The name, or `prefix*` for one that the API server completes."""
        metadata = self.metadata
        return str(metadata.get("name") or f"{metadata.get('generateName', '')}*")

    @property
    def namespace(self) -> str:
        """Its own, else that of the object that it is embedded in; empty where neither says one."""
        return str(self.metadata.get("namespace") or self.host_namespace)

    @property
    def metadata(self) -> Json:
        """Empty where it has none, or something that is no mapping. Not to be changed."""
        metadata = self.value.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    @cached_property
    def title(self) -> str:
        """`PyTorchJob training/bert`."""
        return object_title(self.kind, self.namespace, self.name)

    def place(self, path: Path = (), offset: int | None = None) -> Place:
        """Where a field stands: its key in a file, or what of the path is there; in a cluster, the object and the field. With an
        offset, where that character of its text stands."""
        if self.node is None:
            return self.at or Place(f"{self.title}:.{path_text(path)}" if path else self.title)
        steps, mark, node = followed(self.node, path)
        if steps == len(path) and offset is not None and isinstance(node, yaml.ScalarNode):
            line, column = _within(node, offset, self.text)
            return Place(self.source, self.first_line + line + 1, column + 1)
        return Place(self.source, self.first_line + mark.line + 1, mark.column + 1)


def _within(node: yaml.ScalarNode, offset: int, text: str) -> tuple[int, int]:
    """Line and column of a character of a value, from 0; of a value whose layout YAML changes, where it begins."""
    start, end = node.start_mark, node.end_mark
    before = node.value[:offset].split("\n")
    if node.style == "|":
        line = start.line + len(before)
        written = next(islice(text.split("\n"), line, None), "").removesuffix("\r")
        indentation = max(len(written) - len(node.value.split("\n")[len(before) - 1]), 0)
        return line, indentation + len(before[-1])
    if start.line == end.line and len(before) == 1:
        return start.line, start.column + (node.style in {"'", '"'}) + offset
    return start.line, start.column
