"""What the log of a process tells: metrics with their steps, its place among the other processes, how fast it goes.

What to know before changing it: a name is taken for a metric only when it looks like one (`patterns.VALUE`), stands as
`key=value` beside one or beside a step, or was named by the user; logs are full of other numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from shunter.api.formats.digits import whole_number
from shunter.errors import InputError
from shunter.jobs.logs import patterns as patterns
from shunter.jobs.metrics import Point, Process, Series, extremes, finite
from shunter.kube.pods.log_times import split_time, time_of

_WORDS = re.compile(r"[\s_-]+")
_POSITION_KEYS = ("step", "global_step", "iteration", "iter")
LONGEST_LINE = 10_000
"""Characters of a line that are looked at; what is longer is no report of progress."""
RATE = "throughput"
"""The name of the series that holds what a program says of its own speed; compared as a speed, not as a metric."""


GROUP = 8
"""Points of which at most three are kept where older ones are thinned out."""


class MetricPattern(NamedTuple):
    """What `--metric` gives: a name that counts as a metric wherever it stands before a number, or a pattern of its own."""

    name: str
    pattern: re.Pattern[str]
    """Its group `value`, or else its first, is the value; groups `step` and `epoch` say where."""


class LogReport(NamedTuple):
    """What one container's log says."""

    series: tuple[Series, ...] = ()
    processes: tuple[Process, ...] = ()
    seed: str = ""
    first_step: datetime | None = None
    """When the first line with a metric was written; None for a log without times."""
    steps: int | None = None
    """How many steps there will be, by the line that said so last."""
    counts_epochs: bool = False
    """Whether the last place that is one number was an epoch, and not a step."""


def metric_pattern(text: str) -> MetricPattern:
    """From `NAME` or `NAME=REGEX`. InputError for what is no pattern with a group."""
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
        self._claims: dict[int | None, Process] = {}
        self._seed = ""
        self._first: datetime | None = None
        self._steps: int | None = None
        self._counts_epochs = False

    def read(self, line: str) -> None:
        """Takes in the next line. One with carriage returns, as progress bars write, counts as several; each is looked at up to
        `LONGEST_LINE` characters."""
        self._report = None
        time, text = timed(line)
        for part in patterns.ESCAPES.sub("", text).split("\r"):
            if part := part[:LONGEST_LINE].strip():
                self._read(part, time)

    def report(self) -> LogReport:
        """The report on all lines so far; the same object until another line is read."""
        if self._report is None:
            series = (
                Series(name=name, rank=rank, is_counted=counted, points=tuple(points.values()))
                for (name, rank, counted), points in self._points.items()
            )
            self._report = LogReport(
                tuple(series), tuple(self._claims.values()), self._seed, self._first, self._steps, self._counts_epochs
            )
        return self._report

    def _read(self, text: str, time: datetime | None) -> None:
        hints = frozenset(map(str.lower, patterns.HINTS.findall(text)))
        if "epoch" in hints and (heading := patterns.EPOCH_HEADING.match(text)):
            self._epoch = float(heading["epoch"])
            return
        if "seed" in hints and not self._seed and (seed := patterns.SEED.search(text)):
            self._seed = seed["seed"]
        rank = self._rank if hints.isdisjoint(patterns.HINTS_OF_PLACES) else self._claim(text)
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
                    places = (_plain_number(found.get(key)) for key in ("epoch", "step"))
                    where = tuple(place for place in places if place is not None)
                    at, values = where or at, [*(pair for pair in values if pair[0] != name), (name, number)]
        for name, value in values:
            self._add(name, rank, at, value, time)
        if any(name != RATE for name, _ in values) and self._first is None:
            self._first = time

    def _claim(self, text: str) -> int | None:
        """The rank that the line is of."""
        said = patterns.RANK.search(text)
        rank = self._rank if said is None or (named := whole_number(said["rank"])) is None else named
        for pattern in patterns.CLAIMS:
            if (match := pattern.search(text)) and (size := whole_number(match["size"])) is not None:
                claimed = whole_number(match["rank"]) if "rank" in pattern.groupindex else None
                self._claims[claimed] = Process(pod=self._pod, rank=claimed, world_size=size)
                return rank if claimed is None else claimed
        return rank

    def _position(self, text: str, hints: frozenset[str]) -> tuple[float, ...]:
        if hints.isdisjoint(patterns.HINTS_OF_POSITIONS) and not patterns.BEGINS_WITH_COUNT.match(text):
            return ()
        for _, pattern in patterns.POSITIONS:
            if match := pattern.search(text):
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
        where = at or (next(reversed(points))[0] + 1 if points else 1.0,)
        points.pop(where, None)
        points[where] = Point(where, finite(value), time.timestamp() if time else None)
        if self._most_points is not None and len(points) > self._most_points:
            self._points[key] = {point.at: point for point in _thinned(list(points.values()))}


def _thinned(points: Sequence[Point]) -> list[Point]:
    """The newer half of the points, the first, and of each `GROUP` of the older ones those with the extremes."""
    half = len(points) // 2
    kept = [points[0]]
    for start in range(1, half, GROUP):
        group = points[start : min(start + GROUP, half)]
        kept += [group[index] for index in sorted({*extremes([point.value for point in group])})]
    return [*kept, *points[half:]]


def timed(line: str) -> tuple[datetime | None, str]:
    """The time that the kubelet put before a line, None where there is none, and the rest of the line."""
    time, text = split_time(line)
    return time_of(time), text


def _structured(text: str) -> tuple[tuple[float, ...], list[tuple[str, float]], bool] | None:
    """A line that is a mapping as JSON or Python writes it (Hugging Face's Trainer, structured loggers): its place, its values,
    and whether the place is an epoch."""
    begin = text.find("{")
    if begin < 0 or not text.endswith("}"):
        return None
    mapping = _mapping(text[begin:])
    numbers = {str(key): number for key, value in mapping.items() if (number := _number(value)) is not None}
    step = next((numbers[key] for key in _POSITION_KEYS if key in numbers), None)
    at = tuple(part for part in (None if step is not None else numbers.get("epoch"), step) if part is not None)
    metrics = [(_name(key), value) for key, value in numbers.items() if not patterns.NOT_METRICS.search(key)]
    if not at and not any(patterns.VALUE.search(f"{name}=0") for name, _ in metrics):
        return None
    rates = [(RATE, value) for key, value in numbers.items() if patterns.THROUGHPUT.search(f"{key}=1")]
    return at, [*metrics, *rates[:1]], step is None


def _mapping(text: str) -> dict[Any, Any]:
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
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
            if not patterns.NOT_METRICS.search(match["name"]):
                found.setdefault(_name(match["name"]), float(match["value"]))
    return list(found.items())


def _rates(text: str, hints: frozenset[str]) -> list[tuple[str, float]]:
    match = None if hints.isdisjoint(patterns.HINTS_OF_RATES) else patterns.THROUGHPUT.search(text)
    return [(RATE, float((match["value"] or match["named"]).replace(",", "")))] if match else []


def _name(text: str) -> str:
    return _WORDS.sub("_", text.strip().lower())


def _plain_number(text: str | None) -> float | None:
    """That of a text which may group its digits: `1,234.5`."""
    return _number(text.replace(",", "")) if text else None


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value) if isinstance(value, (int, float, str)) else None
    except (ValueError, OverflowError):
        return None
