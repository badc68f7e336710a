"""Argo CD: the runtime must be there before the job that names it, or the admission webhook refuses the job."""

from __future__ import annotations

from collections.abc import Mapping

GROUP = "argocd.argoproj.io/"
WAVE = "argocd.argoproj.io/sync-wave"


def runtime_annotations(job: Mapping[str, str]) -> dict[str, str]:
    """The sync wave of a job's runtime, one before the job's own; empty for a job whose annotations say nothing of Argo CD.
    Within a wave Argo CD would apply a TrainJob before a TrainingRuntime, by the names of their kinds."""
    if not any(key.startswith(GROUP) for key in job):
        return {}
    try:
        return {WAVE: str(int(job.get(WAVE, "0")) - 1)}
    except ValueError:
        return {}
