"""The exit codes of `shunter migrate`, a stable interface for scripts."""

OK = 0
FAILED = 1
"""The command could not run: wrong flags, unreadable files, no server."""
LOSSY = 2
"""With --strict: something is lost or changes its meaning."""
BLOCKED = 3
"""An object cannot be converted, or must not be used as it is."""
NOT_READY = 4
"""The cluster is not ready for v2."""
DIFFERENT = 5
"""Runs compared differ by more than the tolerance."""
INCOMPLETE = 6
"""Not everything was applied; a rollback is available."""
