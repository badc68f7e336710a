"""Where a field of an object stands in the YAML (or JSON) that it was read from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import yaml


class Position(NamedTuple):
    """How far a path could be followed: `steps` of it, to `node`, whose key or item begins at `mark`."""

    steps: int
    mark: yaml.Mark
    node: yaml.Node


def followed(root: yaml.Node, path: Sequence[str | int]) -> Position:
    """The place that keys and indexes lead to, or of what is there of it. The nodes are those of which an object was constructed
    already: only then are merge keys (`<<`) resolved."""
    mark, node = root.start_mark, root
    for steps, step in enumerate(path):
        entry = _entry(node, step)
        if entry is None:
            return Position(steps, mark, node)
        mark, node = entry
    return Position(len(path), mark, node)


def _entry(node: yaml.Node, step: str | int) -> tuple[yaml.Mark, yaml.Node] | None:
    """The mark of a key or item, and the node below it."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step].start_mark, node.value[step]
    if isinstance(node, yaml.MappingNode):
        for key, inner in reversed(node.value):  # what a merge key (`<<`) brought stands before the object's own keys
            if isinstance(key, yaml.ScalarNode) and key.value == str(step):
                return key.start_mark, inner
    return None
