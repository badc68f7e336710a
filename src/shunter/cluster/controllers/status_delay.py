"""How long the first status of a Job or a JobSet waits, and with it all events: what it tells of starts meanwhile."""

from __future__ import annotations

FIRST_STATUS_SECONDS = 0.2
"""Within it a small job's ranks run, where they start warm; Kubernetes lets the changes of a Job's pods wait for a second."""
