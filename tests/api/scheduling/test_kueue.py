"""In which version Kueue's objects are read."""

from __future__ import annotations

import pytest

from shunter.api.scheduling.kueue import newest_version


@pytest.mark.parametrize(
    ("served", "version"),
    [
        ({"kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2", "batch/v1"}, "v1beta2"),
        ({"kueue.x-k8s.io/v1beta1"}, "v1beta1"),
        ({"kueue.x-k8s.io/v1alpha1"}, None),
        ({"batch/v1"}, None),
    ],
    ids=["the newest", "an old Kueue", "one that is too old", "no Kueue"],
)
def test_the_newest_version_that_is_served_and_known_is_taken(served: set[str], version: str | None) -> None:
    assert newest_version(served) == version
