"""Times in RFC 3339; what Go's `time.Parse` answers to the same texts."""

from __future__ import annotations

import pytest

from shunter.api.formats.times import LAYOUT, MICRO_LAYOUT, moment
from shunter.api.meta import rfc3339_micro


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00.000000Z"),
        ("2026-11-21T10:00:00.1234567891Z", "2026-11-21T10:00:00.123456Z"),
        ("2026-11-21T1:00:00,5Z", "2026-11-21T01:00:00.500000Z"),
        ("2026-11-21T10:00:00+24:00", "2026-11-20T10:00:00.000000Z"),
        ("2026-11-21T10:00:00-05:60", "2026-11-21T16:00:00.000000Z"),
        ("2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000000Z"),
    ],
)
def test_a_time_is_read_as_go_reads_it(text: str, read: str) -> None:
    assert rfc3339_micro(moment(text)) == read


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", 'cannot parse "" as "2006"'),
        ("2026-11-21", 'cannot parse "" as "T"'),
        ("2026-11-21t10:00:00z", 'cannot parse "t10:00:00z" as "T"'),
        ("2026-W47-6T10:00:00Z", 'cannot parse "W47-6T10:00:00Z" as "01"'),
        ("2026-11-21T10:00:00.5", 'cannot parse "" as "Z07:00"'),
        ("2026-11-21T10:00:00+0000", 'cannot parse "+0000" as "Z07:00"'),
        ("2026-11-21T10:00:00.Z", 'cannot parse ".Z" as "Z07:00"'),
    ],
)
def test_a_text_of_another_form_is_refused_in_the_words_of_go(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match="parsing time") as refused:
        moment(text)
    assert str(refused.value) == f'parsing time "{text}" as "{LAYOUT}": {fault}'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("2026-02-30T10:00:00Z", "day out of range"),
        ("2026-13-01T10:00:00Z", "month out of range"),
        ("2026-11-21T24:00:00Z", "hour out of range"),
        ("2026-11-21T10:60:00Z", "minute out of range"),
        ("2026-11-21T10:00:60Z", "second out of range"),
        ("2026-11-21T10:00:00+25:00", "time zone offset hour out of range"),
        ("2026-11-21T10:00:00+00:61", "time zone offset minute out of range"),
        ("2026-11-21T10:00:00Zx", 'extra text: "x"'),
    ],
)
def test_a_time_that_no_clock_shows_is_refused_in_the_words_of_go(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match="parsing time") as refused:
        moment(text)
    assert str(refused.value) == f'parsing time "{text}": {fault}'


@pytest.mark.parametrize("text", ["2026-11-21T10:00:00Z", "2026-11-21T10:00:00.12345Z", "2026-11-21T10:00:00.1234567Z"])
def test_a_micro_time_has_six_digits_of_a_second(text: str) -> None:
    assert rfc3339_micro(moment("2026-11-21T10:00:00.123456Z", MICRO_LAYOUT)) == "2026-11-21T10:00:00.123456Z"
    with pytest.raises(ValueError, match="parsing time"):
        moment(text, MICRO_LAYOUT)
