"""What is said of a finding by its id."""

from __future__ import annotations

import pytest

from shunter.errors import InputError
from shunter.migrate.catalogue import topics
from shunter.migrate.survey.explaining import topics as topic_texts


@pytest.mark.parametrize("id", topics())
def test_every_topic_says_what_to_do(id: str) -> None:
    said = dict(topic_texts.lines(topics()[id]))
    assert said[""].startswith(f"{id}: ")
    assert said["What"]
    assert said["Remedy"]
    assert topics()[id].effort in topic_texts.EFFORTS


def test_an_unknown_id_names_those_that_are_close() -> None:
    with pytest.raises(InputError, match=r"RESTART01.*RESTART001"):
        topic_texts.topic_of("RESTART01")


def test_ids_may_be_written_small() -> None:
    assert topic_texts.topic_of("restart001").id == "RESTART001"
