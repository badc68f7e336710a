"""Reads the log of a process: metrics with their steps, its rank and world size, its speed.

A name counts as a metric only if it looks like one (`patterns.VALUE`), is written as `key=value` in a line with a metric or a
step, or was named by the user: logs are full of other numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from shunter.api.formats.digits import whole_number
from shunter.errors import InputError
from shunter.jobs.metrics import Point, Process, Series, extremes, finite
from shunter.kube.pods.log_times import split_time, time_of
from shunter.operator.program_logs import patterns as patterns

_WORDS = re.compile(r"[\s_-]+")
_NOT_FINITE = re.compile(r"(:\s*)(-?(?:nan|inf|NaN|Infinity))(?=\s*[,}])")
"""How Python prints such a value of a dict, or writes it as JSON; neither is a literal."""
_POSITION_KEYS = ("step", "global_step", "iteration", "iter")
LONGEST_LINE = 10_000
"""Characters of a line that are read: reports of progress are shorter."""
RATE = "throughput"
"""The name of the series with the speed that a program prints; compared as a speed, not as a metric."""

GROUP = 8
"""The size of a group of older points, of which at most three are kept when a series is thinned out."""


class MetricPattern(NamedTuple):
    """The value of `--metric`: a name that counts as a metric before any number, or a pattern."""

    name: str
    pattern: re.Pattern[str]
    """Its group `value`, or else its first one, is the value; groups `step` and `epoch` are the position."""


class LogReport(NamedTuple):
    """What was read in the log of one container."""

    series: tuple[Series, ...] = ()
    processes: tuple[Process, ...] = ()
    seed: str = ""
    first_step: datetime | None = None
    """The time of the first line with a metric; None for a log without times."""
    steps: int | None = None
    """The total number of steps, by the last line with it."""
    counts_epochs: bool = False
    """Whether the last position of a single number was an epoch, not a step."""


def metric_pattern(text: str) -> MetricPattern:
    """The pattern of `NAME` or `NAME=REGEX`. InputError if it is invalid, or has no group."""
    name, _, expression = text.partition("=")
    if not expression:
        expression = rf"(?<![\w.]){re.escape(name)}[\"']?\s*[=:\s]\s*(?P<value>{patterns.NUMBER})"
    try:
        pattern = re.compile(expression)
    except re.error as error:
        raise InputError(
            f"--metric {text}: the pattern cannot be read: {error}.", "Write a Python regular expression."
        ) from error
    if not name or not pattern.groups:
        raise InputError(f"--metric {text}: no group captures the value.", "Write it like --metric 'loss=loss is ([0-9.]+)'.")
    return MetricPattern(name, pattern)


def log_report(lines: Iterable[str], *, pod: str, rank: int | None, extra: Sequence[MetricPattern] = ()) -> LogReport:
    """The report on the log lines of a pod. `rank` is the pod's own; lines that name another rank count for that. Lines may begin
    with the kubelet's timestamp."""
    reader = LogReader(pod, rank, extra)
    for line in lines:
        reader.read(line)
    return reader.report()


