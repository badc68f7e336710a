"""The log of a container, which comes in chunks of any size, as lines."""

from __future__ import annotations

from collections.abc import AsyncIterator


async def text_lines(chunks: AsyncIterator[bytes], longest: int | None = None) -> AsyncIterator[str]:
    """Lines of a log without their ends; what follows the last newline is a line as well. Of a line of more bytes than `longest`
    only so many are kept, and held in memory: its beginning, and of one with carriage returns, as progress bars write, what is
    before the first of them and the last text after one."""
    rest, is_long = bytearray(), False
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest += first
        if longest is not None and (is_long or len(rest) > longest):
            rest, is_long = _kept(rest, longest), True
        if not others:
            continue
        yield rest.decode(errors="replace")
        *whole, last = others
        for line in whole:
            yield (line if longest is None or len(line) <= longest else _kept(line, longest)).decode(errors="replace")
        rest, is_long = bytearray(last), False
        if longest is not None and len(rest) > longest:
            rest, is_long = _kept(rest, longest), True
    if rest:
        yield rest.decode(errors="replace")


def _kept(text: bytes | bytearray, longest: int) -> bytearray:
    """At most `longest` bytes of a line."""
    head, is_overwritten, rest = text.partition(b"\r")
    last = rest.rstrip(b"\r").rpartition(b"\r")[2]
    # What comes next overwrites it.
    end = b"\r" if rest.endswith(b"\r") else b""
    return bytearray(head + is_overwritten + last)[: longest - len(end)] + end
