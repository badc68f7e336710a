"""A manifest's text with another selector in it: nothing else changes, or nothing at all."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.source.documents import parsed
from shunter.migrate.survey.neighbours.selections import selections
from shunter.migrate.survey.neighbours.selector_texts import NotRewrittenError, with_selectors

NEW: Json = {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": "bert"}}


def rewritten(text: str, new: Json = NEW) -> str:
    (document,) = parsed(text, "policy.yaml")
    (selection,) = selections(document.objects[0])
    return with_selectors(document, [(selection, new)])


def policy(selector: str, after: str = "  minAvailable: 1  # one\n") -> str:
    head = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: x}  # mine\nspec:\n"
    return f"{head}{selector}{after}"


BLOCK = "  selector:\n    matchLabels:\n      training.kubeflow.org/job-name: bert\n"


def test_a_block_is_replaced_and_comments_around_it_stay() -> None:
    new = "  selector:\n    matchLabels:\n      jobset.sigs.k8s.io/jobset-name: bert\n"
    assert rewritten(policy(BLOCK)) == policy(new)


def test_what_is_written_in_a_line_stays_in_one() -> None:
    old = "  selector: {matchLabels: {training.kubeflow.org/job-name: bert}}\n"
    assert rewritten(policy(old)) == policy("  selector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: bert}}\n")


def test_lines_of_windows_stay_lines_of_windows() -> None:
    text = rewritten(policy(BLOCK).replace("\n", "\r\n"))
    assert text.count("\n") == text.count("\r\n")
    assert "jobset-name: bert\r\n" in text


def test_json_stays_json() -> None:
    text = '{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"selector":{"a":"b"}}}'
    assert rewritten(text, {"c": "d"}) == text.replace('{"a":"b"}', '{"c":"d"}')


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (policy(BLOCK.replace("matchLabels:\n", "matchLabels:\n      # which job\n")), "there are comments within the selector"),
        (
            policy("  other: &same\n    matchLabels: {a: b}\n  selector: *same\n").replace("PodDisruptionBudget", "Service"),
            "its text shares parts with others",
        ),
    ],
    ids=["a comment", "an alias"],
)
def test_what_cannot_be_replaced_by_itself_is_left_and_said(text: str, why: str) -> None:
    (document,) = parsed(text, "policy.yaml")
    selection = selections(document.objects[0])[-1]
    with pytest.raises(NotRewrittenError, match=why):
        with_selectors(document, [(selection, NEW)])
