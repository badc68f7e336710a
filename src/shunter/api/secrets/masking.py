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
from shunter.api.secrets.names import holds_secret, is_concealed, is_credential, names_secret

HIDDEN = "***"
SHORTEST = 6
"""Values of at least so many characters are masked wherever they occur: shorter ones, as `true` and `4096`, are ordinary
words."""

_FLAG = late_pattern(r"--?[\w.-]+")
_REFERENCE = r"(?!\\?[\"']{0,2}\$(?:[A-Za-z_({]|\d\b(?!\$)))"
_VALUE = late_pattern(_REFERENCE + r"""(\\"(?:(?!\\").)*\\"|"[^"]*"|''[^']+''|'[^']*'|(?:\\*["'])?(?:[^\s"',\]}]|,(?=\S))+)""")
_IN_ADDRESS = late_pattern(r"(://[^/\s:@]*:)(?!\$[\w({])([^/\s@]+)(?=@)")
# Names are matched separately, so that the time is linear in the length of the text.
_ARGUMENT = r"([\w.-]++)=|(--?\w[\w.-]*+)[ \t]++(?!-)"
_ARGUMENTS = late_pattern(rf"(?<![\w.-])(?:{_ARGUMENT})")
_LABELS = late_pattern(rf"""(?<![\w.-])(?:{_ARGUMENT}|([\w.-]++)(?:\\*["']){{0,2}}[ \t]*+[:=][ \t]*+)""")

_SHAPES = late_pattern(
    r"\bhf_[A-Za-z0-9_]{8,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[oprsu]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[\w-]{10,}|\bsk-[\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)
"""Tokens that are recognized by their prefix."""
_SCHEME = late_pattern(r"\b((?:bearer|basic)[ \t]+)(?!\$[\w({])([\w.~+/-]{6,}=*)", re.IGNORECASE)
_USER_IN_ADDRESS = late_pattern(r"(\bhttps?://)(?!\$[\w({])([^/\s:@]{8,})(?=@)")
_PRIVATE_KEY = late_pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_END_OF_PRIVATE_KEY = late_pattern(r"(?:^.*[A-Za-z0-9+/=]{16,}[ \t]*\n)*^.*-----END [A-Z ]*PRIVATE KEY-----", re.MULTILINE)
_SIGNATURE = late_pattern(r"([?&](?:X-(?:Amz|Goog)-Signature|sig)=)[^&\s\"']+", re.IGNORECASE)
"""Of an address that lets everyone who has it read or write (presigned by S3 or Google, a shared access signature of Azure)."""


def credentials(value: Any) -> set[str]:
    """The values in an object that must not be shown."""
    found, seen = set[str](), set[str]()
    for part in _parts(value):
        if isinstance(part, dict):
            found.update(given for name, given in named_values(part) if is_credential(name, given))
        elif isinstance(part, list):
            found.update(after for flag, after in _pairs(part) if is_flag(flag) and may_follow(after))
        elif part not in seen:
            seen.add(part)  # Pods of a job repeat nearly all of their texts.
            found.update(part[start:end].strip("\\\"'") for start, end in _spans(part, _ARGUMENTS))
            found.update(match[2] for match in _IN_ADDRESS.finditer(part))
    return found - {""}


def named_values(fields: Json) -> Iterator[tuple[str, str]]:
    """The texts in an object, each with its name: that of its field, or of a variable (`{name: HF_TOKEN, value: ...}`)."""
    name = fields.get("name")
    for field, given in fields.items():
        if isinstance(given, str):
            yield (name if field == "value" and isinstance(name, str) else field), given


def masked(text: str, secrets: Collection[str]) -> str:
    """A message, or another text that is not a manifest, without credentials; `secrets` are those of its job."""
    return _without_named(_without_forms(text, secrets), _ARGUMENTS)


def masked_value(value: str, secrets: Collection[str]) -> str:
    """The value of one field without credentials: nothing of it if it is one, however short."""
    return HIDDEN if value in secrets else masked(value, secrets)


def masked_values(value: Any, secrets: Collection[str]) -> Any:
    """A copy of an object, or of a part of one, in which each text is masked as `masked_value` does; keys are kept."""
    if isinstance(value, dict):
        return {key: masked_values(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [masked_values(item, secrets) for item in value]
    return masked_value(value, secrets) if isinstance(value, str) else value


def masked_log(text: str, secrets: Collection[str]) -> str:
    """Lines of a log, or a command line, without credentials; also masks `token: value`."""
    return _without_named(_without_forms(text, secrets), _LABELS)


def has_password(value: str) -> bool:
    """Whether a text contains an address with a password (`redis://:PASSWORD@host`)."""
    return _IN_ADDRESS.search(value) is not None


def _without_forms(text: str, secrets: Collection[str]) -> str:
    """Without values that are known, and those that are recognized by where they stand or how they look."""
    for value in sorted((value for value in secrets if len(value) >= SHORTEST), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    if "PRIVATE KEY-----" in text:
        text = _END_OF_PRIVATE_KEY.sub(HIDDEN, _PRIVATE_KEY.sub(HIDDEN, text))
    for pattern in (_IN_ADDRESS, _USER_IN_ADDRESS, _SIGNATURE):
        text = pattern.sub(rf"\1{HIDDEN}", text)
    return _SCHEME.sub(rf"\1{HIDDEN}", _SHAPES.sub(HIDDEN, text))


def _without_named(text: str, names: re.Pattern[str]) -> str:
    parts, last = [], 0
    for start, end in _spans(text, names):
        parts += [text[last:start], HIDDEN]
        last = end
    return "".join((*parts, text[last:]))


def _spans(text: str, names: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where the values of names that hold secrets stand, in order. A name within another's value counts too, as in
    `--env=HF_TOKEN=...` and `bash -c '... --token ...'`."""
    if not names_secret(text):
        return
    end = 0
    for match in names.finditer(text):
        if match.start() < end or not holds_secret(match[match.lastindex or 0]):
            continue
        if (value := _VALUE.match(text, match.end())) and is_concealed(value[1].strip("\\\"'")):
            end = value.end()
            yield value.span(1)


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


def is_flag(text: str) -> bool:
    """Whether this is an option such as `--hf-token`, whose next word is a credential; False for `--hf-token=VALUE`."""
    return _FLAG.fullmatch(text) is not None and holds_secret(text)


def may_follow(value: str) -> bool:
    """Whether a word can be the value, to be masked, of the option before it: not another option, not `$HF_TOKEN`."""
    return not value.startswith("-") and is_concealed(value)
