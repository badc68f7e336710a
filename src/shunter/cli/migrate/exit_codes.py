"""What `shunter migrate` says by its exit code; scripts rely on it."""

OK = 0
FAILED = 1
"""The tool could not do its work: wrong flags, unreadable files, no server."""
LOSSY = 2
"""With --strict: something is lost or means something else."""
BLOCKED = 3
"""An object cannot be converted, or must not be used as it is."""
NOT_READY = 4
"""The cluster is not ready for v2."""
DIFFERENT = 5
"""Runs compared differ by more than the tolerance."""
INCOMPLETE = 6
"""Not everything was applied; a rollback is available."""
