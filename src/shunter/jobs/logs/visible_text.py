"""Texts of programs and clusters as they are shown on the page and in terminals: no colours, no control characters, nothing that
changes the order of letters. Pure."""

from __future__ import annotations

import re

from shunter.jobs.logs.patterns import ESCAPES

LONGEST = 10_000
"""Characters of a line that are shown."""
CUT = "\u2026"
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
"""Control characters but tab and newline, those that set the direction of text, and those that show nothing."""
_PICTURES = 0x2400


def visible(text: str) -> str:
    """The text without sequences for terminals, and with a picture of each other character that would not be seen, or would
    reorder what is: `U+2400 + code` for controls, `<U+202E>` for the others. Newlines and tabs stay."""
    if _ODD.search(text) is None:
        return text
    return _ODD.sub(_picture, ESCAPES.sub("", text))


def visible_line(text: str) -> str:
    """The text in one line, at most `LONGEST` characters of it, with a picture of each newline: of a line that was written over
    again and again (progress bars) what was written last."""
    if "\r" in text:
        text = next((part for part in reversed(ESCAPES.sub("", text).split("\r")) if part), "")
    return shortened(visible(text).replace("\n", "\u240a"), LONGEST)


def shortened(text: str, longest: int) -> str:
    """At most so many characters; the last is an ellipsis where some are left out."""
    return text if len(text) <= longest else text[: longest - 1] + CUT


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"
