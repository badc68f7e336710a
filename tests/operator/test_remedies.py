"""What to do about errors that say themselves what is wrong."""

from __future__ import annotations

import pytest

from shunter.operator.remedies import remedy_for


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("EOFError: EOF when reading a line", "standard input"),
        ("OSError: [Errno 98] Address already in use", "free port"),
        ("RuntimeError: The server socket has failed to listen: EADDRINUSE", "free port"),
        ("Segmentation fault (core dumped)", "PYTHONFAULTHANDLER"),
        ("exec /train: exec format error", "kubernetes.io/arch"),
        ("OSError: [Errno 24] Too many open files: 'a.bin'", "set_sharing_strategy"),
        ("RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly", "limits.memory"),
        ("RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed. ", "limits.memory"),
        ("BlockingIOError: [Errno 11] Resource temporarily unavailable", "podPidsLimit"),
        ("RuntimeError: can't start new thread", "OMP_NUM_THREADS"),
        ("OSError: [Errno 30] Read-only file system: 'result.csv'", "$SHUNTER_CHECKPOINT_DIR"),
        (
            "RuntimeError: [enforce fail at inline_container.cc:746] . open file failed with strerror: Read-only file system",
            "$SHUNTER_CHECKPOINT_DIR",
        ),
        ("OSError: [Errno 30] Read-only file system: '/data/result.csv'", ""),
        ("mkdir: cannot create directory ‘/workspace/checkpoints/train’: Read-only file system", ""),
        ("ValueError: no", ""),
        ("KeyError: 'EOFError: EOF when reading a line'", ""),
    ],
)
def test_a_known_error_has_a_remedy(message: str, words: str) -> None:
    remedy = remedy_for(message)
    assert words in remedy if words else remedy == ""
