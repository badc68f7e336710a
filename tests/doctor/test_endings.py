"""Why a rank ended, by the last error of its log."""

from __future__ import annotations

from shunter.doctor.endings import reason
from shunter.doctor.lines import errors, parsed

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
    found = reason(errors(parsed(TORCHRUN)))
    assert found is not None
    assert (found.text, found.rank, found.frames) == ("ValueError: no data", 1, [("/app/train.py", 9, "work")])


def test_a_warning_is_no_error_and_what_went_on_is_no_reason() -> None:
    text = "UserWarning: odd\nTraceback (most recent call last):\nValueError: bad sample\nstep 7 loss 0.1\n"
    assert reason(errors(parsed(text))) is None
