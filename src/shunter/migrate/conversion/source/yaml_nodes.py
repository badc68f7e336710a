"""Walking through parsed YAML, whose nodes know where they stand in the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml


def nodes(node: yaml.Node, *, keys: bool = False) -> Iterator[yaml.Node]:
    """The node and all below it in the order of the text. What aliases repeat comes once: it may contain itself."""
    seen: set[int] = set()
    left = [node]
    while left:
        inner = left.pop()
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        yield inner
        if isinstance(inner, yaml.SequenceNode):
            left += reversed(inner.value)
        elif isinstance(inner, yaml.MappingNode):
            for key, value in reversed(inner.value):
                left += (value, key) if keys else (value,)


def fields(node: yaml.Node | None) -> dict[Any, yaml.Node]:
    """The values of a mapping by the text of their keys; empty for any other node."""
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
