"""The budget of log lines: how much goes to a browser, and what is said of the rest."""

from __future__ import annotations

import msgspec

from shunter.page.log_buffer import FRAME_BYTES, LogBuffer, Source

WORKER = Source(1, "worker-1")
OTHER = Source(0, "worker-0")


def line(second: int, text: str) -> str:
    return f"2026-01-01T00:00:{second:02d}.5Z {text}"


def all_frames(buffer: LogBuffer) -> list[tuple[list[str], int]]:
    found = []
    while (frame := buffer.frame()) is not None:
        found.append(([text for _, _, _, text in frame.lines], frame.skipped))
    return found


def test_a_frame_has_rank_label_time_and_text_in_the_order_of_time() -> None:
    buffer = LogBuffer()
    buffer.add(WORKER, line(2, "second"))
    buffer.add(OTHER, line(1, "first"))
    buffer.add(OTHER, "without a time")
    frame = buffer.frame()
    assert frame is not None
    assert frame.lines == (
        (0, "worker-0", 1767225601.5, "first"),
        (0, "worker-0", 1767225601.5, "without a time"),
        (1, "worker-1", 1767225602.5, "second"),
    )
    assert buffer.frame() is None


def test_a_frame_has_at_most_64_kib_of_json_and_the_rest_comes_with_the_next() -> None:
    buffer = LogBuffer()
    texts = [f"{number} " + '"\\' * 3000 for number in range(14)]
    for text in texts:
        buffer.add(WORKER, line(1, text))
    shown: list[str] = []
    while (frame := buffer.frame()) is not None:
        assert len(msgspec.json.encode(frame)) <= FRAME_BYTES
        assert not frame.skipped
        shown += [text for _, _, _, text in frame.lines]
    assert shown == texts


def test_of_a_flood_the_newest_lines_are_shown_and_the_others_counted() -> None:
    buffer = LogBuffer()
    for number in range(100_000):
        buffer.add(WORKER, line(1, f"line {number}"))
    frames = all_frames(buffer)
    shown = [text for texts, _ in frames for text in texts]
    assert shown[-1] == "line 99999"
    assert shown == [f"line {number}" for number in range(100_000 - len(shown), 100_000)]
    assert sum(skipped for _, skipped in frames) + len(shown) == 100_000
    assert len(frames) <= 5


def test_the_longest_line_of_the_widest_characters_fits_into_a_frame() -> None:
    buffer = LogBuffer()
    buffer.add(WORKER, "\U0001f680" * 20_000)
    buffer.add(WORKER, "\x01" * 20_000)
    assert [len(text) for texts, _ in all_frames(buffer) for text in texts] == [10_000, 10_000]


def test_only_lines_that_hold_the_text_are_taken_in_any_case_and_no_pattern() -> None:
    buffer = LogBuffer("Out of Memory (a.b)")
    buffer.add(WORKER, line(1, "CUDA out of MEMORY (A.B) on rank 3"))
    buffer.add(WORKER, line(1, "CUDA out of memory (aXb)"))
    buffer.add(WORKER, line(1, "CUDA out \x1b[31mof memory\x1b[0m (a.b)"))
    buffer.add(WORKER, line(1, "step 3"))
    assert all_frames(buffer) == [(["CUDA out of MEMORY (A.B) on rank 3", "CUDA out of memory (a.b)"], 0)]
