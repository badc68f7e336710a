"""Lines about how far a fetch is, and the reports of it."""

from __future__ import annotations

from shunter.initializers.files import RemoteFile
from shunter.initializers.progress import Progress

MEGABYTE = 1_000_000
FILES = [RemoteFile("a", 40 * MEGABYTE, ""), RemoteFile("b", 60 * MEGABYTE, "")]


class Told:
    """What was said and reported, by a clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.lines: list[str] = []
        self.reports: list[tuple[int | None, int | None]] = []
        self.progress = Progress(
            self.lines.append, report=lambda done, left: self.reports.append((done, left)), clock=lambda: self.now
        )


def test_what_is_there_already_is_said_and_counts_as_done() -> None:
    told = Told()
    told.progress.start(FILES, FILES[1:])
    assert told.lines == ["2 files, 100.0 MB, of which 1 already exist."]
    told.now = 10.0
    told.progress.advance(30 * MEGABYTE)
    assert told.lines[1:] == ["1 of 2 files, 70.0 MB of 100.0 MB (70 %), 3.0 MB/s, 10 s left."]
    assert told.reports == [(70, 10)]


def test_a_line_comes_at_most_every_five_seconds() -> None:
    told = Told()
    told.progress.start(FILES, FILES)
    for told.now in (1.0, 4.9, 5.0, 6.0, 9.9, 10.0):
        told.progress.advance(MEGABYTE)
    assert len(told.lines) == 1 + 2


def test_without_sizes_nothing_is_said_of_the_time_left() -> None:
    told = Told()
    unsized = [RemoteFile("a", None, "")]
    told.progress.start(unsized, unsized)
    told.now = 10.0
    told.progress.advance(30 * MEGABYTE)
    assert told.lines == ["1 file.", "0 of 1 file, 30.0 MB, 3.0 MB/s."]
    assert told.reports == [(None, None)]


def test_the_end_says_what_was_fetched_and_is_100_percent() -> None:
    told = Told()
    told.progress.start(FILES, FILES)
    told.now = 2.0
    told.progress.advance(100 * MEGABYTE)
    told.progress.end()
    assert told.lines[-1] == "Complete: 2 files, 100.0 MB fetched in 2.0 s."
    assert told.reports[-1] == (100, 0)
