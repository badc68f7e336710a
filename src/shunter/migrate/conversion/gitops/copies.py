"""The copy of a kustomization that is built in parts: with other content for a while, and the files that it names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from shunter.api.meta import Json
from shunter.migrate.conversion.gitops.selection import PATCH_STAGE
from shunter.migrate.conversion.source.kustomization import FILE_NAMES
from shunter.migrate.paths import leaves


def reduced(directory: Path, text: str) -> AbstractContextManager[None]:
    """The kustomization of a copy with only what counts until patches are applied, while the block runs."""
    return standing(directory, {key: inner for key, inner in msgspec.yaml.decode(text).items() if key in PATCH_STAGE})


@contextmanager
def standing(directory: Path, value: Json) -> Iterator[None]:
    """The kustomization of a copy with this content, while the block runs."""
    file = next(directory / name for name in FILE_NAMES if (directory / name).exists())
    whole = file.read_bytes()
    file.write_bytes(msgspec.yaml.encode(value))
    try:
        yield
    finally:
        file.write_bytes(whole)


def named_files(directory: Path, value: Json) -> Iterable[str]:
    """The files that some text in a kustomization may name, as itself or as `key=file`."""
    for _, leaf in leaves(value):
        if isinstance(leaf, str) and "\n" not in leaf:
            yield os.path.realpath(directory / leaf)
            yield os.path.realpath(directory / leaf.rpartition("=")[2])
