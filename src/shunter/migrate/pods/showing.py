"""Places and values of pods, for people."""

from __future__ import annotations

from collections.abc import Callable

from shunter.migrate.pods.facts import Place

LONGEST = 120
"""Characters of a value that are shown in a message."""


def shown_place(place: Place) -> str:
    """`env RANK of container node`."""
    match place:
        case ("containers" | "initContainers" as section, name, *rest) if rest:
            what = "container" if section == "containers" else "init container"
            return f"{' '.join(rest)} of {what} {name}"
        case ("containers" | "initContainers" as section,):
            return "the order of init containers" if section == "initContainers" else section
        case ("labels" | "annotations" | "finalizers" | "volumes" as section, name, *rest):
            return f"{section.removesuffix('s')} {' '.join((name, *rest))}"
        case ("spec", "hostAliases", what, of):
            return f"{what} of {of} in hostAliases"
        case ("spec", *rest):
            return ".".join(rest)
    return " ".join(place)


def shown_value(value: object, hide: Callable[[str], str] = str) -> str:
    """A value, cut when it is long; `nothing` where a side says nothing. `hide` masks credentials in the whole of it: half of one
    that is cut would not be recognized."""
    if value is None:
        return "nothing"
    text = hide(" ".join(map(str, value)) if isinstance(value, list) else str(value))
    half = LONGEST // 2 - 3
    return repr(text if len(text) <= LONGEST else f"{text[:half]} ... {text[-half:]}")
