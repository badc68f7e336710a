"""How much of a user's text findings show: its beginning, and no credentials. More people read findings than may read
the job."""

from __future__ import annotations

from shunter.api.secrets.masking import HIDDEN, masked
from shunter.api.secrets.names import is_credential

LINE = 90
"""Characters of a line or a command."""
MESSAGE = 2000
"""Characters of a finding's message, whatever names and values are in it."""
_CUT = " ... "
"""What stands for the middle of a command."""


def excerpt(text: str, longest: int = LINE) -> str:
    """The text without credentials, or its beginning where it is longer."""
    text = masked(text, ())  # before it is cut: half of one would not be recognized
    return text if len(text) <= longest else f"{text[:longest]} ..."


def variable_excerpt(name: str, value: str) -> str:
    """The value of a variable as `excerpt` shows it, and nothing of it where the name says that it is a credential."""
    return HIDDEN if is_credential(name, value) else excerpt(value)


def command_excerpt(text: str) -> str:
    """The command without credentials, or its beginning and its end where it is longer: a script's name stands behind its
    directories."""
    text = masked(text, ())
    if len(text) <= LINE:
        return text
    half = (LINE - len(_CUT)) // 2
    return f"{text[:half]}{_CUT}{text[-half:]}"
