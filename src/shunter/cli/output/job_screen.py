"""One job on a terminal: state, a mark for each rank, ranks that differ, a curve, the last log lines. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.text import Text

from shunter.api.formats.counts import count
from shunter.cli.output.display import STATE_COLOURS
from shunter.cli.output.live import cut
from shunter.jobs.ages import age, duration
from shunter.jobs.curves import curves, metric_names
from shunter.jobs.differing_ranks import Difference
from shunter.jobs.job_view import JobView
from shunter.jobs.logs.visible_text import visible_line
from shunter.jobs.plot import plotted
from shunter.jobs.progress_text import cells
from shunter.jobs.rank_states import STATES, RankState, State, worst_states

MARKS: dict[State, str] = {
    "Failed": "✗",
    "Restarting": "↻",
    "Waiting": "◌",
    "Running": "●",
    "Suspended": "▪",
    "Succeeded": "✓",
    "Gone": "·",
}
STRIP_LINES = 4
"""The most lines of marks; if they are not enough, a mark stands for several ranks."""
MOST_NAMED = 4
"""How many ranks that differ are named, each in a line."""
LEAST_CURVE, CURVE_SHARE = 6, 2
"""The least height of the curve in lines, and the part (a half) of the remaining lines that it takes."""
MOST_TAILED = 3
"""How many ranks' last log lines are shown."""


def job_lines(view: JobView, metric: str, width: int, height: int, now: datetime) -> list[Text]:
    """At most `height` lines of `width` characters."""
    lines = [*_heading(view, now), *_ranks(view.states, width), *_differing(view.differences)]
    room = height - len(lines)
    curve = _curve(view, metric, width, max(room // CURVE_SHARE, LEAST_CURVE)) if room > LEAST_CURVE else []
    lines += curve
    lines += _tails(view, height - len(lines))
    return [cut(line, width) for line in lines[: max(height, 0)]]


def _heading(view: JobView, now: datetime) -> Iterator[Text]:
    row = view.row
    progress = cells(view.progress, now, is_running=row.is_running)
    counts_steps = view.progress is not None and view.progress.step is not None
    parts = [f"step {progress.step}" if counts_steps else progress.step] if progress.step else []
    parts += [f"{progress.remaining} left"] if progress.remaining else []
    ran = f"age {age(row.created, now)}" if row.ran is None else f"ran {duration(row.ran)}"
    yield Text.assemble(
        (f"{row.title} ", "bold"),
        (row.state, STATE_COLOURS.get(row.state, "default")),
        "  ",
        ", ".join((*parts, ran)),
    )
    if view.cause is not None:
        word = "" if row.is_finished else f"{view.cause.word}: "
        yield Text(visible_line(f"{word}{view.cause.sentence}"))
        if view.cause.remedy:
            yield Text(visible_line(view.cause.remedy), style="dim")
    if view.unread:
        yield Text(f"not read: {', '.join(view.unread)} could not be listed", style="dim")
    if view.unread_logs:
        yield Text(f"logs not read: {view.unread_logs}", style="dim")


def _ranks(states: Sequence[RankState], width: int) -> Iterator[Text]:
    """A mark for each rank, and the number of ranks in each state."""
    if not states:
        return
    marks = worst_states(states, width * STRIP_LINES)
    for begin in range(0, len(marks), width):
        yield Text.assemble(*((MARKS[state], STATE_COLOURS.get(state, "dim")) for state in marks[begin : begin + width]))
    counts = Counter(one.state for one in states)
    states_text = ", ".join(f"{MARKS[state]} {counts[state]} {state}" for state in STATES if counts[state])
    most = -(-len(states) // len(marks))
    each = f"; a mark is the worst of up to {most} ranks" if most > 1 else ""
    yield Text(f"{count(len(states), 'rank')}: {states_text}{each}")


def _differing(differences: Sequence[Difference]) -> Iterator[Text]:
    for one in differences[:MOST_NAMED]:
        yield Text(visible_line(f"  rank {one.rank}: {one.text}"), style="yellow")
    if len(differences) > MOST_NAMED:
        yield Text(f"  and {len(differences) - MOST_NAMED} more ranks differ", style="yellow")


def _curve(view: JobView, metric: str, width: int, height: int) -> list[Text]:
    names = metric_names(view.series)
    name = metric or next(iter(names), "")
    found = curves(view.series, name) if name else []
    if not found:
        what = f"no metric {metric!r}; there are: {', '.join(names)}" if metric and names else "no metric in its logs or reports"
        return [Text(what, style="dim")]
    source = "log" if found[0].source == "log" else "reported"
    lines = plotted(found, width=width, height=height - 1)
    return [Text(f"{name} ({source})", style="bold"), *map(Text, lines or ["no value is a finite number"])]


def _tails(view: JobView, room: int) -> Iterator[Text]:
    """The last log lines of the ranks that differ; if none does, of the first rank."""
    differ = [one.rank for one in view.differences if one.rank in view.last_lines][:MOST_TAILED]
    chosen = differ or list(view.last_lines)[:1]
    if not chosen or room < 2:
        return
    each = max(room // len(chosen) - 1, 1)
    for rank in chosen:
        yield Text(f"rank {rank}", style="bold")
        yield from (Text(f"  {line}") for line in view.last_lines[rank][-each:])
