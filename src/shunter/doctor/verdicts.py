"""The report of `shunter doctor`. `-o json` prints these types; ids are stable, texts are not."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from shunter.api.meta import Struct

Confidence = Literal["certain", "likely", "possible"]
CONFIDENCES: tuple[Confidence, ...] = ("certain", "likely", "possible")


class Excerpt(Struct, frozen=True):
    """One line of evidence for a verdict."""

    source: str
    """pod, event, log, stack, flight recorder, node."""
    text: str
    pod: str = ""
    container: str = ""
    at: str = ""
    """RFC 3339; empty if the source has no time."""
    rank: int | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that is wrong with a job."""

    id: str
    title: str
    """In capitals, as `CANNOT START`."""
    cause: str
    confidence: Confidence
    ranks: tuple[int, ...] = ()
    pods: tuple[str, ...] = ()
    evidence: tuple[Excerpt, ...] = ()
    remedy: str = ""
    victims: tuple[int, ...] = ()
    """Ranks that ended or wait only because of this."""


class NotChecked(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A source that was not read, and the rules that cannot be judged without it."""

    what: str
    why: str
    rules: tuple[str, ...]
    is_refused: bool = True
    """Whether it was refused; False if it was not requested, or the cluster does not serve it."""
    decides: bool = True
    """Whether the job may not train without a verdict about it: one of the rules decides (`rules.rule.Rule`)."""


class Seconds(msgspec.Struct, frozen=True, kw_only=True):
    """The time that the diagnosis took."""

    api: float = 0.0
    exec: float = 0.0
    rules: float = 0.0


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The diagnosis of one job."""

    job: str
    """`PyTorchJob default/bert`."""
    state: str
    ranks: int
    """How many the job has once all its pods exist; 0 if that is not known."""
    at: datetime
    verdicts: tuple[Verdict, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    is_well: bool = True
    """Whether the job runs in full, has succeeded, or is not meant to run."""
    failures: str = ""
    """How many ranks have failed so far and the last of them, as `jobs` shows it: `1 (rank 0 OOMKilled, 12s ago)`."""
    seconds: Seconds = Seconds()

    @property
    def exit_code(self) -> int:
        """0 no problem found; 1 a cause is named; 3 something is wrong without a cause, or it is not known whether anything is
        wrong: a source that decides it was not read, for whatever reason."""
        if any(one.confidence != "possible" for one in self.verdicts):
            return 1
        return 3 if self.verdicts or not self.is_well or self.is_undecided else 0

    @property
    def is_undecided(self) -> bool:
        """Whether the job may not train although there is no verdict, or something was refused."""
        return any(one.decides or one.is_refused for one in self.not_checked)
