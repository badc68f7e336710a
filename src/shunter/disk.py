"""What must be on disk before the next step, whatever becomes of the machine."""

from __future__ import annotations

import os
from pathlib import Path


def sync_directory(directory: Path) -> None:
    """Returns once the names in a directory are on disk: what was made or renamed there is found after a power failure. Raises
    OSError."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
