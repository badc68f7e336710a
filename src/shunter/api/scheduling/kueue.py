"""What Kueue reads of jobs, and in which versions its own objects are served."""

from __future__ import annotations

from collections.abc import Collection

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""Names the LocalQueue that a job is admitted from."""
MANAGED_BY_KUEUE = "kueue.x-k8s.io/multikueue"
"""The value of managedBy of a job that Kueue runs in another cluster."""
GROUP = "kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
"""The supported versions, newest first."""


def newest_version(served: Collection[str]) -> str | None:
    """The newest version that we know, of a cluster that serves these `group/version`; None where Kueue is not installed."""
    return next((version for version in VERSIONS if f"{GROUP}/{version}" in served), None)
