"""What blocks a pod, and which of several causes is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shunter.operator.causes.blocked_pod import BlockedPod, age

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_what_never_resolves_itself_is_shown_before_what_follows_from_others() -> None:
    pods = [BlockedPod("worker-0", word, "") for word in ("CrashLoop", "ImagePull", "WaitingForGang", "MissingClaim")]
    assert [pod.word for pod in sorted(pods, key=lambda pod: pod.order)] == [
        "MissingClaim",
        "ImagePull",
        "WaitingForGang",
        "CrashLoop",
    ]


def test_a_cause_without_a_priority_is_an_error() -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        _ = BlockedPod("worker-0", "Other", "").order


def test_a_pod_without_a_time_has_no_age() -> None:
    assert age({"metadata": {"creationTimestamp": "2026-11-21T11:59:00Z"}}, NOW) == timedelta(minutes=1)
    assert age({"metadata": {}}, NOW) == timedelta()
