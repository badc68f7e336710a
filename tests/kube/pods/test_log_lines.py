"""Logs as lines."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from shunter.kube.pods.log_lines import text_lines


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_a_line_may_come_in_pieces_and_the_last_one_without_its_end() -> None:
    log = chunks(b"fir", b"st\nsec", b"ond\n\nla\xff", b"st")
    assert [line async for line in text_lines(log)] == ["first", "second", "", "la\ufffdst"]


PROGRESS = b"begin\r" + b"".join(b" %3d %%\r" % share for share in range(100)) + b" 100 %"


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
@pytest.mark.parametrize(
    ("line", "kept"),
    [
        pytest.param(b"short\r5 %\r6 %", "short\r5 %\r6 %", id="a short line as it is"),
        pytest.param(b"x" * 100, "x" * 32, id="the beginning of a long line"),
        pytest.param(PROGRESS, "begin\r 100 %", id="the last text of a progress bar"),
        pytest.param(PROGRESS + b"\r\r", "begin\r 100 %\r", id="the last text of one that returns after it"),
        pytest.param(
            b"begin\r" + b"x" * 100 + b"\ry\r" + b"z" * 100, "begin\r" + "z" * 26, id="the beginning of a long last text"
        ),
        pytest.param(b"x" * 100 + b"\r100 %", "x" * 32, id="nothing of what overwrites a long text"),
    ],
)
async def test_of_a_line_only_so_much_is_kept_however_it_comes(line: bytes, kept: str, size: int) -> None:
    log = b"first\n" + line + b"\nlast"
    pieces = chunks(*(log[at : at + size] for at in range(0, len(log), size)))
    assert [text async for text in text_lines(pieces, 32)] == ["first", kept, "last"]
