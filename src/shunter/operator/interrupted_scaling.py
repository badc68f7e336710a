"""Whether a TrainJob is suspended only because `shunter scale` was interrupted. Pure; input is plain JSON.

A TrainJob's numNodes changes only while it is suspended: one write of `scale` suspends it and sets the number, the next
resumes it. The first leaves a mark, so that after a kill between the two a job that is to be resumed differs from one that its
owner, or a queue, has suspended. The mark is the generation of the spec that was written with it: any other change of the spec
makes it void.
"""

from __future__ import annotations

from shunter.api.meta import Json, annotations_of
from shunter.operator.overview import is_suspended

RESUMES = "shunter.dev/resumes-after-scaling"
"""Annotation of a TrainJob that was suspended to change its number of nodes; the value is its generation after that."""


def is_to_be_resumed(job: Json) -> bool:
    """Whether the job is suspended because scaling it was interrupted."""
    mark = annotations_of(job).get(RESUMES)
    return is_suspended(job) and mark is not None and mark == str(job["metadata"].get("generation"))
