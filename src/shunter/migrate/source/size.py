"""Texts that are small and would become too much: nesting without end, aliases of aliases."""

from __future__ import annotations

import re
from typing import cast

import yaml

from shunter.kube.manifests import Loader

MAXIMUM_EXPANDED_NODES = 1_000_000
"""What aliases may make of one document: far above any manifest, far below what fills a memory."""
MAXIMUM_DEPTH = 200
"""How deep objects may be nested."""
_DEEP = re.compile(rf"^ {{{MAXIMUM_DEPTH}}}|(?:- ){{{MAXIMUM_DEPTH}}}", re.M)
"""What a text has at least that is nested too deep without brackets."""


def refuse_depth(text: str) -> None:
    """Raises YAMLError for nesting that would end the process: libyaml makes nodes by recursion, events it does not."""
    if text.count("[") + text.count("{") <= MAXIMUM_DEPTH and not _DEEP.search(text):
        return
    depth = 0
    for event in yaml.parse(text, Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAXIMUM_DEPTH:
                raise yaml.composer.ComposerError(
                    None, None, f"more than {MAXIMUM_DEPTH} levels", cast("yaml.Mark", event.start_mark)
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def refuse_expansion(root: yaml.Node) -> None:
    """Raises YAMLError for an alias within itself, and for aliases of aliases that would fill the memory."""
    sizes: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        known = sizes.get(id(node))
        if known is not None:
            if known == 0:
                raise yaml.composer.ComposerError(None, None, "an alias stands within what it stands for", node.start_mark)
            return known
        sizes[id(node)] = 0
        total = 1
        if isinstance(node, yaml.SequenceNode):
            total += sum(size(item) for item in node.value)
        elif isinstance(node, yaml.MappingNode):
            total += sum(size(key) + size(item) for key, item in node.value)
        if total > MAXIMUM_EXPANDED_NODES:
            raise yaml.composer.ComposerError(None, None, "aliases stand for too much", node.start_mark)
        sizes[id(node)] = total
        return total

    size(root)
