"""Masks credentials in texts and objects that more people see than may read the job. Pure.

They are recognized by name (`password=...`), in addresses (`https://user:password@host`), and by the form of well-known tokens.
Other values may be masked too, which costs little. A reference to a value (`$HF_TOKEN`) is shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json

HIDDEN = "***"
SHORTEST = 6
"""Values of at least so many characters are masked wherever they occur: shorter ones, as `true` and `4096`, are ordinary
words."""

_NAMED = (
    r"(?:token|secret|password|passwd|passphrase|credential"
    r"|(?:api|access|private|account|storage|encryption|kaggle)[_-]?key)"
)
_NAME = late_pattern(_NAMED, re.IGNORECASE)
# A tokenizer is not a token, and many jobs name one.
_NO_TOKENIZER = late_pattern(rf"(?!tokeniz){_NAMED}", re.IGNORECASE)
_FLAG = late_pattern(r"--?[\w.-]+")
_REFERENCE = r"(?!\\?[\"']{0,2}\$[\w({])"
_VALUE = r"""(\\"(?:(?!\\").)*\\"|"[^"]*"|''[^']+''|'[^']*'|(?:[^\s"',\]}]|,(?=\S))+)"""
_IN_ADDRESS = late_pattern(r"(://[^/\s:@]*:)(?!\$[\w({])([^/\s@]+)(?=@)")
# Names are matched separately, so that the time is linear in the length of the text.
_ASSIGNED = late_pattern(rf"(?<![\w.-])([\w.-]+=){_REFERENCE}{_VALUE}")
_FOLLOWING = late_pattern(rf"(?<![\w.-])(--?\w[\w.-]*[ \t]+){_REFERENCE}(?!-){_VALUE}")


_SHAPES = late_pattern(
    r"\bhf_[A-Za-z0-9_]{8,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[oprsu]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[\w-]{10,}|\bsk-[\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)
"""Tokens that are recognized by their prefix."""
_SCHEME = late_pattern(r"\b((?:bearer|basic)[ \t]+)(?!\$[\w({])([\w.~+/-]{6,}=*)", re.IGNORECASE)
_USER_IN_ADDRESS = late_pattern(r"(\bhttps?://)(?!\$[\w({])([^/\s:@]{8,})(?=@)")
_PRIVATE_KEY = late_pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_END_OF_PRIVATE_KEY = late_pattern(r"(?:^.*[A-Za-z0-9+/=]{16,}[ \t]*\n)*^.*-----END [A-Z ]*PRIVATE KEY-----", re.MULTILINE)
_LABELLED = late_pattern(
    rf"""((?!tokens|tokeniz){_NAMED}[\w.-]{{0,40}}["']{{0,2}}[ \t]*[:=][ \t]*){_REFERENCE}{_VALUE}""",
    re.IGNORECASE,
)


def credentials(value: Any) -> set[str]:
    """The values in an object that must not be shown."""
    found, seen = set[str](), set[str]()
    for part in _parts(value):
        if isinstance(part, dict):
            name, content = part.get("name"), part.get("value")
            if isinstance(name, str) and isinstance(content, str) and _NO_TOKENIZER.search(name) and is_credential(name, content):
                found.add(content)
        elif isinstance(part, list):
            found.update(after for flag, after in _pairs(part) if is_flag(flag) and may_follow(after))
        elif part not in seen:
            seen.add(part)  # Pods of a job repeat nearly all of their texts.
            matches = (match for pattern in (_ASSIGNED, _FOLLOWING) for match in pattern.finditer(part))
            found.update(match[2].strip("\\\"'") for match in matches if _NO_TOKENIZER.search(match[1]))
            found.update(match[2] for match in _IN_ADDRESS.finditer(part))
    return found - {""}


def masked(text: str, secrets: Collection[str]) -> str:
    """A message, or another text that is not a manifest, without credentials; `secrets` are those of its job."""
    for value in sorted((value for value in secrets if len(value) >= SHORTEST), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    text = _IN_ADDRESS.sub(rf"\1{HIDDEN}", text)
    text = _USER_IN_ADDRESS.sub(rf"\1{HIDDEN}", text)
    text = _SCHEME.sub(rf"\1{HIDDEN}", _SHAPES.sub(HIDDEN, text))
    return _FOLLOWING.sub(_hidden, _ASSIGNED.sub(_hidden, text)) if names_credential(text) else text


def masked_log(text: str, secrets: Collection[str]) -> str:
    """Lines of a log, or a command line, without credentials; also masks `token: value` and private keys."""
    if "PRIVATE KEY-----" in text:
        text = _END_OF_PRIVATE_KEY.sub(HIDDEN, _PRIVATE_KEY.sub(HIDDEN, text))
    text = masked(text, secrets)
    return _LABELLED.sub(rf"\1{HIDDEN}", text) if names_credential(text) else text


def names_credential(text: str) -> bool:
    """Whether a text names something that may be a credential."""
    return _NAME.search(text) is not None


def _parts(value: Any) -> Iterator[Json | list[Any] | str]:
    remaining = [value]
    while remaining:
        part = remaining.pop()
        if isinstance(part, dict):
            yield part
            # Lists of managed fields contain no values.
            remaining += [inner for name, inner in part.items() if name != "managedFields"]
        elif isinstance(part, list):
            yield part
            remaining += part
        elif isinstance(part, str):
            yield part


def _pairs(items: list[Any]) -> Iterator[tuple[str, str]]:
    for flag, after in pairwise(items):
        if isinstance(flag, str) and isinstance(after, str):
            yield flag, after


def _hidden(match: re.Match[str]) -> str:
    return f"{match[1]}{HIDDEN}" if _NO_TOKENIZER.search(match[1]) else match[0]


def is_flag(text: str) -> bool:
    """Whether this is an option such as `--hf-token`, whose next word is a credential; False for `--hf-token=VALUE`."""
    return _FLAG.fullmatch(text) is not None and _NO_TOKENIZER.search(text) is not None


def is_credential(name: str, value: str) -> bool:
    """Whether a variable of this name has a credential as its value: False if the value is empty or a reference such as
    `$HF_TOKEN`. A name with `tokenizer` counts as one with `token`."""
    return bool(_NAME.search(name)) and bool(value) and not _is_reference(value)


def may_follow(value: str) -> bool:
    """Whether a word can be the value, to be masked, of the option before it: not empty, not an option, not `$HF_TOKEN`."""
    return bool(value) and not value.startswith("-") and not _is_reference(value)


def _is_reference(value: str) -> bool:
    return re.fullmatch(r"\$(\w+|\{\w+\}|\(\w+\))", value) is not None
