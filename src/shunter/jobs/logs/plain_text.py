"""A line of a log as it may be shown: what programs write to move cursors, ring bells or turn text around is left out. Pure."""

from __future__ import annotations

import unicodedata

from shunter.jobs.logs.metrics import LONGEST_LINE
from shunter.jobs.logs.patterns import ESCAPES


def plain_text(line: str) -> str:
    """The line without colours and control characters, of a progress bar its last state; cut at `LONGEST_LINE` characters."""
    text = ESCAPES.sub("", line[-LONGEST_LINE:] if "\r" in line else line[:LONGEST_LINE]).rstrip("\r").rpartition("\r")[2]
    if text.isprintable():
        return text
    return "".join(one for one in text.expandtabs(8) if not unicodedata.category(one).startswith("C"))
