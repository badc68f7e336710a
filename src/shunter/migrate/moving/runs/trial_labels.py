"""Labels and annotations of the objects of a trial run."""

from __future__ import annotations

from datetime import datetime

import msgspec

from shunter.api.meta import Json, annotations_of
from shunter.operator.overview import moment

TRIAL = "migrate.shunter.dev/trial"
"""Label of every object of a trial run: `true`."""
SOURCE_UID = "migrate.shunter.dev/source-uid"
"""Annotation: the uid of the v1 job, if it was read from a cluster."""
CHANGES = "migrate.shunter.dev/changes"
"""Annotation: the intended differences between the run and the job, as JSON."""
EXPIRES = "migrate.shunter.dev/expires"
"""Annotation: the time after which any `test` or `cleanup` removes the trial, finished or not."""


def is_trial(obj: Json) -> bool:
    """Whether the object belongs to a trial."""
    return bool((obj["metadata"].get("labels") or {}).get(TRIAL) == "true")


def changes(job: Json) -> dict[str, str]:
    """The intended differences between a trial and its job; empty for other jobs."""
    text = annotations_of(job).get(CHANGES)
    try:
        return msgspec.json.decode(text, type=dict[str, str]) if text else {}
    except msgspec.DecodeError:
        return {"unknown": text or ""}


def has_expired(obj: Json, now: datetime) -> bool:
    """Whether the trial has expired; also if its expiry time is missing or invalid."""
    try:
        expires = moment(annotations_of(obj).get(EXPIRES))
    except ValueError:
        return True
    return expires is None or expires <= now
