"""The class of a claim or a volume: the annotation of old goes before the field; and which class is the default."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shunter.api.meta import ObjectMeta
from shunter.api.scheduling.storage_classes import BETA_CLASS, DEFAULT_MARKS, class_of, default_class


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


def _made(name: str, day: int, mark: str = "", value: str = "true") -> ObjectMeta:
    marks = {mark: value} if mark else {}
    return ObjectMeta(name=name, creation_timestamp=datetime(2026, 11, day, tzinfo=UTC), annotations=marks)


@pytest.mark.parametrize("mark", DEFAULT_MARKS)
def test_the_default_class_is_the_newest_that_is_marked(mark: str) -> None:
    classes = [_made("new", 21, mark), _made("other", 22), _made("no", 23, mark, "false"), _made("old", 20, mark)]
    assert default_class(classes) == "new"
    assert default_class([]) == ""


def test_of_two_default_classes_of_one_second_the_first_by_name_counts() -> None:
    assert default_class([_made(name, 21, DEFAULT_MARKS[0]) for name in ("b", "a", "c")]) == "a"