class LogReader:
    """Reads a log of any length line by line; see `log_report`. A series has at most `most_points` points: older ones are thinned
    out, and their extremes kept."""

    def __init__(self, pod: str, rank: int | None, extra: Sequence[MetricPattern], *, most_points: int | None = None) -> None:
        self._pod = pod
        self._rank = rank
        self._extra = extra
        self._most_points = most_points
        self._report: LogReport | None = None
        """As of the last line."""
        self._epoch: float | None = None
        self._points: dict[tuple[str, int | None, bool], dict[tuple[float, ...], Point]] = {}
        self._processes: dict[int | None, Process] = {}
        self._seed = ""
        self._first: datetime | None = None
        self._steps: int | None = None
        self._counts_epochs = False

    def read(self, line: str) -> None:
        """Reads the next line. One with carriage returns, as progress bars write, counts as several, of at most `LONGEST_LINE`
        characters each."""
        self._report = None
        stamp, text = split_time(line)
        if "\x1b" in text or "\x9b" in text or "\x08" in text:
            text = patterns.ESCAPES.sub("", text)
        for part in text.split("\r"):
            if part := part[:LONGEST_LINE].strip():
                self._read(part, stamp)

    def report(self) -> LogReport:
        """The report on all lines so far; the same object until another line is read."""
        if self._report is None:
            series = (
                Series(name=name, rank=rank, is_counted=counted, points=tuple(points.values()))
                for (name, rank, counted), points in self._points.items()
            )
            self._report = LogReport(
                tuple(series), tuple(self._processes.values()), self._seed, self._first, self._steps, self._counts_epochs
            )
        return self._report

    def _read(self, text: str, stamp: str) -> None:
        hints = patterns.hints_of(text)
        if "epoch" in hints and (heading := patterns.EPOCH_HEADING.match(text)):
            self._epoch = float(heading["epoch"])
            return
        if "seed" in hints and not self._seed and (seed := patterns.SEED.search(text)):
            self._seed = seed["seed"]
        rank = self._rank if hints.isdisjoint(patterns.HINTS_OF_RANKS) else self._rank_of(text, hints)
        if structured := _structured(text):
            at, values, is_epoch = structured
            self._counts_epochs = is_epoch if at else self._counts_epochs
        else:
            at, values = self._position(text, hints), []
        if not values and (hints or at):
            values = [*_values(text, hints, bool(at)), *_rates(text, hints)]
        for name, pattern in self._extra:
            if match := pattern.search(text):
                found = match.groupdict()
                if (number := _plain_number(found.get("value") or match[1])) is not None:
                    numbers = (_plain_number(found.get(key)) for key in ("epoch", "step"))
                    position = tuple(one for one in numbers if one is not None)
                    at, values = position or at, [*(pair for pair in values if pair[0] != name), (name, number)]
        time = time_of(stamp) if values else None
        for name, value in values:
            self._add(name, rank, at, value, time)
        if any(name != RATE for name, _ in values) and self._first is None:
            self._first = time

    def _rank_of(self, text: str, hints: frozenset[str]) -> int | None:
        """The rank of the process that wrote the line; records its rank and world size if the line names them."""
        match = patterns.RANK.search(text)
        rank = self._rank if match is None or (named := whole_number(match["rank"])) is None else named
        for hint, pattern in patterns.PROCESSES:
            if hint in hints and (match := pattern.search(text)) and (size := whole_number(match["size"])) is not None:
                process_rank = whole_number(match["rank"]) if "rank" in pattern.groupindex else None
                self._processes[process_rank] = Process(pod=self._pod, rank=process_rank, world_size=size)
                return rank if process_rank is None else process_rank
        return rank

    def _position(self, text: str, hints: frozenset[str]) -> tuple[float, ...]:
        if hints.isdisjoint(patterns.HINTS_OF_POSITIONS) and not patterns.BEGINS_WITH_COUNT.match(text):
            return ()
        for _, pattern, needed in patterns.POSITIONS:
            if needed and hints.isdisjoint(needed):
                continue
            if match := pattern.search(text) if needed else pattern.match(text):
                found = match.groupdict()
                epoch = float(found["epoch"]) if found.get("epoch") else None
                if epoch is None and "[" not in text[:1]:
                    epoch = self._epoch
                step = float(found["step"]) if found.get("step") else None
                if epoch is None and found.get("steps"):
                    self._steps = whole_number(found["steps"])
                if epoch is None or step is None:
                    self._counts_epochs = step is None
                return tuple(part for part in (epoch, step) if part is not None)
        return ()

    def _add(self, name: str, rank: int | None, at: tuple[float, ...], value: float, time: datetime | None) -> None:
        """Adds a value; one for the same step (after a restart) replaces the former."""
        key = (name, rank, not at)
        points = self._points.setdefault(key, {})
        position = at or (next(reversed(points))[0] + 1 if points else 1.0,)
        points.pop(position, None)
        points[position] = Point(position, finite(value), time.timestamp() if time else None)
        if self._most_points is not None and len(points) > self._most_points:
            self._points[key] = {point.at: point for point in _thinned(list(points.values()))}


