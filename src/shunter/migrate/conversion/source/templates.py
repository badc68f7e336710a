"""Helm templates, as opposed to YAML in which double braces are text, such as `ps --format '{{.ID}}'`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from shunter.api.late_patterns import late_pattern
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion.source.embedded import V1

_ACTION = late_pattern(
    r"\{\{-?\s*(?:[.$\"`(]|/\*|(?:if|else|end|range|with|define|block|template|include|tpl|toYaml|toJson|quote|squote|default|printf|"
    r"required|lookup|add|int|int64|fromYaml|coalesce|ternary|trunc|indent|nindent|lower|upper|not|and|or|eq|list|dict)\b)"
)
_OPEN_VERSION = late_pattern(r"\bapiVersion:[^\n]*\{\{")
"""A version that only Helm knows."""
_KUBEFLOW = late_pattern(r"(?<![\w.-])kubeflow\.org/(?:v1\b|[\"']?\s*\{\{)")
_OPEN_KIND = late_pattern(r"\bkind:[^\n]*\{\{")
"""A kind that only Helm knows."""
_KIND = late_pattern(rf"\bkind:\s*[\"']?(?:{'|'.join(kind.resource.kind for kind in JOB_KINDS)})\b")
_NEVER_BRACES = frozenset({"apiVersion", "kind", "name", "generateName", "namespace", "image"})
"""Fields in which Kubernetes takes no braces, quoted or not."""


def has_actions(text: str) -> bool:
    """Whether Helm (or Go's text/template) would fill something in. `{{inputs.parameters.x}}` of Argo Workflows and its like are
    plain text to YAML and to us."""
    return "{{" in text and _ACTION.search(text) is not None


def needs_filling(text: str, node: yaml.Node | None) -> bool:
    """Whether an action of a text that is YAML stands for a value, or for a name or image, not in a comment or a longer text."""
    for key, inner in _entries(node, set()):
        start = inner.start_mark.index
        if isinstance(inner, yaml.MappingNode):
            if inner.flow_style and _ACTION.match(text, start):
                return True
        elif key in _NEVER_BRACES and isinstance(inner, yaml.ScalarNode) and has_actions(inner.value):
            return True
    return False


def holds_v1_job(text: str) -> bool:
    """Whether a template, which need not be YAML, makes a job of v1: by what is written out of its kind, version and fields."""
    if _OPEN_KIND.search(text) and _KUBEFLOW.search(text):
        return True
    has_version = V1 in text or _OPEN_VERSION.search(text) is not None
    return has_version and ("replicaspecs" in text.lower() or _KIND.search(text) is not None)


def is_of_chart(file: Path) -> bool:
    """Whether the file stands in a Helm chart, which fills in what it can."""
    return _is_in_chart(file.absolute().parent)


@cache
def _is_in_chart(directory: Path) -> bool:
    return any((folder / "Chart.yaml").is_file() for folder in (directory, *directory.parents))


def _entries(node: yaml.Node | None, seen: set[int], key: str = "") -> Iterator[tuple[str, yaml.Node]]:
    """The nodes with the keys that they stand at, each once."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    yield key, node
    if isinstance(node, yaml.MappingNode):
        for name, inner in node.value:
            yield from _entries(name, seen)
            yield from _entries(inner, seen, str(name.value) if isinstance(name, yaml.ScalarNode) else "")
    elif isinstance(node, yaml.SequenceNode):
        for inner in node.value:
            yield from _entries(inner, seen)
