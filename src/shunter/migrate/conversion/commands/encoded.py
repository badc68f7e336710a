"""Programs that are written out in base64: `echo IyEvYmlu... | base64 -d | bash`, `exec(b64decode("..."))`.

Only what a text writes out is decoded. What comes compressed, or out of the image, stays as it is.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from shunter.api.late_patterns import late_pattern

_DECODER = late_pattern(
    r"\bbase64\b(?:(?!\bbase64\b)[^|;&\n])*\s(?:-[a-zA-Z]*[dD]\b|--decode\b)|\bopenssl\s+(?:enc\s+-)?base64\b|b64decode\b|\batob\("
)
"""From the last mention of `base64` before its option: lines with thousands of them are read in one go."""
_WORD = late_pattern(r"[A-Za-z0-9+/]{16,}(?:\r?\n[A-Za-z0-9+/]+)*={0,2}")
"""With the line ends that `base64` writes. Shorter words hold no program."""


def decodes(text: str) -> bool:
    """Whether the text decodes base64, its own or that of another one."""
    return bool(_DECODER.search(text))


def decoded(text: str) -> Iterator[tuple[str, int]]:
    """The texts that words of it hold, and where each word begins."""
    for match in _WORD.finditer(text):
        word = "".join(match[0].split())
        try:
            inner = base64.b64decode(word + "=" * (-len(word) % 4), validate=True).decode()
        except ValueError:
            continue
        if all(character.isprintable() or character in "\t\r\n" for character in inner):
            yield inner, match.start()
