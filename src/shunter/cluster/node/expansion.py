"""`$(VAR)` references in env values, command and args. Pure.

Source: k8s.io/kubernetes third_party/forked/golang/expansion: `$$` escapes, what cannot be resolved stays as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`text` with every `$(NAME)` that is in `variables` replaced; `$$(NAME)` becomes a literal `$(NAME)`."""

    def replacement(match: re.Match[str]) -> str:
        if match[1]:
            return "$"
        return variables.get(match[2], match[0])

    return _REFERENCE.sub(replacement, text)


def expand_all(texts: Iterable[str], variables: Mapping[str, str]) -> list[str]:
    return [expand(text, variables) for text in texts]
