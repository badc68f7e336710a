"""The verdict on a cluster: every check's result, and one word for all of them. Pure."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from shunter.errors import InputError
from shunter.migrate.findings import Impact
from shunter.migrate.moving.readiness import checks as package
from shunter.migrate.moving.readiness.facts import Check, Facts, UnknownFactError

Status = Literal["passed", "failed", "unknown", "not applicable"]
Verdict = Literal["READY", "PARTIAL", "BLOCKED"]
"""
READY     v2 can run what v1 runs
PARTIAL   it can, with faults that do not block, or some checks are unknown
BLOCKED   a fault must be fixed first
"""


class CheckFault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong. Impact and remedy are those of the check's topic, unless the fault has its own."""

    message: str
    object: str
    impact: Impact
    remedy: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check."""

    id: str
    check: str
    """The module's name; `--checks` selects by it, or by the id."""
    title: str
    status: Status
    impact: Impact
    """The worst impact of its faults; of an unknown check, that of its topic."""
    why: str
    """Why the check is unknown; empty for any other."""
    faults: tuple[CheckFault, ...]


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all checks and their verdict; `assess -o json` prints exactly this."""

    verdict: Verdict
    results: tuple[Result, ...]
    next: tuple[str, ...]
    """What to do, the most urgent first."""


def all_checks() -> dict[str, Check]:
    """Every check by its name, in the order of their ids."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    checks: dict[str, Check] = {name: importlib.import_module(f"{package.__name__}.{name}") for name in names}
    return dict(sorted(checks.items(), key=lambda item: item[1].TOPIC.id))


def chosen(patterns: Iterable[str]) -> dict[str, Check]:
    """The checks whose name or id matches one of these globs; all if there are none. InputError for a glob without a match."""
    checks = all_checks()
    globs = list(patterns)
    for pattern in globs:
        if not any(_matches(name, check, pattern) for name, check in checks.items()):
            raise InputError(f"--checks {pattern}: unknown check.", f"Available: {', '.join(checks)}.")
    return {
        name: check for name, check in checks.items() if not globs or any(_matches(name, check, pattern) for pattern in globs)
    }


def assessed(facts: Facts, checks: dict[str, Check]) -> Assessment:
    """The results of the checks, in their order. A check that may not read what it needs is `unknown`."""
    results = tuple(_result(name, check, facts) for name, check in checks.items())
    return Assessment(verdict=_verdict(results), results=results, next=tuple(_next(results)))


def _result(name: str, check: Check, facts: Facts) -> Result:
    topic = check.TOPIC
    status: Status = "not applicable"
    faults: tuple[CheckFault, ...] = ()
    why = ""
    try:
        if check.applies(facts):
            faults = tuple(
                CheckFault(
                    message=fault.message,
                    object=fault.object,
                    impact=fault.impact or topic.impact,
                    remedy=fault.remedy or topic.remedy,
                )
                for fault in check.faults(facts)
            )
            status = "failed" if faults else "passed"
    except UnknownFactError as error:
        status, why = "unknown", str(error)
    impact: Impact = "none"
    if status == "unknown":
        impact = topic.impact
    elif faults:
        impact = "blocking" if any(fault.impact == "blocking" for fault in faults) else "advisory"
    return Result(id=topic.id, check=name, title=topic.title, status=status, impact=impact, why=why, faults=faults)


def _verdict(results: Iterable[Result]) -> Verdict:
    worst = {(result.status, result.impact) for result in results}
    if ("failed", "blocking") in worst:
        return "BLOCKED"
    return "PARTIAL" if {status for status, _ in worst} & {"failed", "unknown"} else "READY"


def _next(results: Iterable[Result]) -> list[str]:
    """Remedies, each once: those of blocking faults first, then unknown checks, then the rest."""
    found = list(results)
    blocking = [fault.remedy for result in found for fault in result.faults if fault.impact == "blocking"]
    unknown = [
        f"{result.id}: check it yourself, or have someone with the permission run assess: {result.why}"
        for result in found
        if result.why
    ]
    rest = [fault.remedy for result in found for fault in result.faults if fault.impact != "blocking"]
    return list(dict.fromkeys([*blocking, *unknown, *rest]))


def _matches(name: str, check: Check, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(check.TOPIC.id, pattern)
