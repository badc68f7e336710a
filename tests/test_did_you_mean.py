"""Suggestions for words that are not known."""

from __future__ import annotations

import pytest

from shunter.did_you_mean import did_you_mean, nearest


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("PyTorchJbo", ["TFJob", "PyTorchJob"], ["PyTorchJob"]),
        ("PYTORCHJOB", ["TFJob", "PyTorchJob"], ["PyTorchJob"]),
        ("restart_policy", ["restartPolicy", "schedulerName"], ["restartPolicy"]),
        ("tolerances", ["nodeSelector"], []),
    ],
    ids=["misspelt", "in another case", "as another language writes it", "nothing like it"],
)
def test_what_is_nearly_the_word_is_found(word: str, known: list[str], found: list[str]) -> None:
    assert nearest(word, known) == found


@pytest.mark.parametrize(
    ("names", "text"),
    [(["a"], "Did you mean a?"), (["a", "b", "c", "d"], "Did you mean a or b or c?"), ([], "There are e, f.")],
)
def test_a_suggestion_offers_three_names_at_most(names: list[str], text: str) -> None:
    assert did_you_mean(names, "There are e, f.") == text
