"""Converts many objects: one that cannot be read or converted does not stop the others."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from pathlib import PurePath

import msgspec

from shunter.api.meta import Json
from shunter.errors import ShunterError
from shunter.migrate.conversion.input_context import InputContext, context_of
from shunter.migrate.conversion.one_job import Conversion, convert, framework_of
from shunter.migrate.conversion.reading import UnreadableJobError
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.unreadable import faults
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.options import Options
from shunter.migrate.parallel import mapped

UNREADABLE = Topic(
    id="INPUT001",
    title="an object with fields of wrong types",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="A field has a type that v1's API does not allow there, so the job cannot be interpreted.",
    remedy="Use the type that v1 requires; the rest of the input is converted.",
)
DEFECT = Topic(
    id="INPUT015",
    title="an internal error while converting an object",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "Converting the object failed with an unexpected error, which is a defect of this tool whatever the object contains. "
        "The result does not contain the object; the rest of the input is converted."
    ),
    remedy="Please report it with the message and the manifest, reduced to the part that causes the error if possible.",
    effort=3,
)

LEAST_JOBS = 50
"""The number of jobs from which another process saves time: to start it takes as long as to convert a dozen."""


class Outcome(msgspec.Struct, frozen=True):
    """The result for one object of the input."""

    source: SourceObject
    conversion: Conversion | None
    """None if the source could not be read or converted."""
    findings: tuple[Finding, ...]

    @property
    def is_blocked(self) -> bool:
        """Whether the result must not be used, or there is none; a blocking finding gives the reason."""
        return any(finding.is_blocking for finding in self.findings)


class Batch(msgspec.Struct, frozen=True):
    """The outcomes, in the order of the sources."""

    outcomes: tuple[Outcome, ...]
    options: Options

    @property
    def findings(self) -> list[Finding]:
        """The findings of all outcomes, in their order, also suppressed ones."""
        return [finding for outcome in self.outcomes for finding in outcome.findings]

    @property
    def is_blocked(self) -> bool:
        """Whether any outcome is blocked."""
        return any(outcome.is_blocked for outcome in self.outcomes)


def converted(
    sources: Iterable[SourceObject],
    options: Options,
    others: Iterable[Json] = (),
    done: Callable[[int], None] = lambda count: None,
    *,
    is_one_stream: bool = False,
) -> Batch:
    """Every v1 job of `sources`, converted. `others` are the other objects of the input, which rules read;
    `done` is called after each job. `is_one_stream`: whether all results are applied together."""
    jobs = tuple(sources)
    context = context_of(jobs, others, is_one_stream=is_one_stream)
    outcomes = mapped(lambda job: _outcome(job, options, context), jobs, least=LEAST_JOBS, known=jobs, done=done)
    return Batch(tuple(outcomes), options)


def _outcome(source: SourceObject, options: Options, context: InputContext) -> Outcome:
    try:
        conversion = convert(source, options, context)
    except UnreadableJobError as error:
        framework = framework_of(source)
        assert framework is not None, "it was read"
        found = (
            Finding(UNREADABLE, source.title, source.place(fault.path), fault.path, f"{fault.fault}.", fault.remedy)
            for fault in faults(source, framework, error)
        )
        return Outcome(source, None, tuple(found))
    except ShunterError:
        raise
    except Exception as error:  # a defect affects only its job, not the batch
        return Outcome(source, None, (Finding(DEFECT, source.title, source.place(), (), _defect_message(error)),))
    return Outcome(source, conversion, conversion.findings)


def _defect_message(error: Exception) -> str:
    """The message about a defect: `A defect of this tool: KeyError: 'x' (hosts.py, line 222).`."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(traceback.format_exception_only(error)[-1].split())
    return f"A defect of this tool: {text} ({PurePath(place.filename).name}, line {place.lineno})."
