"""A report as lines of text; what it says of a job without a verdict, by what could not be checked."""

from __future__ import annotations

import pytest

from doctor.evidences import log, pod, runs, seen
from job_evidence import NOW, ago, v1_job
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import NO_EXEC, Evidence, Missing
from shunter.doctor.text import LONGEST, MOST_EVIDENCE, report_lines, verdict_lines
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


RUNNING = [{"type": "Running", "status": "True", "reason": "JobRunning", "message": ""}]
STEPS = ("step 1 loss 0.5", "step 2 loss 0.4", "step 3 loss 0.3")
UNDECIDED = "undecided: no problem found, but what would show one was not checked"
CHECKED = "no problem found in what was checked"
OF_STACKS = "not checked: stacks (--no-exec): {} cannot be judged"


def running(*missing: str, silent: float, workers: int = 2) -> Evidence:
    """Of a job whose ranks wrote a line each second, until `silent` seconds ago; the sources of these names were not read."""
    ranks = range(workers + 1)
    return seen(
        *(pod(rank, **runs()) for rank in ranks),
        job=v1_job(workers, conditions=RUNNING),
        logs=() if "logs" in missing else tuple(log(rank, *STEPS, at=silent, every=1.0) for rank in ranks),
        missing=tuple(Missing(what=what, why=NO_EXEC, is_refused=False) for what in missing),
    )


@pytest.mark.parametrize(
    ("evidence", "lines", "code"),
    [
        (running(silent=40), ["no problem found"], 0),
        (running("stacks", silent=40), [UNDECIDED, OF_STACKS.format("H01, H02, H03, H05 and S01")], 3),
        (running("stacks", silent=2), [CHECKED, OF_STACKS.format("S01")], 0),
        (running("stacks", silent=2, workers=0), ["no problem found"], 0),
        (running("metrics", silent=40), ["no problem found"], 0),
        (running("metrics", silent=130), [UNDECIDED, "not checked: metrics (--no-exec): S02 cannot be judged"], 3),
        (running("flight recorder", silent=2), [CHECKED, "not checked: flight recorder (--no-exec): H04 cannot be judged"], 0),
    ],
    ids=[
        "all was checked",
        "silent, without stacks",
        "it writes, without stacks",
        "one rank that writes, without stacks",
        "silent for less than a rule takes, without metrics",
        "silent, without metrics",
        "it writes, without recorders",
    ],
)
def test_no_problem_found_stands_alone_only_if_all_was_checked(evidence: Evidence, lines: list[str], code: int) -> None:
    """With py-spy missing in an image, a hung job was reported as `no problem found`, with exit code 0."""
    report = diagnose(evidence, NOW)
    assert (list(report_lines(report))[1:], report.exit_code) == (lines, code)


def test_a_job_that_writes_without_logs_that_may_be_read_is_undecided() -> None:
    report = diagnose(running("stacks", "logs", silent=2), NOW)
    assert (list(report_lines(report))[1], report.exit_code) == (UNDECIDED, 3)


def test_a_failure_from_which_the_job_has_recovered_is_mentioned() -> None:
    evidence = running(silent=2)
    failure = {"rank": 1, "pod": "gone", "container": "pytorch", "reason": "OOMKilled", "exitCode": 137, "time": ago(300)}
    evidence.job["status"]["rankFailures"] = {"count": 1, "last": [failure]}
    report = diagnose(evidence, NOW)
    assert list(report_lines(report))[1:] == ["no problem found", "failed before: 1 (rank 1 OOMKilled, 5m ago)"]
    assert report.exit_code == 0
