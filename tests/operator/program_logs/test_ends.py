"""Why a rank ended, by the last error of its log."""

from __future__ import annotations

import msgspec
import pytest

from doctor import evidences
from job_evidence import NOW
from shunter.api.core import Pod
from shunter.doctor.case import Case
from shunter.jobs.failures import failure_cause
from shunter.operator.pod_places import place
from shunter.operator.program_logs.ends import exception_line, exception_name, reason
from shunter.operator.program_logs.lines import parsed
from shunter.operator.rank_failures import recorded

TORCHRUN = """\
2026-11-25T20:00:00.000000001Z step 1 loss 0.5
2026-11-25T20:00:01.000000002Z [rank1]: Traceback (most recent call last):
2026-11-25T20:00:01.000000002Z [rank1]:   File "/app/train.py", line 9, in work
2026-11-25T20:00:01.000000002Z [rank1]: ValueError: no data
2026-11-25T20:00:01.200000000Z [rank0]: Traceback (most recent call last):
2026-11-25T20:00:01.200000000Z [rank0]: RuntimeError: [1] Connection reset by peer
2026-11-25T20:00:02.000000000Z E1125 20:00:02.0 elastic/api.py:874] failed (exitcode: 1) local_rank: 1
2026-11-25T20:00:02.000000000Z Traceback (most recent call last):
2026-11-25T20:00:02.000000000Z   File "/usr/bin/torchrun", line 8, in <module>
2026-11-25T20:00:02.000000000Z torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
2026-11-25T20:00:02.000000000Z ============================================================
2026-11-25T20:00:02.000000000Z train.py FAILED
"""


def test_under_torchrun_the_reason_is_the_rank_s_own_exception_not_the_summary() -> None:
    found = reason(parsed(TORCHRUN))
    assert found is not None
    assert (found.text, found.rank, found.frames) == ("ValueError: no data", 1, [("/app/train.py", 9, "work")])


def test_a_warning_is_no_error_and_what_went_on_is_no_reason() -> None:
    text = "UserWarning: odd\nTraceback (most recent call last):\nValueError: bad sample\nstep 7 loss 0.1\n"
    assert reason(parsed(text)) is None


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


T = 'Traceback (most recent call last):\n  File "a.py", line 1, in load\n'
BAR = "  12%|#         | 12/100 [00:03<00:30, loss=0.5]"
SHUTDOWN = "ImportError: sys.meta_path is None, Python is likely shutting down"
IGNORED = f"Exception ignored in: <function Loader.__del__ at 0x7f>\n{T}{SHUTDOWN}\n"
REFUSAL = "train.py: error: --lr is missing"


ENDS = [
    (f"{T}ValueError: no data\n{IGNORED}", "ValueError: no data"),
    (f"step 3 loss 0.5\n{IGNORED}bye\n", "bye"),
    (f"{T}jinja2.exceptions.TemplateNotFound: x.html\nclosing files\n", "jinja2.exceptions.TemplateNotFound: x.html"),
    (f"{T}_queue.Empty\n", "_queue.Empty"),
    (f"{T}ValueError: no data\nRuntimeError: Connection reset by peer\n", "ValueError: no data"),
    (f"step 3 loss 0.5\n{T}ValueError: no data\nwandb: Run summary:\nwandb:    train/loss 0.5\n", "ValueError: no data"),
    (f"Epoch 0:{BAR}\r{T}ValueError: no data\nEpoch 0:{BAR}\n", "ValueError: no data"),
    (f"step 3\n{T}ValueError: no data\nstep 4\nsaving\n", "saving"),
    ("step 3\n[rank0]: Traceback (most recent call last):\n[rank0]: ValueError: no data\n", "ValueError: no data"),
    (
        "step 3\ntrain.py: error: --lr is missing\n[W1125 a.cpp] Warning: destroy_process_group\n",
        "train.py: error: --lr is missing",
    ),
    ("reading\n==========\n", "reading"),
]


@pytest.mark.parametrize(("log", "line"), ENDS)
def test_the_line_that_says_why_a_program_ended(log: str, line: str) -> None:
    assert exception_line(log.splitlines()) == line


@pytest.mark.parametrize(("log", "line"), ENDS)
def test_the_record_the_commands_and_the_doctor_say_the_same_of_it(log: str, line: str) -> None:
    pods = [evidences.pod(0, **evidences.ended(1, message=log))]
    evidence = evidences.failed(*pods, logs=(evidences.log(0, log),))
    (ending,) = [one for one in Case(evidence, NOW).endings if one.pod == pods[0]["metadata"]["name"]]
    assert ending.log_error in (line, "")
    (label,) = [place(evidence.job, one).label for one in pods]
    assert line in failure_cause(evidence.job, pods, [], {label: log.splitlines()}).sentence
    _, (new,) = recorded(
        None, [msgspec.convert({"metadata": {"name": "j-0", "uid": "u-0"}, "status": pods[0]["status"]}, Pod)], lambda _: 0
    )
    assert new.failure.message == line


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory", "OutOfMemoryError"),
        ("_queue.Empty", "Empty"),
        ("jinja2.exceptions.TemplateNotFound: x.html", "TemplateNotFound"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("socket.gaierror: [Errno -2] Name or service not known", "gaierror"),
        ("closing files", ""),
        ("train.py: error: --lr is missing", ""),
        ("Epoch: 3", ""),
    ],
)
def test_the_name_of_an_exception(line: str, name: str) -> None:
    assert exception_name(line) == name
