"""How long v1 jobs were, and what became of them: lines of manifests that say something, neither blank nor comments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import yaml

from shunter.api.formats.counts import count
from shunter.api.late_patterns import late_pattern
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.migrate.conversion.batch import Batch
from shunter.migrate.conversion.cleaning import clean
from shunter.migrate.conversion.emit.files import usable
from shunter.migrate.conversion.emit.job import plain_text
from shunter.migrate.conversion.source.objects import SourceObject

_DOCUMENT = late_pattern(r"^---.*$", re.M)
_KIND = late_pattern(r"^kind: *(\w+)", re.M)


class Sizes(NamedTuple):
    """Counted before and after. A runtime that several jobs share is counted once."""

    jobs: int
    """The number of converted jobs in documents of their own."""
    lines: int
    runtimes: int
    train_job_lines: int
    runtime_lines: int

    def __str__(self) -> str:
        """`4 jobs of 92 lines are 4 TrainJobs of 51 and 1 runtime of 27 now: 0.55 of the lines, with the runtime 0.85`."""
        before, after = count(self.jobs, "job"), count(self.jobs, "TrainJob")
        alone = f"{self.train_job_lines / self.lines:.2f} of the lines" if self.lines else "no lines"
        if not self.runtimes:
            return f"{before} of {self.lines} lines: {after} of {self.train_job_lines} now, {alone}"
        runtimes = count(self.runtimes, "runtime")
        together = (self.train_job_lines + self.runtime_lines) / self.lines if self.lines else 0
        return (
            f"{before} of {self.lines} lines: {after} of {self.train_job_lines} and {runtimes} of {self.runtime_lines} now, "
            f"{alone}, {together:.2f} with {'it' if self.runtimes == 1 else 'them'}"
        )


def sizes(batch: Batch, texts: Iterable[str]) -> Sizes:
    """The line counts of the usable jobs of a batch, and of the texts converted from them, without embedded jobs and jobs in
    JSON."""
    jobs = [one.source for one in usable(batch) if not one.source.is_embedded and not _is_json(one.source)]
    results: dict[str, list[int]] = {TRAIN_JOBS.kind: [], TRAINING_RUNTIMES.kind: []}
    for text in texts:
        for document in _DOCUMENT.split(text.replace("\r\n", "\n")):
            kind = _KIND.search(document)
            if kind and kind[1] in results:
                results[kind[1]].append(lines(document))
    train_jobs, runtimes = results.values()
    return Sizes(len(jobs), sum(map(_written, jobs)), len(runtimes), sum(train_jobs), sum(runtimes))


def lines(text: str) -> int:
    """The number of lines with content."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))


def _is_json(source: SourceObject) -> bool:
    return isinstance(source.node, yaml.CollectionNode) and bool(source.node.flow_style)


def _written(source: SourceObject) -> int:
    """The lines of a v1 job as its user wrote it; one of a cluster without what the cluster added."""
    if isinstance(source.node, yaml.Node) and source.text:
        return lines(source.text[source.node.start_mark.index : source.node.end_mark.index])
    return lines(plain_text(clean(source.value)))
