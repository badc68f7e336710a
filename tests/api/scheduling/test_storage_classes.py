"""The class of a claim or a volume: the annotation of old goes before the field."""

from __future__ import annotations

import pytest

from shunter.api.scheduling.storage_classes import BETA_CLASS, class_of


@pytest.mark.parametrize(
    ("annotations", "spec", "wanted"),
    [
        ({}, {}, None),
        ({}, {"storageClassName": ""}, ""),
        ({}, {"storageClassName": "fast"}, "fast"),
        ({BETA_CLASS: "slow"}, {"storageClassName": "fast"}, "slow"),
        ({BETA_CLASS: ""}, {"storageClassName": "fast"}, ""),
        ({BETA_CLASS: "slow"}, {}, "slow"),
    ],
)
def test_the_annotation_goes_before_the_field(annotations: dict[str, str], spec: dict[str, str], wanted: str | None) -> None:
    assert class_of({"metadata": {"annotations": annotations}, "spec": spec}) == wanted


def test_metadata_may_have_no_annotations() -> None:
    assert class_of({"metadata": {}, "spec": {"storageClassName": "fast"}}) == "fast"
