"""Findings stand at the word that they are about, within a text of the job."""

from __future__ import annotations

import pytest

from shunter.migrate.conversion.source.documents import parsed

JOB = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: bert\n"

TEXTS = {
    "a plain text": ("spec:\n  text: run $RANK\n", (6, 13)),
    "a quoted text": ('spec:\n  text: "run $RANK"\n', (6, 14)),
    "a block": ("spec:\n  text: |\n    first\n    run $RANK\n", (8, 9)),
    "a block whose first line is set in": ("spec:\n  text: |2\n      first\n    run $RANK\n", (8, 9)),
    "a block with empty lines": ("spec:\n  text: |-\n\n    first\n\n    run $RANK\n", (10, 9)),
    "a block with Windows' line ends": ("spec:\r\n  text: |\r\n    first\r\n    run $RANK\r\n", (8, 9)),
    "a folded text, which begins somewhere": ("spec:\n  text: >\n    first\n    run $RANK\n", (6, 9)),
    "a text over several lines": ('spec:\n  text: "first\n    run $RANK"\n', (6, 9)),
}


@pytest.mark.parametrize("before", ["", "# another\n---\n"], ids=["a document alone", "the second document"])
@pytest.mark.parametrize(("text", "place"), TEXTS.values(), ids=TEXTS)
def test_word_is_found_at_its_line_and_column(text: str, place: tuple[int, int], before: str) -> None:
    (source,) = [one for document in parsed(before + JOB + text, "job.yaml") for one in document.objects]
    value = source.value["spec"]["text"]
    found = source.place(("spec", "text"), value.index("$RANK"))
    lines = before.count("\n")
    assert (found.line - lines, found.column) == place


def test_word_of_an_object_without_a_text_is_named_by_its_field() -> None:
    (source,) = [one for document in parsed(JOB + "spec: {}\n", "job.yaml") for one in document.objects]
    assert source.place(("spec", "text"), 3) == source.place(("spec", "text"))
