"""T04: a host name does not resolve. Only if that ended the rank: torch logs a warning for each retry. Of ranks that still try,
H03 names it, if their stacks show that they wait for it."""

from __future__ import annotations

import re
from itertools import pairwise, takewhile
from typing import NamedTuple

from shunter.api.grouping import grouped_by
from shunter.doctor.case import Case
from shunter.doctor.rules.logs.texts import line, log_excerpt, matching, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures, ranks_text
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.kube.pods.log_times import time_of

_TEXT = re.compile(
    r"(?:Name or service not known|Temporary failure in name resolution|Name does not resolve|nodename nor servname provided"
    r"|No address associated with hostname|Could not resolve host(?:name)?|DNS resolution failed for)"
)
_HOST = re.compile(
    r"(?:hostname|host(?: name)?|getaddrinfo for|resolution failed for|resolve(?! host))[ :'\"]+([\w.-]*\w)"
    r"|\(['\"]?([\w.-]+)['\"]?, ?\d+\)|//([\w.-]+)",
    re.IGNORECASE,
)

_FETCHES = re.compile(
    r"(?:/|\b(?=[\w.]*: ))(?:urllib|urllib3|requests|httpx|httpcore|aiohttp|botocore|huggingface_hub|http)(?:[/.]|: )"
    r"|^curl: |HTTPS?Connection",
    re.MULTILINE,
)
"""A client of the web: the job's own names are not looked up by one."""
OF_THE_JOB = "Compare it with the job's Services: kubectl get services. Use the MASTER_ADDR that the job sets."
_OF_THE_PROGRAM = (
    "Correct the address from which the program fetches something; if it is right, the pod needs a DNS server that knows it, "
    "or a proxy (HTTPS_PROXY)."
)
LEAST_RETRIES = 3
"""Warnings at the end of a log that show that a rank tries again: after one or two it may have gone on without a line."""
BACK_OFF = 5
"""How many times the longest wait between warnings the next may last: torch multiplies it, and adds a random part,"""
LONGEST_BACK_OFF = 90.0
"""up to so many seconds."""


class Retry(NamedTuple):
    """A host name that ranks look up again and again."""

    host: str
    excerpts: tuple[Excerpt, ...]
    """The last warning of each of these ranks."""

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks, sorted."""
        return tuple(sorted(one.rank for one in self.excerpts if one.rank is not None))


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on resolver errors that ended ranks, with the host name if the error has it. Only likely: neither DNS nor
    the job's Services are checked."""
    found = matching(case, _TEXT)
    if not found:
        return []
    ones = [ending for ending, _ in found]
    host = next((name for ending, match in found if (name := _host(line(match)) or _host(ending.whole))), "")
    named = f"the host name {host}" if host else "a host name"
    return [
        verdict(
            case,
            "T04",
            "NAME NOT RESOLVED",
            f"{ranks_text(ones)} cannot resolve {named}",
            ones,
            confidence="likely",
            evidence=[log_excerpt(ending, line(match)) for ending, match in found],
            remedy=_OF_THE_PROGRAM if all(_FETCHES.search(one.whole) for one in ones) else OF_THE_JOB,
        )
    ]


def retried_names(case: Case) -> list[Retry]:
    """The host names that running ranks cannot resolve, by three or more warnings with which their logs end, the last no older
    than one wait when the logs were read: of a name that resolves since then, torch writes no line. Those of the most ranks
    first."""
    found = [one for pod in case.last_lines if (one := _retries(case, pod)) is not None]
    groups = grouped_by(found, lambda one: _host(one.text))
    retries = [Retry(host, tuple(ones)) for host, ones in groups.items() if host]
    return sorted(retries, key=lambda one: -len(one.excerpts))


def _retries(case: Case, pod: str) -> Excerpt | None:
    """The last of the warnings of one name with which the log of a pod that holds one rank ends."""
    ranks = case.ranks.get(pod, ())
    lines = reversed(case.last_lines[pod])
    own = [*takewhile(lambda one: _TEXT.search(one.text) and not _FETCHES.search(one.text), lines)]
    own = [*takewhile(lambda one: _host(one.text) == _host(own[0].text), own)]
    times = [at for one in own if (at := time_of(one.at)) is not None]
    if len(times) < LEAST_RETRIES or len(ranks) != 1:
        return None
    longest = max((later - earlier).total_seconds() for later, earlier in pairwise(times))
    if (case.evidence.at - times[0]).total_seconds() > min(BACK_OFF * longest, LONGEST_BACK_OFF):
        return None
    return Excerpt(source="log", text=own[0].text.strip(), pod=pod, at=own[0].at, rank=ranks[0])


def _host(text: str) -> str:
    match = _HOST.search(text)
    return next((group for group in match.groups() if group), "") if match else ""


RULE = Rule("T04", judge, logs_of_failures, explains=True)
