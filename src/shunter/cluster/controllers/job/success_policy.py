"""successPolicy: an Indexed Job may be complete before all its indexes are. The first rule that is met decides."""

from __future__ import annotations

from shunter.api.batch import Job
from shunter.cluster.controllers.job.indexes import Indexes


def met_rule(job: Job, succeeded: Indexes) -> int | None:
    """The position of the first rule that the succeeded indexes meet, or None."""
    rules = job.spec.success_policy.rules if job.spec.success_policy else ()
    if not succeeded:
        return None
    for position, rule in enumerate(rules):
        if rule.succeeded_indexes is None:
            if rule.succeeded_count is not None and succeeded.total >= rule.succeeded_count:
                return position
            continue
        required = Indexes.parse(rule.succeeded_indexes, job.spec.completions or 0)
        got = succeeded.overlap(required)
        if required and (got == required.total or (rule.succeeded_count is not None and got >= rule.succeeded_count)):
            return position
    return None
