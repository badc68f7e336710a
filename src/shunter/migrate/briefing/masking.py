"""Credentials that stand in a job's variables and arguments, hidden in texts: pages go to more people than may read the job.

By name alone, and in addresses (`https://user:password@host`), so a value may be hidden that is none: in a page that costs
little. What only refers to a value (`$HF_TOKEN`) is shown. Manifests that `convert` writes are never masked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any

import yaml

from shunter.api.meta import Json
from shunter.kube.manifests import Loader
from shunter.migrate.source.yaml_nodes import nodes

HIDDEN = "***"
SHORTEST = 6
"""Characters of a value that is looked for where nothing says what it is: `true` and `4096` are words of their own."""

_NAMED = (
    r"(?:token|secret|password|passwd|passphrase|credential"
    r"|(?:api|access|private|account|storage|encryption|kaggle)[_-]?key)"
)
_NAME = re.compile(_NAMED, re.IGNORECASE)
# A tokenizer is no token, and half of all jobs name one.
_NO_TOKENIZER = re.compile(rf"(?!tokeniz){_NAMED}", re.IGNORECASE)
_FLAG = re.compile(r"--?[\w.-]+")
_REFERENCE = r"(?!\\?[\"']{0,2}\$[\w({])"
_VALUE = r"""(\\"(?:(?!\\").)*\\"|"[^"]*"|''[^']+''|'[^']*'|(?:[^\s"',\]}]|,(?=\S))+)"""
_IN_ADDRESS = re.compile(r"(://[^/\s:@]*:)(?!\$[\w({])([^/\s@]+)(?=@)")
# Names are judged apart, so that no text takes more than one look at each character.
_ASSIGNED = re.compile(rf"(?<![\w.-])([\w.-]+=){_REFERENCE}{_VALUE}")
_FOLLOWING = re.compile(rf"(?<![\w.-])(--?\w[\w.-]*[ \t]+){_REFERENCE}(?!-){_VALUE}")


def credentials(value: Any) -> set[str]:
    """The values in an object that must not be shown, as programs get them."""
    found: set[str] = set()
    for part in _parts(value):
        if isinstance(part, dict):
            name, given = part.get("name"), part.get("value")
            if isinstance(name, str) and isinstance(given, str) and _NO_TOKENIZER.search(name) and _is_credential(name, given):
                found.add(given)
        elif isinstance(part, list):
            found.update(after for flag, after in _pairs(part) if _is_flag(flag) and _may_follow(after))
        else:
            matches = (match for pattern in (_ASSIGNED, _FOLLOWING) for match in pattern.finditer(part))
            found.update(match[2].strip("\\\"'") for match in matches if _NO_TOKENIZER.search(match[1]))
            found.update(match[2] for match in _IN_ADDRESS.finditer(part))
    return found - {""}


def masked(text: str, known: Collection[str]) -> str:
    """A message, or another text that is no manifest, without credentials; `known` are those of its job."""
    for value in sorted((value for value in known if len(value) >= SHORTEST), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    text = _IN_ADDRESS.sub(rf"\1{HIDDEN}", text)
    return _FOLLOWING.sub(_hidden, _ASSIGNED.sub(_hidden, text)) if _NAME.search(text) else text


def masked_manifest(text: str, known: Collection[str]) -> str:
    """A manifest without credentials, else as it stands. yaml.YAMLError when it is not YAML by itself."""
    if not known and not _NAME.search(text):
        return text
    node = yaml.compose(text, Loader)
    for start, end in sorted(_spans(node), reverse=True) if node is not None else ():
        text = text[:start] + HIDDEN + text[start + len(text[start:end].rstrip()) :]
    return masked(text, known)


def _spans(root: yaml.Node) -> set[tuple[int, int]]:
    """Where the scalars stand that are credentials as a whole."""
    found: set[tuple[int, int]] = set()
    for node in nodes(root, keys=True):
        if isinstance(node, yaml.MappingNode):
            fields = {key.value: value for key, value in node.value if isinstance(value, yaml.ScalarNode)}
            name, given = fields.get("name"), fields.get("value")
            if name is not None and given is not None and _is_credential(name.value, given.value):
                found.add((given.start_mark.index, given.end_mark.index))
        elif isinstance(node, yaml.SequenceNode):
            for flag, after in pairwise(node.value):
                if not (isinstance(flag, yaml.ScalarNode) and isinstance(after, yaml.ScalarNode)):
                    continue
                if _is_flag(flag.value) and _may_follow(after.value):
                    found.add((after.start_mark.index, after.end_mark.index))
    return found


def _parts(value: Any) -> Iterator[Json | list[Any] | str]:
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left += part.values()
        elif isinstance(part, list):
            yield part
            left += part
        elif isinstance(part, str):
            yield part


def _pairs(items: list[Any]) -> Iterator[tuple[str, str]]:
    for flag, after in pairwise(items):
        if isinstance(flag, str) and isinstance(after, str):
            yield flag, after


def _hidden(match: re.Match[str]) -> str:
    return f"{match[1]}{HIDDEN}" if _NO_TOKENIZER.search(match[1]) else match[0]


def _is_flag(text: str) -> bool:
    return _FLAG.fullmatch(text) is not None and _NO_TOKENIZER.search(text) is not None


def _is_credential(name: str, value: str) -> bool:
    return bool(_NAME.search(name)) and bool(value) and not _is_reference(value)


def _may_follow(value: str) -> bool:
    return bool(value) and not value.startswith("-") and not _is_reference(value)


def _is_reference(value: str) -> bool:
    return re.fullmatch(r"\$(\w+|\{\w+\}|\(\w+\))", value) is not None
