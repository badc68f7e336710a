"""Logs as lines."""

from __future__ import annotations

from collections.abc import AsyncIterator

from shunter.kube.pods.log_lines import text_lines


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_a_line_may_come_in_pieces_and_the_last_one_without_its_end() -> None:
    log = chunks(b"fir", b"st\nsec", b"ond\n\nla\xff", b"st")
    assert [line async for line in text_lines(log)] == ["first", "second", "", "la\ufffdst"]
