"""What failed of a job, kept in its status after the pods are gone: a field of Shunter's own, in both generations."""

from datetime import datetime
from typing import Annotated

import msgspec

from shunter.api.meta import Struct
from shunter.api.openapi import INT32, doc, list_atomic

MOST_KEPT = 20
"""How many failures a job remembers, and no more: the newest."""


class RankFailure(Struct, frozen=True):
    """One end of one container; of the pod as a whole when `container` is empty (evicted, preempted)."""

    rank: Annotated[int | None, INT32, doc("Rank of the pod; absent for a pod that does not train.")] = None
    pod: Annotated[str, doc("Name of the pod.")] = ""
    pod_uid: Annotated[str, doc("UID of the pod: the next pod of this rank may have the same name.")] = msgspec.field(
        name="podUID", default=""
    )
    container: Annotated[str, doc("The container; absent when the pod failed as a whole.")] = ""
    restart: Annotated[int, INT32, doc("Restarts of the container in its pod before this failure.")] = 0
    reason: Annotated[str, doc("OOMKilled, Error, Evicted, ...")] = ""
    exit_code: Annotated[int | None, INT32, doc("Exit code of the container.")] = None
    message: Annotated[
        str, doc("The line of its termination message, or of the end of its log, that says why, or what the pod's status says.")
    ] = ""
    time: Annotated[datetime | None, doc("When it ended, by the clock of its node.")] = None


class RankFailures(Struct, frozen=True):
    """All failures of a job, counted, and the last of them."""

    count: Annotated[int, INT32, doc("Failures so far, restarts in place included.")] = 0
    last: Annotated[tuple[RankFailure, ...], list_atomic(), doc("The last 20, in the order in which they were seen.")] = ()
    counted: Annotated[
        dict[str, Annotated[int, INT32]],
        doc("How many runs are counted of containers (UID of the pod/container) whose failures are no longer listed."),
    ] = {}
