"""Which line of a log says what went wrong."""

import pytest

from shunter.operator.diagnosis import exception_line


@pytest.mark.parametrize(
    "words",
    [
        "/usr/bin/python3: can't open file '/app/trian.py': [Errno 2] No such file or directory",
        "/usr/bin/python3: No module named trian",
    ],
)
def test_a_program_that_torchrun_does_not_find_is_the_headline_and_no_line_of_its_summary(words: str) -> None:
    launcher = [
        "E1126 03:41:13.634000 3 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 2) local_rank: 0 (",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        "============================================================",
        "  error_file: <N/A>",
        "============================================================",
    ]
    assert exception_line([words, *launcher]) == words
    assert exception_line(["reading", *launcher]) == "reading"
    assert not exception_line(launcher[2:]).startswith("=")
    assert exception_line([words, launcher[0], "ValueError: in the run after"]) == "ValueError: in the run after"
