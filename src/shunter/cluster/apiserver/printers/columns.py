"""A printer as a value, its columns, each with what fills it, and how times, labels and containers are written in cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from shunter.api.formats.times import moment
from shunter.api.meta import Json, annotations_of
from shunter.api.selectors import notation
from shunter.cluster.apiserver.kinds import Column

Cells = list[Any]
Source = str | Callable[[Json], Any]
"""Where the content of a cell is: a path, or a function of the object."""


class Printer(NamedTuple):
    """Columns and the function that fills them, wide ones included."""

    columns: Sequence[Column]
    cells: Callable[[Json, datetime], Cells]
    conditions: Callable[[Json], list[Json]] = lambda document: []
    """What is true of a row as a whole."""


class Shown(NamedTuple):
    """A column, and what is in its cell of an object at a time."""

    column: Column
    cell: Callable[[Json, datetime], Any]


def printer(*shown: Shown) -> Printer:
    """Shows these columns in order."""

    def cells(document: Json, now: datetime) -> Cells:
        return [one.cell(document, now) for one in shown]

    return Printer([one.column for one in shown], cells)


def text(name: str, cell: Source, absent: Any = "", *, type: str = "string", format: str = "", priority: int = 0) -> Shown:
    """What is at a path such as `spec.volumeName`, or `absent`; or what a function makes of the object."""
    find = cell if callable(cell) else _at(cell.split("."), absent)
    return Shown(Column(name, type, "", format, priority=priority), lambda document, now: find(document))


def wide(name: str, cell: Source, absent: Any = "") -> Shown:
    """A cell as from `text`, in a column that only `-o wide` shows."""
    return text(name, cell, absent, priority=1)


def integer(name: str, cell: Source) -> Shown:
    """A whole number, 0 where there is none."""
    return text(name, cell, 0, type="integer")


def boolean(name: str, cell: Source, *, absent: bool = False) -> Shown:
    """True or false."""
    return text(name, cell, absent, type="boolean")


def at_time(name: str, cell: Callable[[Json, datetime], Any], *, priority: int = 0) -> Shown:
    """What changes as time passes, such as an age."""
    return Shown(Column(name, "string", "", priority=priority), cell)


def _at(path: Sequence[str], absent: Any) -> Callable[[Json], Any]:
    def find(document: Json) -> Any:
        for name in path[:-1]:
            document = document.get(name) or {}
        return document.get(path[-1], absent)

    return find


NAME_COLUMN = Column(
    "Name",
    "string",
    ".metadata.name",
    "name",
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to "
    "request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and "
    "configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
)
AGE_COLUMN = Column(
    "Age",
    "string",
    ".metadata.creationTimestamp",
    "",
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set "
    "in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and "
    "is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
)


def name_of(document: Json) -> str:
    """`metadata.name`; KeyError where there is none."""
    name: str = document["metadata"]["name"]
    return name


def spec_of(document: Json) -> Json:
    """Empty where there is none, or null."""
    return document.get("spec") or {}


def status_of(document: Json) -> Json:
    """Empty where there is none, or null."""
    return document.get("status") or {}


def named_at_creation(document: Json, now: datetime) -> Cells:
    """The name and the creation time as it is stored, not an age: the row of a kind without a printer."""
    metadata = document["metadata"]
    return [metadata["name"], metadata.get("creationTimestamp", "")]


DEFAULT = Printer(
    (NAME_COLUMN, Column("Created At", "date", ".metadata.creationTimestamp", "", AGE_COLUMN.description)), named_at_creation
)


def since(text: str | None, now: datetime) -> str:
    """How long ago a time was, or `<unknown>`."""
    return human_duration((now - moment(text)).total_seconds()) if text else "<unknown>"


def age(document: Json, now: datetime) -> str:
    """`2d4h`: how long ago the object was created, or `<unknown>`."""
    return since(document["metadata"].get("creationTimestamp"), now)


NAME = Shown(NAME_COLUMN, lambda document, now: name_of(document))
AGE = Shown(AGE_COLUMN, age)


def name_or_default(*annotations: str) -> Shown:
    """The name, with `(default)` behind it where one of the annotations says `true`."""
    return Shown(
        NAME_COLUMN,
        lambda document, now: (
            name_of(document) + (" (default)" if "true" in map(annotations_of(document).get, annotations) else "")
        ),
    )


def human_duration(seconds: float) -> str:
    """Seconds as kubectl shows them: `5s`, `2m3s`, `3h`, `2d4h`, `1y20d`; source: apimachinery `util/duration`."""
    total = int(seconds)
    if total < -1:
        return "<invalid>"
    if total < 0:
        return "0s"
    if total < 120:
        return f"{total}s"
    minutes = total // 60
    if minutes < 10:
        return _pair(minutes, "m", total % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return _pair(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def format_labels(labels: Json | None) -> str:
    """`app=web,tier=back`, sorted by key, or `<none>`."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) if labels else "<none>"


def format_selector(selector: Json | None) -> str:
    """`app=web,tier in (back,front)`, or `<none>` for one that selects everything."""
    return notation(selector) or "<none>"


def of_containers(field: str, pod_spec: Callable[[Json], Json]) -> Callable[[Json], str]:
    """A function that gives `web,log` or `nginx:1,busybox:1` of an object: a field of its containers, in the order of the spec,
    without init containers."""
    return lambda document: ",".join(container.get(field, "") for container in pod_spec(document).get("containers") or ())


def access_modes(modes: Sequence[str] | None) -> str:
    """`RWO,RWX`, always in the same order; unknown modes are left out."""
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
    return ",".join(text for mode, text in short.items() if mode in (modes or ()))