def _thinned(points: Sequence[Point]) -> list[Point]:
    """The newer half of the points, the first, and the extremes of each `GROUP` of the older ones."""
    half = len(points) // 2
    kept = [points[0]]
    for start in range(1, half, GROUP):
        group = points[start : min(start + GROUP, half)]
        kept += [group[index] for index in sorted({*extremes([point.value for point in group])})]
    return [*kept, *points[half:]]


def timed(line: str) -> tuple[datetime | None, str]:
    """The timestamp that the kubelet wrote before a line (None if there is none), and the rest of the line."""
    time, text = split_time(line)
    return time_of(time), text


def _structured(text: str) -> tuple[tuple[float, ...], list[tuple[str, float]], bool] | None:
    """A line that is a mapping as JSON or Python writes it (Hugging Face's Trainer, structured loggers): its position, its
    values, and whether the position is an epoch."""
    begin = text.find("{")
    if begin < 0 or not text.endswith("}"):
        return None
    mapping = _mapping(text[begin:])
    numbers = {str(key): number for key, value in mapping.items() if (number := _number(value)) is not None}
    step = next((numbers[key] for key in _POSITION_KEYS if key in numbers), None)
    at = tuple(part for part in (None if step is not None else numbers.get("epoch"), step) if part is not None)
    metrics = [(_name(key), value) for key, value in numbers.items() if not _is_no_metric(key)]
    if not at and not any(_is_known_metric(name) for name, _ in metrics):
        return None
    rates = [(RATE, value) for key, value in numbers.items() if _is_rate(key)]
    return at, [*metrics, *rates[:1]], step is None


def _mapping(text: str) -> dict[Any, Any]:
    has_one_kind_of_quotes = '"' not in text and "\\" not in text
    try:
        found = msgspec.json.decode(text.replace("'", '"') if has_one_kind_of_quotes else text)
    except (msgspec.DecodeError, RecursionError):
        if (quoted := _NOT_FINITE.sub(r'\1"\2"', text)) != text:
            return _mapping(quoted)
        try:
            found = ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}


def _values(text: str, hints: frozenset[str], has_position: bool) -> list[tuple[str, float]]:
    matches = () if hints.isdisjoint(patterns.HINTS_OF_METRICS) else patterns.VALUE.finditer(text)
    found = {_name(match["name"]): float(match["value"]) for match in matches}
    if found or has_position:
        for match in patterns.PAIR.finditer(text):
            if not _is_no_metric(match["name"]):
                found.setdefault(_name(match["name"]), float(match["value"]))
    return list(found.items())


def _rates(text: str, hints: frozenset[str]) -> list[tuple[str, float]]:
    match = None if hints.isdisjoint(patterns.HINTS_OF_RATES) else patterns.THROUGHPUT.search(text)
    return [(RATE, float((match["value"] or match["named"]).replace(",", "")))] if match else []


@lru_cache(maxsize=1024)
def _is_no_metric(name: str) -> bool:
    return patterns.NOT_METRICS.search(name) is not None


@lru_cache(maxsize=1024)
def _is_known_metric(name: str) -> bool:
    return patterns.VALUE.search(f"{name}=0") is not None


@lru_cache(maxsize=1024)
def _is_rate(name: str) -> bool:
    return patterns.THROUGHPUT.search(f"{name}=1") is not None


@lru_cache(maxsize=1024)
def _name(text: str) -> str:
    return _WORDS.sub("_", text.strip().lower())


def _plain_number(text: str | None) -> float | None:
    """The number in a text that may group its digits: `1,234.5`."""
    return _number(text.replace(",", "")) if text else None


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value) if isinstance(value, (int, float, str)) else None
    except (ValueError, OverflowError):
        return None
