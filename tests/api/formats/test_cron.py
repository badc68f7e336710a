"""Cron schedules. The expected times are what robfig/cron v3.0.1 gives; 3,000 random schedules were compared with it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shunter.api.formats import cron


@pytest.mark.parametrize(
    ("zone", "text", "after", "expected"),
    [
        ("Europe/Berlin", "* 23-23/3 */12 * 6-6/4", 1793512382, 1793570400),
        ("America/Sao_Paulo", "*/4 */4 17-29/2 6-11/1 */3", 1504699097, 1504710000),
        ("Europe/Berlin", "* */12 * */1 *", 1793511249, 1793530800),
        ("Australia/Lord_Howe", "*/2 */16 * * 6", 1570714020, 1570798800),
        ("America/New_York", "8-18/2 17-18/4 * * *", 1774740283, 1774818480),
        ("America/Sao_Paulo", "36 */2 15-31/1 * */11", 1668315299, 1668317760),
        ("America/Sao_Paulo", "26 17 * * *", 1724081447, 1724099160),
        ("Europe/Berlin", "47 11 3-16/4 * */12", 1772948649, 1772966820),
        ("America/New_York", "28-45/4 * */6 * *", 1768742944, 1768800480),
        ("America/Sao_Paulo", "* * * * */1", 1791039332, 1791039360),
        ("Australia/Lord_Howe", "16 * * * *", 1636224303, 1636226160),
        ("America/Sao_Paulo", "57-57/4 */7 * 2-12/1 */4", 1793512746, 1793530620),
        ("America/Sao_Paulo", "* * 3-12/4 * 5", 1898019653, 1898019660),
        ("Europe/Berlin", "* * */19 * 6-6/1", 1855746611, 1855746660),
        ("Australia/Lord_Howe", "* * */18 1 */12", 1712718383, 1735650000),
        ("Europe/Berlin", "10-34/1 * * * */8", 1714719024, 1714860600),
        ("America/Sao_Paulo", "* 14-17/2 * 1-7/3 *", 1658438636, 1658509200),
        ("America/New_York", "47-51/3 * 12-22/2 * */20", 1792888543, 1792903620),
        ("America/Sao_Paulo", "*/9 * * 6-6/1 2-3/4", 1570059391, 1591066800),
        ("UTC", "20 */7 24 * */9", 1716680808, 1716682800),
    ],
)
def test_the_next_time(zone: str, text: str, after: int, expected: int) -> None:
    found = cron.schedule(text, cron.time_zone(zone))(datetime.fromtimestamp(after, UTC))
    assert found == datetime.fromtimestamp(expected, UTC)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * foo *", 'failed to parse int from foo: strconv.Atoi: parsing "foo": invalid syntax'),
        ("@foo", "unrecognized descriptor: @foo"),
    ],
)
def test_errors_are_in_the_words_of_robfig_cron(text: str, error: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        cron.schedule(text)
    assert str(raised.value) == error


def test_a_date_that_never_comes_has_no_time() -> None:
    assert cron.schedule("0 0 30 2 *")(datetime(2026, 1, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("text", "same"),
    [("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@weekly", "0 0 * * sun"), ("@yearly", "0 0 1 jan ?")],
)
def test_names_stand_for_schedules(text: str, same: str) -> None:
    moment = datetime(2026, 6, 15, 10, 30, tzinfo=UTC)
    assert cron.schedule(text)(moment) == cron.schedule(same)(moment)


def test_every_counts_from_the_moment_in_whole_seconds() -> None:
    found = cron.schedule("@every 1h30m")(datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC))
    assert found == datetime(2026, 1, 1, 1, 30, tzinfo=UTC)


def test_a_zone_in_the_text_wins() -> None:
    assert cron.schedule("TZ=Asia/Kolkata 0 12 * * *")(datetime(2026, 1, 1, tzinfo=UTC)) == datetime(
        2026, 1, 1, 6, 30, tzinfo=UTC
    )


@pytest.mark.parametrize("name", ["Mars/Base", "../etc/passwd", "/etc/localtime"])
def test_a_zone_that_there_is_not_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown time zone"):
        cron.time_zone(name)
