"""What is refused while the disk has little room left: new objects, so that there is room to change and delete those there are.

As etcd does by its NOSPACE alarm, but sooner: an update replaces what is stored, and is what suspending, scaling down, deleting
with a grace period and letting go of finalizers are made of. Once the disk is full all the same, SQLite refuses what its
reserve does not take.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

from shunter.cluster.apiserver.status import StatusError, insufficient_storage
from shunter.cluster.disk_space import amount, disk_space

KEPT_BYTES = 32 * 2**20
"""For changes and deletions, the states of pods, and their logs."""
_REMEDY = "Make room on it (objects can be deleted); what waits then goes on by itself"


class StorageRoom(NamedTuple):
    """The disk that holds a cluster's state directory."""

    directory: Path

    def refusal(self) -> StatusError | None:
        """Why nothing may be created now; None when it may."""
        try:
            free = disk_space(self.directory).free
        except OSError:
            return None  # the write will tell
        if free >= KEPT_BYTES:
            return None
        left = f"the disk of {self.directory} has {amount(free)} left; below {amount(KEPT_BYTES)} nothing new is stored"
        return insufficient_storage(f"{left}. {_REMEDY}.")


def not_stored(error: sqlite3.Error, directory: Path) -> StatusError | None:
    """The answer to a write that the disk had no room for; None when the store failed for another reason."""
    if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_FULL:
        return None
    return insufficient_storage(f"the disk of {directory} is full: the write is not stored. {_REMEDY}.")
