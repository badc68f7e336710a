"""Records the result of a comparison on the TrainJob that was compared, for cleanup."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.resources import TRAIN_JOBS
from shunter.kube.client import Client
from shunter.kube.errors import NotFound
from shunter.migrate.moving.marks import COMPARED, NOT_SEEN, PLAN, SOURCE, mark
from shunter.migrate.moving.runs.marks import SOURCE_UID
from shunter.migrate.moving.runs.record import Run
from shunter.migrate.moving.steps import V1_JOBS


async def note(client: Client, original: Run, successor: Run, verdict: str, unseen: Sequence[str] = ()) -> str:
    """Notes the verdict, and what was not seen, on the successor, where that is a TrainJob that a plan made of this original (a
    trial is none); cleanup deletes the original because of it. Why it is not noted on a twin that is another's; empty when there
    is nothing to say. ApiError when the twin may not be patched."""
    if successor.kind != TRAIN_JOBS.kind:
        return ""
    try:
        twin = await client.get(TRAIN_JOBS, successor.name, successor.namespace)
    except NotFound:
        return ""
    if not mark(twin, PLAN):
        return ""
    if successor.uid not in ("", twin["metadata"]["uid"]):
        return f"another {successor.title} exists now"
    if mark(twin, SOURCE) != original.title:
        return f"{successor.title} is the twin of {mark(twin, SOURCE)}, not of {original.title or 'a run without a name'}"
    if original.uid and any(uid not in ("", original.uid) for uid in (mark(twin, SOURCE_UID), await _uid_now(client, original))):
        return f"the run is of another {original.title} than {successor.title} is the twin of"
    annotations = {COMPARED: verdict, NOT_SEEN: ", ".join(unseen) or None}
    metadata = {"uid": twin["metadata"]["uid"], "annotations": annotations}
    await client.patch(TRAIN_JOBS, successor.name, successor.namespace, {"metadata": metadata})
    return ""


async def _uid_now(client: Client, original: Run) -> str:
    """The uid of the v1 job of this name, which cleanup would delete; empty when there is none."""
    try:
        return str((await client.get(V1_JOBS[original.kind], original.name, original.namespace))["metadata"]["uid"])
    except NotFound:
        return ""
