"""The log of a container, which comes in chunks of any size, as lines."""

from __future__ import annotations

from collections.abc import AsyncIterator


async def text_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Lines of a log without their ends; what follows the last newline is a line as well."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")
