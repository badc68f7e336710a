"""`$(VAR)` references in env values, command and args. Pure.

Source: k8s.io/kubernetes third_party/forked/golang/expansion: `$$` escapes, what cannot be resolved stays as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")
_READ_AS_MORE = re.compile(r"\$(?=[$(])")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class Reference(NamedTuple):
    """One `$(NAME)` of a text, which stands from `start` to `end`."""

    name: str
    start: int
    end: int


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`text` with every `$(NAME)` that is in `variables` replaced; `$$(NAME)` becomes a literal `$(NAME)`."""
    if "$" not in text:
        return text
    names = _names(text)
    if names is not None and not any("$" in variables.get(name, "") for name in names):
        for name in names:
            if name in variables:
                text = _replaced(text, f"$({name})", variables[name])
        return text

    def replacement(match: re.Match[str]) -> str:
        if match[1]:
            return "$"
        return variables.get(match[2], match[0])

    end = _references_end(text)
    return _REFERENCE.sub(replacement, text[:end]) + text[end:].replace("$$", "$")


def literal(text: str) -> str:
    """What `expand` turns into `text`, whatever the variables are."""
    return _READ_AS_MORE.sub("$$", text)


def variable_references(text: str) -> Iterator[Reference]:
    """What `expand` would replace if there were variables of these names, in the order of the text. `$$(NAME)` is none. Nor is
    `$(date +%s)`: names with other characters than letters, digits, `_`, `-` and `.` are not looked for, though Kubernetes
    allows them."""
    for match in _REFERENCE.finditer(text, 0, _references_end(text)):
        if match[2] and _NAME.fullmatch(match[2]):
            yield Reference(match[2], match.start(), match.end())


@lru_cache(maxsize=256)
def _names(text: str) -> tuple[str, ...] | None:
    """The names that the text refers to, in the order of the text; None when it has more in it than plain references."""
    end = _references_end(text)
    found = [*_REFERENCE.finditer(text, 0, end)]
    is_plain = "$$" not in text[end:] and all(match[2] is not None and "$" not in match[2] for match in found)
    return tuple(dict.fromkeys(match[2] for match in found)) if is_plain else None


@lru_cache(maxsize=64)
def _replaced(text: str, reference: str, value: str) -> str:
    """A TF_CONFIG names the job once for each of its pods, in each of them: their own index, which is all that differs, stands
    behind that."""
    return text.replace(reference, value)


def _references_end(text: str) -> int:
    """Where the last reference ends at the latest. Behind it each `$(` would be looked through to the end of the text in vain."""
    return text.rfind(")") + 1


def expand_all(texts: Iterable[str], variables: Mapping[str, str]) -> list[str]:
    """Each text as `expand` has it, in their order."""
    return [expand(text, variables) for text in texts]
