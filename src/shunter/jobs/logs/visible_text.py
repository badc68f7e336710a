"""Texts of programs and clusters as they are shown on the page and in terminals: without colours, control characters, and
characters that change the direction of text. Pure."""

from __future__ import annotations

import re

from shunter.operator.program_logs.patterns import ESCAPES

LONGEST = 10_000
"""Characters of a line that are shown."""
CUT = "\u2026"
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
"""Control characters except tab and newline, characters that set the direction of text, and invisible ones."""
_PICTURES = 0x2400


def visible(text: str) -> str:
    """The text without escape sequences, and with a visible form of each other character that is invisible or would reorder the
    text: `U+2400 + code` for controls, `<U+202E>` for the others. Newlines and tabs stay."""
    if _INVISIBLE.search(text) is None:
        return text
    return _INVISIBLE.sub(_picture, ESCAPES.sub("", text))


def visible_line(text: str) -> str:
    """The text in one line of at most `LONGEST` characters, with a visible form of each newline. Of a line that was overwritten
    (progress bars), the last text."""
    if "\r" in text:
        text = next((part for part in reversed(ESCAPES.sub("", text).split("\r")) if part), "")
    return shortened(visible(text).replace("\n", "\u240a"), LONGEST)


def shortened(text: str, longest: int) -> str:
    """The text, cut to at most so many characters; then the last is an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + CUT


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"
