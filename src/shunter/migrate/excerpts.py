"""How much of a user's text findings show."""

from __future__ import annotations

LINE = 90
"""Characters of a line or a command."""
MESSAGE = 2000
"""Characters of a finding's message, whatever names and values are in it."""
_CUT = " ... "
"""What stands for the middle of a command."""


def excerpt(text: str, longest: int = LINE) -> str:
    """The text, or its beginning where it is longer."""
    return text if len(text) <= longest else f"{text[:longest]} ..."


def command_excerpt(text: str) -> str:
    """The command, or its beginning and its end where it is longer: a script's name stands behind its directories."""
    if len(text) <= LINE:
        return text
    half = (LINE - len(_CUT)) // 2
    return f"{text[:half]}{_CUT}{text[-half:]}"
