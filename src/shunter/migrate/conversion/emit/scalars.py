"""The text of single values: lifted from the source where it says the same, else written so that all YAML readers agree on it."""

from __future__ import annotations

import base64
import json
import math
import re
from datetime import date
from functools import lru_cache
from typing import Any

import yaml

from shunter.api.late_patterns import late_pattern

_PLAIN = late_pattern(r"[A-Za-z0-9_./$(+;<^~-][^\x00-\x1f\x7f-\xa0\ud800-\udfff\ufeff\ufffe\uffff\u2028\u2029]*")
_NUMBER_LIKE = late_pattern(r"[-+]?(?:[0-9]|\.[0-9_])[0-9A-Fa-fxXoObBeE_.:,+\-TZ ]*|[-+]?\.(?:inf|nan)", re.I)
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "none", "<<", "=", "-", "---", "..."))
"""What YAML 1.1, YAML 1.2 or some reader in between takes for something else than text."""
_OF_FLOW = late_pattern(r"[,\[\]{}:?]")
_UNPRINTABLE = late_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff\u2028\u2029]")


def same(left: Any, right: Any) -> bool:
    """Equal, and of one type at every level: 1 is not true."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def inline(value: Any) -> str:
    """A scalar, or an empty collection, in one line."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bytes | date | set | frozenset):
        return _beyond_json(value)
    return json.dumps(value)


def _number(value: float) -> str:
    """With a point: YAML 1.1 takes 1e+16 for text."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    text = json.dumps(value)
    return text if "." in text else text.replace("e", ".0e")


def _beyond_json(value: bytes | date | set[Any] | frozenset[Any]) -> str:
    """What objects of Kubernetes do not have, but what stands beside them in a file may."""
    if isinstance(value, bytes):
        return f"!!binary {base64.b64encode(value).decode()}"
    if isinstance(value, date):
        return f"!!timestamp {value.isoformat()}"
    return "!!set {" + ", ".join(sorted(inline_in_flow(item) for item in value)) + "}"


@lru_cache(maxsize=1024)
def _is_plain(value: str) -> bool:
    """Whether every reader takes it for this text without quotes."""
    return (
        _PLAIN.fullmatch(value) is not None
        and ": " not in value
        and " #" not in value
        and value[-1] not in ": "
        and value.lower() not in _WORDS
        and not value.startswith("- ")
        and not _NUMBER_LIKE.fullmatch(value)
    )


def _text(value: str) -> str:
    if _is_plain(value):
        return value
    if ('"' in value or "\\" in value) and not _UNPRINTABLE.search(value) and "\n" not in value and "\t" not in value:
        return "'" + value.replace("'", "''") + "'"
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def inline_in_flow(value: Any) -> str:
    """The value in one line between brackets, where plain scalars must not contain commas and brackets."""
    text = inline(value)
    if isinstance(value, str) and text[0] not in "\"'" and _OF_FLOW.search(text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text


def block(value: str, indent: int) -> list[str] | None:
    """Text of several lines as a literal block: its header and its lines, indented. None for text that a block cannot hold."""
    if "\n" not in value.strip("\n") and not (value.endswith("\n") and value.strip()):
        return None
    if _UNPRINTABLE.search(value) or value[0] in " \n\t":
        return None
    content = value.rstrip("\n")
    ends = len(value) - len(content)
    header = "|" + ("-" if ends == 0 else "" if ends == 1 else "+")
    lines = [" " * indent + line if line else "" for line in content.split("\n")]
    return [header, *lines, *[""] * (ends - 1)]


def is_ambiguous(node: yaml.Node) -> bool:
    """Whether something in it is text without quotes that some readers of YAML take for a number, a time or a word of theirs."""
    if isinstance(node, yaml.ScalarNode):
        is_plain_text = not node.style and node.tag == "tag:yaml.org,2002:str" and "\n" not in node.value
        return is_plain_text and not _is_plain(node.value)
    if isinstance(node, yaml.MappingNode):
        return any(is_ambiguous(key) or is_ambiguous(value) for key, value in node.value)
    return isinstance(node, yaml.SequenceNode) and any(map(is_ambiguous, node.value))


def lifted(node: yaml.ScalarNode, text: str, indent: int) -> list[str] | None:
    """The scalar as the source writes it, moved to another indentation: its first line, and the others in full. None where the
    text alone does not say the value (tags, anchors of blocks, explicit indentation), or says it only to some readers of YAML."""
    if is_ambiguous(node):
        return None
    written = text[node.start_mark.index : node.end_mark.index]
    if written[:1] in "&!" and written:
        anchor, _, rest = written.partition(" ")
        if not anchor.startswith("&") or "\n" in anchor or not rest.strip() or rest.lstrip()[0] in "!|>":
            return None
        written = rest.lstrip()
    if "\n" not in written:
        return [written]
    lines = written.replace("\r\n", "\n").split("\n")
    if node.style not in ("|", ">"):
        return [lines[0], *(" " * indent + line.strip() if line.strip() else "" for line in lines[1:])]
    header = lines[0].partition("#")[0].strip()
    if any(character.isdigit() for character in header):
        return None
    content = lines[1:]
    while content and not content[-1].strip() and ("+" not in header or content[-1] == ""):
        content.pop()
        if "+" in header:
            break
    if not content or not content[0].strip():
        return None
    width = len(content[0]) - len(content[0].lstrip(" "))
    return [header, *(" " * indent + line[width:] if line.strip() or len(line) > width else "" for line in content)]
