"""A failed job whose JobSet has been removed by its ttlSecondsAfterFinished has ended for good.

Upstream makes the JobSet anew, with its restarts counted from 0, so that a job which cannot succeed never ends (trainer#3779).
Where the runtime has no such time the JobSet was deleted by a person, who wants the job to start again.
"""

from __future__ import annotations

from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.runtime_spec import runtime_spec
from shunter.operator.trainer.snapshot import runtime_in
from shunter.operator.trainer.status import FAILED, find
from shunter.operator.trainer.views import ConfigMap


def explains_missing_jobset(job: TrainJob, snapshot: ConfigMap | None) -> bool:
    """Whether the job has failed and the runtime that it was made from gives its JobSet a time to live."""
    failed = find(job.status.conditions, FAILED)
    if failed is None or not failed.is_true or snapshot is None:
        return False
    try:
        template = runtime_spec(runtime_in(job, snapshot)).template
    except BuildError:
        return False
    return (template.get("spec") or {}).get("ttlSecondsAfterFinished") is not None
