"""What a plugin of the trainer may do: small phases over one model, each of which does nothing unless a plugin says otherwise.

    errors    what admission refuses in a job of a runtime
    apply     counts of pods, environment, ports: what the runtime's policy means for this job
    objects   further objects beside the JobSet (host files, keys, pod groups), in the order in which they are written

Phases run over all plugins in the table's order before the next phase starts.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json
from shunter.api.trainer.runtime import MLPolicy
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.model import Model


class Plugin:
    """One framework's or scheduler's part in making a JobSet."""

    def apply(self, model: Model) -> None:
        """Changes the model. Raises BuildError when job and runtime do not go together."""

    def objects(self, model: Model) -> list[Json]:
        """Wanted objects beside the JobSet, without owner references."""
        return []

    def errors(self, job: TrainJob, policy: MLPolicy | None, template: Json) -> list[FieldError]:
        """What admission refuses in the job; `template` is the runtime's with the job's patches merged."""
        return []
