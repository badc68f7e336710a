"""How much of a user's text findings show."""

from __future__ import annotations

LINE = 90
"""Characters of a line or a command."""
MESSAGE = 2000
"""Characters of a finding's message, whatever names and values are in it."""


def excerpt(text: str, longest: int = LINE) -> str:
    """The text, or its beginning where it is longer."""
    return text if len(text) <= longest else f"{text[:longest]} ..."
