"""The log of a container, which comes in chunks of any size, as lines."""

from __future__ import annotations

from collections.abc import AsyncIterator


async def text_lines(chunks: AsyncIterator[bytes], longest: int | None = None) -> AsyncIterator[str]:
    """Lines of a log without their ends; what follows the last newline is a line as well. Of a line of more bytes than `longest`
    only so many are kept, and held in memory."""
    rest = bytearray()
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest += first if longest is None else first[: max(0, longest - len(rest))]
        if not others:
            continue
        yield rest.decode(errors="replace")
        *whole, last = others
        for line in whole:
            yield line[:longest].decode(errors="replace")
        rest = bytearray(last[:longest])
    if rest:
        yield rest.decode(errors="replace")
