"""Manifests without credentials, for pages that more people read than may read the job. What `convert` writes is never masked."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

import yaml

from shunter.api.secrets.masking import HIDDEN, is_flag, masked, may_follow, named_values
from shunter.api.secrets.names import is_credential, names_secret
from shunter.api.yaml import Loader
from shunter.migrate.conversion.source.yaml_nodes import nodes


def masked_manifest(text: str, secrets: Collection[str]) -> str:
    """A manifest without credentials, by name, address and shape, else as it stands. yaml.YAMLError when it names credentials and
    is not YAML by itself."""
    node = yaml.compose(text, Loader) if secrets or names_secret(text) else None
    for start, end in sorted(_spans(node), reverse=True) if node is not None else ():
        text = text[:start] + HIDDEN + text[start + len(text[start:end].rstrip()) :]
    return masked(text, secrets)


def _spans(root: yaml.Node) -> set[tuple[int, int]]:
    """Where the scalars stand that are credentials as a whole."""
    found: set[tuple[int, int]] = set()
    for node in nodes(root, keys=True):
        if isinstance(node, yaml.MappingNode):
            fields = {key.value: value for key, value in node.value if isinstance(value, yaml.ScalarNode)}
            named = named_values({field: value.value for field, value in fields.items()})
            for (name, given), scalar in zip(named, fields.values(), strict=True):
                if is_credential(name, given):
                    found.add((scalar.start_mark.index, scalar.end_mark.index))
        elif isinstance(node, yaml.SequenceNode):
            for flag, after in pairwise(node.value):
                if not (isinstance(flag, yaml.ScalarNode) and isinstance(after, yaml.ScalarNode)):
                    continue
                if is_flag(flag.value) and may_follow(after.value):
                    found.add((after.start_mark.index, after.end_mark.index))
    return found
