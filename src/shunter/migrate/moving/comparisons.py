"""Records the result of a comparison on the TrainJob that was compared, for cleanup."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.resources import TRAIN_JOBS
from shunter.kube.client import Client
from shunter.migrate.moving.annotations import COMPARED, NOT_SEEN, PLAN, SOURCE, mark
from shunter.migrate.moving.runs.record import Run
from shunter.migrate.moving.runs.trial_labels import SOURCE_UID
from shunter.migrate.moving.steps import V1_JOBS


async def record(client: Client, original: Run, successor: Run, verdict: str, unobserved: Sequence[str] = ()) -> str:
    """Annotates the successor with the verdict and what could not be observed, if it is the TrainJob that a plan created from
    this original (a trial is not); cleanup then deletes the original. Returns why the TrainJob of another job is not annotated,
    else an empty text. ApiError if the TrainJob may not be patched."""
    if successor.kind != TRAIN_JOBS.kind:
        return ""
    train_job = await client.find(TRAIN_JOBS, successor.name, successor.namespace)
    if train_job is None or not mark(train_job, PLAN):
        return ""
    if successor.uid not in ("", train_job["metadata"]["uid"]):
        return f"another {successor.title} exists now"
    if mark(train_job, SOURCE) != original.title:
        return (
            f"{successor.title} was converted from {mark(train_job, SOURCE)}, not from {original.title or 'a run without a name'}"
        )
    if original.uid and any(
        uid not in ("", original.uid) for uid in (mark(train_job, SOURCE_UID), await _uid_now(client, original))
    ):
        return f"{successor.title} was converted from another {original.title} than the one that ran"
    annotations = {COMPARED: verdict, NOT_SEEN: ", ".join(unobserved) or None}
    metadata = {"uid": train_job["metadata"]["uid"], "annotations": annotations}
    await client.patch(TRAIN_JOBS, successor.name, successor.namespace, {"metadata": metadata})
    return ""


async def _uid_now(client: Client, original: Run) -> str:
    """The uid of the v1 job that now has this name, which cleanup would delete; empty when there is none."""
    job = await client.find(V1_JOBS[original.kind], original.name, original.namespace)
    return str(job["metadata"]["uid"]) if job is not None else ""
