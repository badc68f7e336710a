"""How often all pods of a TrainJob were recreated, and how often they may be. Pure; input is plain JSON of its JobSet."""

from __future__ import annotations

from shunter.api.formats.counts import count
from shunter.api.meta import Json, Struct
from shunter.api.ownership import controller_uid


class Restarts(Struct, frozen=True):
    """Restarts of a whole group."""

    made: int
    """How often all pods were recreated."""
    used: int
    """The restarts that count towards `most`: disruptions of a job on shunter-torch do not."""
    most: int
    """The JobSet's failurePolicy.maxRestarts."""

    @property
    def short(self) -> str:
        """`1/3`: the restarts that count, of those that are allowed."""
        return f"{self.used}/{self.most}"

    def __str__(self) -> str:
        """E.g. `1 of 3 used, and 2 that do not count`."""
        others = self.made - self.used
        uncounted = f", and {count(others, 'that does not count', 'that do not count')}" if others else ""
        return f"{self.used} of {self.most} used{uncounted}"


def restarts(jobset: Json) -> Restarts | None:
    """None where nothing was restarted, and where nothing ever is because the JobSet has no failurePolicy."""
    policy, status = (jobset.get("spec") or {}).get("failurePolicy"), jobset.get("status") or {}
    made = int(status.get("restarts") or 0)
    if policy is None or not made:
        return None
    return Restarts(made=made, used=int(status.get("restartsCountTowardsMax") or 0), most=int(policy.get("maxRestarts") or 0))


def is_jobset_of(job: Json, jobset: Json) -> bool:
    """Whether the JobSet is this job's, and not that of an earlier one of its name."""
    return controller_uid(jobset) == str(job["metadata"].get("uid"))
