"""Which users and groups a proxy may name to the page, and which origins may frame it; shared with the installation."""

from __future__ import annotations

import re

RESERVED = "^[Ss][Yy][Ss][Tt][Ee][Mm]:"
"""Begins users and groups that clusters give rights of their own. As a pattern of JSON schema, which knows no flags."""
ORIGIN = r"https?://[A-Za-z0-9.-]+(:[0-9]+)?"
_RESERVED, _ORIGIN = re.compile(RESERVED), re.compile(ORIGIN)


def is_reserved(name: str) -> bool:
    """Whether a user or group is one of the cluster itself, in whichever case it is written: identity providers may fold it."""
    return _RESERVED.match(name) is not None


def is_origin(text: str) -> bool:
    """Whether it is scheme, host and port, and nothing else."""
    return _ORIGIN.fullmatch(text) is not None
