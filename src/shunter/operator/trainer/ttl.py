"""A failed job whose JobSet has been removed by its ttlSecondsAfterFinished has ended for good.

Upstream makes the JobSet anew, with its restarts counted from 0, so that a job which cannot succeed never ends (trainer#3779).
Where the runtime has no such time the JobSet was deleted by a person, who wants the job to start again.
"""

from __future__ import annotations

from shunter.api.meta import true_condition
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.runtime_spec import runtime_spec
from shunter.operator.trainer.snapshot import runtime_in
from shunter.operator.trainer.status import FAILED
from shunter.operator.trainer.views import ConfigMap, LiveJobSet


def failed_for_good(job: TrainJob, jobset: LiveJobSet | None, snapshot: ConfigMap | None) -> bool:
    """Whether the job has failed, its JobSet is gone or going, and the runtime it was made from gives that a time to live."""
    if jobset is not None and jobset.metadata.deletion_timestamp is None:
        return False
    conditions = (*job.status.conditions, *(jobset.status.conditions if jobset is not None else ()))
    if true_condition(conditions, FAILED) is None or snapshot is None:
        return False
    try:
        template = runtime_spec(runtime_in(job, snapshot)).template
    except BuildError:
        return False
    return (template.get("spec") or {}).get("ttlSecondsAfterFinished") is not None
