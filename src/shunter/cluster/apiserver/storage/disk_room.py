"""Refuses new objects while the disk is nearly full, so that existing ones can still be changed and deleted.

Like etcd's NOSPACE alarm, but earlier. Updates stay allowed: they replace stored data, and suspending, scaling down, deleting
with a grace period and removing finalizers are updates. When the disk is full nevertheless, SQLite refuses writes that exceed the
reserve.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

from shunter.cluster.apiserver.status import StatusError, insufficient_storage
from shunter.cluster.disk_space import amount, disk_space

KEPT_BYTES = 32 * 2**20
"""Reserved for changes and deletions, the states of pods, and their logs."""
_REMEDY = "Free space on it (objects can be deleted); waiting requests then continue"


class StorageRoom(NamedTuple):
    """The disk that holds a cluster's state directory."""

    directory: Path

    def refusal(self) -> StatusError | None:
        """The error when objects may not be created now; None when they may."""
        try:
            free = disk_space(self.directory).free
        except OSError:
            return None  # the write will report it
        if free >= KEPT_BYTES:
            return None
        left = f"the disk of {self.directory} has {amount(free)} left; below {amount(KEPT_BYTES)} nothing new is stored"
        return insufficient_storage(f"{left}. {_REMEDY}.")


def not_stored(error: sqlite3.Error, directory: Path) -> StatusError | None:
    """The answer to a write for which the disk had no space; None when the store failed for another reason."""
    if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_FULL:
        return None
    return insufficient_storage(f"the disk of {directory} is full: the write is not stored. {_REMEDY}.")
