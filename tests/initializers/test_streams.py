"""A file that is there in part, completed from a stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shunter.errors import EnvironmentProblem
from shunter.initializers.streams import Open, OpenedStream, resume

CONTENT = b"0123456789"


class Stream:
    """A source of CONTENT that remembers where it was asked to begin."""

    def __init__(self, *, can_resume: bool = True, breaks_at: int = len(CONTENT)) -> None:
        self.asked: list[int] = []
        self._can_resume = can_resume
        self._end = breaks_at

    @property
    def open_at(self) -> Open:
        @contextmanager
        def opened(offset: int) -> Iterator[OpenedStream]:
            self.asked.append(offset)
            start = offset if self._can_resume else 0
            yield OpenedStream(start, iter([CONTENT[start : self._end]]))

        return opened


@pytest.mark.parametrize(
    ("there", "stream", "asked", "told"),
    [
        pytest.param(None, Stream(), [0], [0, 10], id="from the beginning"),
        pytest.param(b"0123", Stream(), [4], [4, 6], id="a part is gone on with"),
        pytest.param(b"0123", Stream(can_resume=False), [4], [4, -4, 10], id="a source that begins anew"),
        pytest.param(b"x" * 11, Stream(), [0], [0, 10], id="more than the whole is thrown away"),
        pytest.param(CONTENT, Stream(), [], [10], id="the whole is not asked for"),
    ],
)
def test_a_part_becomes_the_whole(there: bytes | None, stream: Stream, asked: list[int], told: list[int], tmp_path: Path) -> None:
    part, counts = tmp_path / "part", list[int]()
    if there is not None:
        part.write_bytes(there)
    resume(part, stream.open_at, counts.append, size=len(CONTENT))
    assert (part.read_bytes(), stream.asked, counts) == (CONTENT, asked, told)


def test_a_stream_that_ends_too_early_leaves_what_came_and_says_so(tmp_path: Path) -> None:
    part = tmp_path / "part"
    with pytest.raises(EnvironmentProblem, match="The connection broke after 7 of 10 bytes"):
        resume(part, Stream(breaks_at=7).open_at, lambda count: None, size=len(CONTENT))
    assert part.read_bytes() == CONTENT[:7]


def test_without_a_size_the_end_of_the_stream_is_that_of_the_file(tmp_path: Path) -> None:
    part = tmp_path / "part"
    resume(part, Stream(breaks_at=7).open_at, lambda count: None, size=None)
    assert part.read_bytes() == CONTENT[:7]
