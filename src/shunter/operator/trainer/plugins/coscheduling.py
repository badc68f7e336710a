"""Gang scheduling by the coscheduling plugin of scheduler-plugins: a PodGroup, and a label on the pods that belong to it.

The scheduler itself is named by the runtime, as upstream leaves it.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.scheduling.podgroups import COSCHEDULING_GROUP, COSCHEDULING_POD_GROUPS
from shunter.operator.trainer.model import Model
from shunter.operator.trainer.plugin import Companion, Plugin
from shunter.operator.trainer.plugins.pod_group import pod_group

DEFAULT_TIMEOUT_SECONDS = 60


class Coscheduling(Plugin):
    """Acts where the runtime has `podGroupPolicy.coscheduling`."""

    companions = (Companion(COSCHEDULING_POD_GROUPS),)

    def apply(self, model: Model) -> None:
        """Labels the pods of all replicated jobs with the name of their PodGroup, which is the job's."""
        if model.pod_groups is not None and model.pod_groups.coscheduling is not None:
            model.pod_labels[COSCHEDULING_GROUP] = model.job.metadata.name

    def objects(self, model: Model) -> list[Json]:
        """The PodGroup, with the runtime's `scheduleTimeoutSeconds`, 60 where it says none."""
        policy = model.pod_groups.coscheduling if model.pod_groups else None
        if policy is None:
            return []
        seconds = policy.schedule_timeout_seconds
        timeout = DEFAULT_TIMEOUT_SECONDS if seconds is None else seconds
        return [pod_group(model, COSCHEDULING_POD_GROUPS, {"scheduleTimeoutSeconds": timeout})]
