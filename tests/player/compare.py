"""Whether two records say the same.

Not compared: how Go prints a whole object inside a message (with all its empty fields, in Go's own order).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_VALUE = "Invalid value: "
_DECODER = json.JSONDecoder()

VARIES = "<varies>"
"""In a recording: the original itself does something else each time."""


class Difference(NamedTuple):
    at: str
    wanted: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.at}: wanted {str(self.wanted)[:300]} got {str(self.got)[:300]}"


def differences(wanted: Any, got: Any, at: str = "") -> Iterator[Difference]:
    """Where two records differ. Of several faults in one message the order does not count."""
    if wanted == VARIES:
        return
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key in [*wanted, *(key for key in got if key not in wanted)]:
            yield from differences(wanted.get(key), got.get(key), f"{at}.{key}")
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for position, (left, right) in enumerate(zip(wanted, got, strict=True)):
            yield from differences(left, right, f"{at}[{position}]")
    elif at.endswith(".message") and isinstance(wanted, str) and isinstance(got, str) and _words(wanted) == _words(got):
        return
    elif wanted != got:
        yield Difference(at, wanted, got)


def _words(text: str) -> list[str]:
    return sorted(re.split(r"[\s,\[\]]+", _without_objects(text)))


def _without_objects(text: str) -> str:
    """The text with every JSON object or list after `Invalid value: ` left out."""
    before, mark, rest = text.partition(_VALUE)
    if not mark:
        return text
    if rest[:1] in "{[":
        try:
            _, end = _DECODER.raw_decode(rest)
        except ValueError:
            end = 0
        rest = rest[end:]
    return f"{before}{mark}{_without_objects(rest)}"
