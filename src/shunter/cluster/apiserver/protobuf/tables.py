"""The messages of Kubernetes' built-in kinds as data: field number -> JSON name and type. Read when the first body arrives.

Written by scripts/go_types.py from the public `generated.proto` files of k8s.io/api and apimachinery.
"""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

Shape = Literal["one", "list", "map"]
META = "k8s.io.apimachinery.pkg.apis.meta.v1"

_DATA = Path(__file__).parent.parent / "data" / "protobuf-tables.json.gz"
_OPTIONS = frozenset({"CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions"})
_SHAPES: dict[str, Shape] = {"[]": "list", "{}": "map"}


class Field(NamedTuple):
    """One field of a message."""

    name: str
    """In JSON; empty when the fields of the message stand inside its parent's object."""
    type: str
    """A message's name, or `s` string, `b` bool, `i` integer, `d` double, `y` bytes. Of the items, when there are several."""
    shape: Shape
    """Maps have strings as keys."""
    is_wrapped: bool
    """Whether each value is a list of `type`, inside a message that holds nothing else."""
    keeps_zero: bool
    """Whether zero is a value: Go has a pointer here, or writes the field always. Elsewhere zero means absent."""


class _File(msgspec.Struct):
    groups: dict[str, str]
    messages: dict[str, msgspec.Raw]


@cache
def fields(message: str) -> dict[int, Field]:
    """The fields of a message by number. KeyError for messages that the tables do not have."""
    rows = msgspec.json.decode(_file().messages[message], type=dict[int, tuple[str, str, str]])
    return {number: _field(*row) for number, row in rows.items()}


def message_of(api_version: str, kind: str) -> str | None:
    """The message of a kind. Options are the same message whatever apiVersion they name."""
    package = META if kind in _OPTIONS else _file().groups.get(api_version)
    name = f"{package}.{kind}"
    return name if name in _file().messages else None


def _field(name: str, kind: str, flag: str) -> Field:
    shape = _SHAPES.get(kind[:2], "one")
    item = kind if shape == "one" else kind[2:]
    return Field(name, item.removeprefix("="), shape, item.startswith("="), flag != "")


@cache
def _file() -> _File:
    return msgspec.json.decode(gzip.decompress(_DATA.read_bytes()), type=_File)
