"""Why a job does not train. Pure; input is plain JSON of the job and of what was read beside it.

job.py          the order in which causes are checked; causes in the job itself (being deleted, suspended, left suspended by
                an interrupted `scale`: ScaleInterrupted, managedBy) and in objects that were rejected;
                which kinds that could not be read may hide a cause
blocked_pod.py  what blocks one pod, and the priority of these causes
pods.py         causes in a pod: volumes, images, crash loops
placement.py    why a pod has no node, alone or with its gang
queue.py        why a job waits in a Kueue queue
peers.py        ranks that still run after others have succeeded
events.py       when an event last occurred, and how often
words.py        the words for causes, with their meaning

Tests: tests/operator/causes; kinds that could not be read in tests/jobs/test_evidence.py; of whole jobs in
tests/e2e/test_causes.py.
"""

from shunter.operator.causes.job import (
    REASONS_COVERED_BY_CAUSES,
    STARTING_REASONS,
    Evidence,
    cause,
    owned_by,
    runs_in_full,
    unread,
)
from shunter.operator.causes.queue import Position
from shunter.operator.causes.words import WORDS, Cause

__all__ = [
    "REASONS_COVERED_BY_CAUSES",
    "STARTING_REASONS",
    "WORDS",
    "Cause",
    "Evidence",
    "Position",
    "cause",
    "owned_by",
    "runs_in_full",
    "unread",
]
