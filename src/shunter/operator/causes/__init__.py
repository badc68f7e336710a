"""Why a job does not train. Pure; input is plain JSON of the job and of what was read beside it.

job.py        the order in which causes are looked for; what the job itself and refused objects say
held.py       what holds up one pod, and which of several comes first
pods.py       what each pod says: volumes, images, containers that fail again and again
placement.py  why a pod has no node, alone or with its gang
queue.py      what Kueue says of a job that waits in a queue
peers.py      ranks that run on while others have succeeded
words.py      the words, with their meaning
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
