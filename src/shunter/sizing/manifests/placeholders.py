"""Values of manifests that only the user knows."""

from __future__ import annotations

from typing import Final, NamedTuple

from shunter.api.meta import Json

HOLES: Final = "shunter.dev/holes"
"""Annotation of an object with holes: `spec.role: --role; ...`."""


class Hole(NamedTuple):
    """A value that is missing: in which object, in which field, and the option that gives it."""

    object: str
    field: str
    option: str


class Holes:
    """Collects the holes of objects while these are made."""

    def __init__(self) -> None:
        self.found: list[Hole] = []

    def filled(self, obj: Json, field: str, option: str, value: str, *, prefix: str = "") -> str:
        """The value; a hole, noted in the object, where it is empty. `prefix` is what the schema wants of it: `subnet-`."""
        if value:
            return value
        metadata = obj["metadata"]
        hole = Hole(f"{obj['kind']} {metadata['name']}", field, option)
        self.found.append(hole)
        annotations = metadata.setdefault("annotations", {})
        annotations[HOLES] = "; ".join(filter(None, [annotations.get(HOLES, ""), f"{field}: {option}"]))
        return f"{prefix}hole" if prefix else f"hole-{option.removeprefix('--')}"
