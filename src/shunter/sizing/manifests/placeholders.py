"""Values of manifests that only the user knows."""

from __future__ import annotations

from typing import Final, NamedTuple

from shunter.api.meta import Json

PLACEHOLDERS: Final = "shunter.dev/holes"
"""Annotation of an object with placeholders: `spec.role: --role; ...`."""


class Placeholder(NamedTuple):
    """A value that is missing: in which object, in which field, and the option that gives it."""

    object: str
    field: str
    option: str


class Placeholders:
    """Collects the placeholders of objects while these are made."""

    def __init__(self) -> None:
        self.found: list[Placeholder] = []

    def filled(self, obj: Json, field: str, option: str, value: str, *, prefix: str = "") -> str:
        """The value; a placeholder, noted in the object, where it is empty. `prefix` is what the schema wants: `subnet-`."""
        if value:
            return value
        metadata = obj["metadata"]
        placeholder = Placeholder(f"{obj['kind']} {metadata['name']}", field, option)
        self.found.append(placeholder)
        annotations = metadata.setdefault("annotations", {})
        annotations[PLACEHOLDERS] = "; ".join(filter(None, [annotations.get(PLACEHOLDERS, ""), f"{field}: {option}"]))
        return f"{prefix}hole" if prefix else f"hole-{option.removeprefix('--')}"
