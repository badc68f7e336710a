"""Where a result comes from, said on it by annotations: what made it, of which v1 job, by which decisions."""

from __future__ import annotations

import hashlib

import msgspec

from shunter import __version__
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

PREFIX = "migrate.shunter.dev/"
"""The prefix of every annotation that the migration writes."""
GENERATOR = "migrate.shunter.dev/generator"
"""Annotation on all that was converted, but not on TrainJobs in files: the tool and its version."""
SOURCE = "migrate.shunter.dev/source"
"""Annotation on a TrainJob: the v1 job that it was converted from, `PyTorchJob training/bert`."""
DECISIONS = "migrate.shunter.dev/decisions"
"""Annotation on a TrainJob that a plan made: a digest of the job's spec and of the options, so the same for a conversion that
decides the same. A file has its history instead."""
MADE_BY = f"shunter/{__version__}"
_DIGITS = 12


def of_runtime() -> dict[str, str]:
    """The annotations of a runtime. Several jobs may share it, so they name none."""
    return {GENERATOR: MADE_BY}


def of_train_job(source: SourceObject) -> dict[str, str]:
    """The annotation that names the v1 job; every TrainJob has it, in files and in clusters."""
    return {SOURCE: source.title}


def annotations_of_created(source: SourceObject, options: Options) -> dict[str, str]:
    """Further annotations of a TrainJob that the tool itself creates in a cluster."""
    decided = msgspec.json.encode((source.value.get("spec"), options), order="deterministic")
    return {GENERATOR: MADE_BY, DECISIONS: hashlib.sha256(decided).hexdigest()[:_DIGITS]}
