"""Texts that are small and would become too much: nesting without end, aliases of aliases."""

from __future__ import annotations

import re
from typing import cast

import yaml

from shunter.api.late_patterns import late_pattern
from shunter.api.yaml import Loader

MAXIMUM_EXPANDED_NODES = 1_000_000
"""What aliases may make of one document: far above any manifest, far below what fills a memory."""
MAXIMUM_DEPTH = 200
"""How deep objects may be nested."""
_DEEP = late_pattern(rf"^ {{{MAXIMUM_DEPTH}}}|(?:[-?:][ \t]+){{{MAXIMUM_DEPTH}}}", re.M)
"""What a text has at least that is nested too deep without brackets."""


def refuse_depth(text: str) -> None:
    """Raises YAMLError for nesting that would end the process: libyaml makes nodes by recursion, events it does not."""
    # A line that nests so deep without brackets is as long at least, and most texts have none.
    has_long_line = max(map(len, text.split("\n"))) >= MAXIMUM_DEPTH
    if text.count("[") + text.count("{") <= MAXIMUM_DEPTH and not (has_long_line and _DEEP.search(text)):
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
    """Raises YAMLError for an alias within itself, and for aliases that would fill the memory or be nested too deep."""
    known: dict[int, tuple[int, int]] = {}

    def measure(node: yaml.Node, level: int) -> tuple[int, int]:
        """How many nodes there are, and how many levels, with all aliases written out."""
        if level > MAXIMUM_DEPTH:
            raise yaml.composer.ComposerError(None, None, f"more than {MAXIMUM_DEPTH} levels", node.start_mark)
        if id(node) in known:
            if known[id(node)] == _OPEN:
                raise yaml.composer.ComposerError(None, None, "an alias is inside what it refers to", node.start_mark)
            return known[id(node)]
        known[id(node)] = _OPEN
        inner = [measure(below, level + 1) if below.__class__ is not yaml.ScalarNode else (1, 1) for below in _below(node)]
        count = 1 + sum(nodes for nodes, _ in inner)
        depth = 1 + max((levels for _, levels in inner), default=0)
        if count > MAXIMUM_EXPANDED_NODES or depth > MAXIMUM_DEPTH:
            raise yaml.composer.ComposerError(None, None, "aliases expand to too much", node.start_mark)
        known[id(node)] = (count, depth)
        return count, depth

    measure(root, 0)


_OPEN = (0, 0)
"""Measured right now."""


def _below(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return []
