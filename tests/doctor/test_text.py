"""A report as lines of text."""

from __future__ import annotations

from shunter.doctor.text import LONGEST, MOST_EVIDENCE, verdict_lines
from shunter.doctor.verdicts import Excerpt, Verdict


def verdict(*evidence: Excerpt, id: str = "T00", remedy: str = "", victims: tuple[int, ...] = ()) -> Verdict:
    return Verdict(id=id, title="FAILED", cause="no", confidence="certain", evidence=evidence, remedy=remedy, victims=victims)


def test_equal_evidence_is_one_line_with_all_ranks_and_a_source_is_named_once() -> None:
    lines = [*verdict_lines(verdict(*(Excerpt(source="log", text="x", rank=rank) for rank in (0, 1, 2, 5)), Excerpt("log", "y")))]
    assert lines[1:] == ["  log    0-2, 5: x", "         y"]


def test_evidence_of_pods_without_ranks_names_the_pods() -> None:
    lines = [*verdict_lines(verdict(*(Excerpt(source="pod", text="x", pod=f"p-{number}") for number in range(5))))]
    assert lines[1].startswith("  pod    p-0, p-1, p-2")
    assert lines[1].endswith(": x")


def test_long_and_much_evidence_is_cut_and_says_so() -> None:
    many = [Excerpt(source="log", text=f"{number} {'x' * LONGEST}") for number in range(MOST_EVIDENCE + 2)]
    lines = [*verdict_lines(verdict(*many))]
    assert len(lines) == MOST_EVIDENCE + 2
    assert all(line.endswith("...") for line in lines[1:-1])
    assert lines[-1] == "         and 2 more (-o json has all)"


def test_victims_are_those_of_log_rules_without_evidence_of_their_own() -> None:
    own = Excerpt(source="log", text="x", rank=1)
    assert [*verdict_lines(verdict(own, victims=(1, 2)))][-1] == "  then   rank 2 lost its peer"
    assert [*verdict_lines(verdict(own, victims=(2, 3, 4, 5)))][-1] == "  then   ranks 2-5 lost their peer"
    assert len([*verdict_lines(verdict(own, id="K01", victims=(2,)))]) == 2


def test_the_remedy_is_a_sentence_that_is_wrapped() -> None:
    lines = [*verdict_lines(verdict(remedy="raise " + "the limit " * 12))]
    assert lines[1].startswith("  do     Raise the limit")
    assert len(lines) == 3
    assert lines[2].startswith("         limit the")
