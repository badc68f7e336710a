"""From a stream that can begin anywhere into a file that may be there in part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from shunter.errors import EnvironmentProblem
from shunter.initializers.files import Advance


class OpenedStream(NamedTuple):
    """A stream that begins at `offset`: 0 when the source would not begin where it was asked to."""

    offset: int
    blocks: Iterator[bytes]


Open = Callable[[int], AbstractContextManager[OpenedStream]]
"""Opens the content at an offset."""


def resume(part: Path, open_at: Open, advance: Advance, *, size: int | None) -> None:
    """Completes `part`. What is there counts as fetched; more than the whole is thrown away. Raises EnvironmentProblem when the
    stream ends too early."""
    have = part.stat().st_size if part.exists() else 0
    if size is not None and have > size:
        part.unlink()
        have = 0
    advance(have)
    if size is not None and have == size and part.exists():
        return
    with open_at(have) as opened, part.open("r+b" if have else "wb") as target:
        if opened.offset != have:
            advance(opened.offset - have)
        target.seek(opened.offset)
        target.truncate()
        for block in opened.blocks:
            target.write(block)
            advance(len(block))
        # Some clients do not tell an end from a break.
        if size is not None and target.tell() < size:
            raise EnvironmentProblem(f"The connection broke after {target.tell()} of {size} bytes.", "Try again.")
