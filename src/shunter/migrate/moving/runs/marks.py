"""Labels and annotations of the objects of a trial run: what they are, and when they may be removed."""

from __future__ import annotations

from datetime import datetime

import msgspec

from shunter.api.meta import Json, annotations_of
from shunter.operator.overview import moment

TRIAL = "migrate.shunter.dev/trial"
"""Label of every object of a trial run: `true`."""
SOURCE_UID = "migrate.shunter.dev/source-uid"
"""Annotation: the v1 job's, when it was read from a cluster."""
CHANGES = "migrate.shunter.dev/changes"
"""Annotation: how the run differs from the job on purpose, as JSON."""
EXPIRES = "migrate.shunter.dev/expires"
"""Annotation: from when on anybody's `test` or `cleanup` removes the trial, finished or not."""


def is_trial(obj: Json) -> bool:
    """Whether it was made for a trial: the TrainJob, and what was made beside it."""
    return bool((obj["metadata"].get("labels") or {}).get(TRIAL) == "true")


def changes(job: Json) -> dict[str, str]:
    """How the trial run differs from the job on purpose; empty for jobs that are none."""
    text = annotations_of(job).get(CHANGES)
    try:
        return msgspec.json.decode(text, type=dict[str, str]) if text else {}
    except msgspec.DecodeError:
        return {"unknown": text or ""}


def has_expired(obj: Json, now: datetime) -> bool:
    """Whether nobody needs the trial any more; one whose time cannot be read is as good as expired."""
    try:
        expires = moment(annotations_of(obj).get(EXPIRES))
    except ValueError:
        return True
    return expires is None or expires <= now
