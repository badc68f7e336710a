"""Where two answers differ, and where they may: differences.yaml lists what the embedded server does otherwise on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

import yaml

from vectors.case import HERE


class Difference(NamedTuple):
    """`path` is STEP.KEY.KEY..., e.g. `2.body.spec.tolerations`."""

    path: str
    wanted: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.path}\n    wanted {_shown(self.wanted)}\n    got    {_shown(self.got)}"


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 1500 else f"{text[:1500]}..."


def differences(wanted: Any, got: Any, path: str = "") -> Iterator[Difference]:
    """Every place where the two are not equal."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        for name in [*wanted, *(name for name in got if name not in wanted)]:
            here = f"{path}.{name}" if path else name
            yield from differences(wanted.get(name, ABSENT), got.get(name, ABSENT), here)
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for index, (one, other) in enumerate(zip(wanted, got, strict=True)):
            yield from differences(one, other, f"{path}.{index}" if path else str(index))
    elif wanted != got or type(wanted) is not type(got):
        yield Difference(path, wanted, got)


class Deliberate(NamedTuple):
    """A listed difference: in these cases (`FILE/CASE`, with wildcards) at these paths (with wildcards)."""

    cases: tuple[str, ...]
    at: tuple[str, ...]
    why: str

    def covers(self, case: str, path: str) -> bool:
        return any(fnmatchcase(case, one) for one in self.cases) and any(
            fnmatchcase(path, at) or fnmatchcase(path, f"{at}.*") for at in self.at
        )


@cache
def deliberate() -> tuple[Deliberate, ...]:
    listed = yaml.safe_load((HERE / "differences.yaml").read_text())
    return tuple(Deliberate(tuple(entry["cases"]), tuple(entry["at"]), entry["why"]) for entry in listed)
