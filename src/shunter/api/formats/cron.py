"""Cron schedules of CronJobs: when the next time is.

Source: robfig/cron v3, ParseStandard and SpecSchedule.Next, which Kubernetes uses: five fields with names, ranges, lists and
steps, `@daily` and its like, `@every DURATION`; errors are in its words. Times that daylight saving leaves out are not made up
for; those that it brings twice come twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from shunter.api.formats import durations
from shunter.errors import InputError

_YEARS = 5
"""A schedule that has no time within so many years has none (30 February)."""


class _Field(NamedTuple):
    first: int
    last: int
    names: Mapping[str, int] = {}


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MINUTE, _HOUR, _DAY = _Field(0, 59), _Field(0, 23), _Field(1, 31)
_MONTH = _Field(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)})
_WEEKDAY = _Field(0, 6, {name: number for number, name in enumerate(_DAYS)})
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "

Schedule = Callable[[datetime], datetime | None]
"""The first time after a moment, in UTC and whole seconds; None where there is none."""


def time_zone(name: str) -> tzinfo:
    """The time zone of this name; UTC for an empty one. Raises ValueError for a name that the machine has no zone for."""
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise ValueError(f"unknown time zone {name}") from None


def schedule(text: str, zone: tzinfo = UTC) -> Schedule:
    """What the text means in a time zone; its own `TZ=ZONE` prefix wins. Raises ValueError in robfig/cron's words."""
    if not text:
        raise ValueError("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        name, _, text = text.partition("=")[2].partition(" ")
        try:
            zone = time_zone(name)
        except ValueError as error:
            raise ValueError(f"provided bad location {name}: {error}") from None
        text = text.strip()
    if text.startswith(_EVERY):
        return _every(text.removeprefix(_EVERY))
    if text.startswith("@"):
        if text not in _NAMED:
            raise ValueError(f"unrecognized descriptor: {text}")
        text = _NAMED[text]
    fields = text.split()
    if len(fields) != 5:
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, _ = _values(fields[0], _MINUTE)
    hours, _ = _values(fields[1], _HOUR)
    days, all_days = _values(fields[2], _DAY)
    months, _ = _values(fields[3], _MONTH)
    weekdays, all_weekdays = _values(fields[4], _WEEKDAY)
    return _Fields(minutes, hours, days, months, weekdays, either_day=not (all_days or all_weekdays), zone=zone).next


@dataclass(frozen=True, slots=True)
class _Fields:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Whether a day of the month or of the week is enough: neither field is a star."""
    zone: tzinfo

    def next(self, moment: datetime) -> datetime | None:
        local = (moment.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)).astimezone(self.zone)
        last_year = local.year + _YEARS
        moved = False
        while local.year <= last_year:
            if local.month not in self.months:
                local = (local.replace(day=1, hour=0, minute=0, second=0, fold=0) + timedelta(days=32)).replace(day=1)
            elif not self._is_day(local):
                local = local.replace(hour=0, minute=0, second=0, fold=0) + timedelta(days=1)
            elif (found := local.astimezone(UTC)).astimezone(self.zone).replace(fold=0) != local.replace(fold=0):
                # A time that daylight saving leaves out: the clock shows another.
                local = found.astimezone(self.zone)
            elif local.hour not in self.hours:
                local = self._later(local if moved else local.replace(minute=0, second=0), timedelta(hours=1))
            elif local.minute not in self.minutes or local.second:
                local = self._later(local.replace(second=0), timedelta(minutes=1))
            else:
                return found
            moved = True
        return None

    def _is_day(self, local: datetime) -> bool:
        day, weekday = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return day or weekday if self.either_day else day and weekday

    def _later(self, local: datetime, step: timedelta) -> datetime:
        """In real time: an hour that comes twice is gone through twice."""
        return (local.astimezone(UTC) + step).astimezone(self.zone)


def _every(text: str) -> Schedule:
    try:
        seconds = durations.seconds(text)
    except InputError:
        raise ValueError(f'failed to parse duration {_EVERY}{text}: time: invalid duration "{text}"') from None
    delay = timedelta(seconds=max(int(seconds), 1))
    return lambda moment: moment.astimezone(UTC).replace(microsecond=0) + delay


def _values(text: str, field: _Field) -> tuple[frozenset[int], bool]:
    """The numbers that a field allows, and whether it is a star."""
    found: set[int] = set()
    star = False
    for part in filter(None, text.split(",")):
        numbers, is_star = _range(part, field)
        found.update(numbers)
        star = star or is_star
    return frozenset(found), star


def _range(text: str, field: _Field) -> tuple[range, bool]:
    bounds, *steps = text.split("/")
    low, *highs = bounds.split("-")
    star = low in ("*", "?")
    if star:
        first, last = field.first, field.last
    else:
        first = last = _number(low, field)
        if len(highs) > 1:
            raise ValueError(f"too many hyphens: {text}")
        if highs:
            last = _number(highs[0], field)
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {text}")
    step = _number(steps[0], _Field(0, 0)) if steps else 1
    if steps and not highs:
        last = field.last
    if first < field.first:
        raise ValueError(f"beginning of range ({first}) below minimum ({field.first}): {text}")
    if last > field.last:
        raise ValueError(f"end of range ({last}) above maximum ({field.last}): {text}")
    if first > last:
        raise ValueError(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {text}")
    return range(first, last + 1, step), star and step == 1


def _number(text: str, field: _Field) -> int:
    if text.lower() in field.names:
        return field.names[text.lower()]
    sign, digits = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if sign == "-":
        raise ValueError(f"negative number ({-int(digits)}) not allowed: {text}")
    return int(digits)
