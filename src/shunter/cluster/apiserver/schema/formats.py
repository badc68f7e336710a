"""String formats that the API server checks in custom resources, and Go's regular expressions in Python.

Formats it does not know are ignored, as the real one does. Source: kube-openapi `validation/strfmt`, apiextensions `formats.go`.
"""

from __future__ import annotations

import base64
import binascii
import functools
import ipaddress
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from shunter.api.formats.durations import nanoseconds
from shunter.errors import InputError

# Compiled when the first text of the format comes (`_compiled`): most processes see a few of them.
_DATE_TIME = r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})\Z"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z"
_HOSTNAME = r"(?=.{1,255}\Z)(?:[^\W_](?:-?[^\W_]{0,62})?|(?:[^\W_](?:(?:-|[^\W_]){0,61}[^\W_])?\.)+[^\W\d_]{2,63})\Z"
_EMAIL = r"[^@\s<>]+@[^@\s<>]+\Z"
_MAC = r"(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){4}(?:[0-9a-fA-F]{2}\1[0-9a-fA-F]{2}\1)?[0-9a-fA-F]{2}\Z"
_LENGTH = r"([0-9]+)\s*([A-Za-z\u00b5]+)"
_SECOND = 10**9
_SCALA_UNITS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("ns", "nano"), 1),
    (("us", "\u00b5s", "micro"), 1000),
    (("ms", "milli"), 10**6),
    (("s", "sec"), _SECOND),
    (("m", "min"), 60 * _SECOND),
    (("h", "hr", "hour"), 3600 * _SECOND),
    (("d", "day"), 24 * 3600 * _SECOND),
    (("w", "wk", "week"), 7 * 24 * 3600 * _SECOND),
)
"""Their names, the last of which may go on, and their nanoseconds."""
_UUID = "[0-9a-f]{8}-?[0-9a-f]{4}-?%s-?%s-?[0-9a-f]{12}\\Z"
_HEX4 = "[0-9a-f]{4}"
_SHORT_NAME = r"(?=.{1,63}\Z)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\Z"
_LONG_NAME = r"(?=.{1,253}\Z)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\Z"
_HEX_COLOR = r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})\Z"
_RGB_COLOR = r"(?a:rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)\Z)"


def _is_date_time(text: str) -> bool:
    found = _compiled(_DATE_TIME).match(text)
    if found is None:
        return False
    _, _, _, hour, minute, second = found.groups()
    return _is_date(text[:10]) and int(hour) < 24 and int(minute) < 60 and int(second) < 60


def _is_date(text: str) -> bool:
    if not _compiled(_DATE).match(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def duration(text: str) -> int:
    """The nanoseconds of a duration in Go's format (`1h30m`) or, anywhere in a text, in Scala's (`2 days`). Raises ValueError."""
    with suppress(InputError):
        return nanoseconds(text)
    units = [(int(number), _unit(name.lower())) for number, name in re.findall(_LENGTH, text)]
    if not any(unit for _, unit in units):
        raise ValueError(f"unable to parse {text} as duration")
    return sum(number * unit for number, unit in units)


def _unit(name: str) -> int:
    """Nanoseconds; 0 for no unit."""
    for (*short, long), length in _SCALA_UNITS:
        if name in short or name.startswith(long):
            return length
    return 0


def _is_duration(text: str) -> bool:
    try:
        duration(text)
    except ValueError:
        return False
    return True


def _is_byte(text: str) -> bool:
    """Base64, of something."""
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False


def _is_uri(text: str) -> bool:
    """What Go's ParseRequestURI takes: an absolute URI or an absolute path."""
    if not text or any(ord(char) <= 0x20 or ord(char) == 0x7F for char in text):
        return False
    try:
        return text.startswith("/") or bool(urlsplit(text).scheme)
    except ValueError:
        return False


def _is_address(text: str, version: int) -> bool:
    try:
        return "%" not in text and ipaddress.ip_address(text).version == version  # Go's ParseIP takes no zones
    except ValueError:
        return False


def _is_cidr(text: str) -> bool:
    """Go's ParseCIDR: the mask is a number of bits, never an address."""
    address, _, bits = text.partition("/")
    if "%" in address or not (bits.isascii() and bits.isdecimal()):
        return False
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda text: _compiled(pattern).match(text) is not None


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    return _matches(f"(?i:{_UUID % (third, fourth)})")


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "byte": _is_byte,
    "cidr": _is_cidr,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _matches(_EMAIL),
    "hexcolor": _matches(_HEX_COLOR),
    "hostname": _matches(_HOSTNAME),
    "ipv4": lambda text: _is_address(text, 4),
    "ipv6": lambda text: _is_address(text, 6),
    "k8slongname": _matches(_LONG_NAME),
    "k8sshortname": _matches(_SHORT_NAME),
    "mac": _matches(_MAC),
    "password": lambda text: True,
    "rgbcolor": _matches(_RGB_COLOR),
    "uri": _is_uri,
    "uuid": _uuid(_HEX4, _HEX4),
    "uuid3": _uuid("3[0-9a-f]{3}", _HEX4),
    "uuid4": _uuid("4[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
    "uuid5": _uuid("5[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
}
"""Checks by normalised format name: dashes do not count (`date-time` is `datetime`)."""

_POSIX_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\t\n\v\f\r ",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}


@functools.lru_cache(maxsize=1024)
def go_pattern(pattern: str) -> re.Pattern[str]:
    r"""A Go (RE2) expression as a Python one: `$` and `\z` mean the end of the text only, classes are ASCII. Raises re.error."""
    return re.compile("".join(_translated(pattern)), re.ASCII)


def go_fault(error: re.error, pattern: str) -> str:
    """The error of Go's parser for a pattern, for common mistakes."""
    rest = pattern[error.pos or 0 :]
    for text, fault in (
        ("unterminated character set", f"missing closing ]: `{rest}`"),
        ("missing ), unterminated subpattern", f"missing closing ): `{pattern}`"),
        ("unbalanced parenthesis", f"unexpected ): `{pattern}`"),
        ("nothing to repeat", f"missing argument to repetition operator: `{rest[:1]}`"),
    ):
        if error.msg.startswith(text):
            return fault
    return error.msg


def _translated(pattern: str) -> list[str]:
    parts: list[str] = []
    in_class = False
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\" and index + 1 < len(pattern):
            parts.append(r"\Z" if pattern[index + 1] == "z" else pattern[index : index + 2])
            index += 2
            continue
        if in_class and pattern.startswith("[:", index):
            end = pattern.find(":]", index)
            parts.append(_POSIX_CLASSES.get(pattern[index + 2 : end], ""))
            index = end + 2
            continue
        if char == "[" and not in_class:
            in_class = True
            parts.append(char)
            for literal in ("^]", "]", "^"):
                if pattern.startswith(literal, index + 1):
                    parts.append(literal.replace("]", r"\]"))
                    index += len(literal)
                    break
        elif char == "[":
            parts.append(r"\[")
        else:
            if char == "]":
                in_class = False
            parts.append(r"\Z" if char == "$" and not in_class else char)
        index += 1
    return parts
