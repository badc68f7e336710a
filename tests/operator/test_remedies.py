"""What to do about errors that say themselves what is wrong."""

from __future__ import annotations

import pytest

from shunter.operator.remedies import remedy_for


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("EOFError: EOF when reading a line", "standard input"),
        ("OSError: [Errno 98] Address already in use", "with hostNetwork, any process on the node"),
        ("RuntimeError: The server socket has failed to listen: EADDRINUSE", "free port"),
        ("Segmentation fault (core dumped)", "PYTHONFAULTHANDLER"),
        ("segmentation fault", "if process 1 of a container aborts, the exit code is the same"),
        ("/bin/bash: line 1:     7 Segmentation fault      (core dumped) python train.py", "PYTHONFAULTHANDLER"),
        ("[node-0:00007] Signal: Segmentation fault (11)", "PYTHONFAULTHANDLER"),
        ("mpirun noticed that process rank 0 with PID 0 on node a exited on signal 11 (Segmentation fault).", "PYTHONFAULT"),
        ("[a:7    :0:7] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))", "PYTHONFAULT"),
        ("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)", "PYTHONFAULTHANDLER"),
        ("/workspace/my run.sh: line 3:     7 Segmentation fault      python train.py", "PYTHONFAULTHANDLER"),
        ("ValueError: no segmentation fault model", ""),
        ("RuntimeError: DataLoader worker (pid 12) is killed by signal: Segmentation fault. ", "num_workers=0"),
        ("RuntimeError: DataLoader worker (pid 12) is killed by signal: Aborted. ", "num_workers=0"),
        ("RuntimeError: DataLoader worker (pid 12) is killed by signal: Terminated. ", ""),
        ("RuntimeError: DataLoader worker (pid 12) exited unexpectedly with exit code 1. Details are lost", ""),
        ("exec /train: exec format error", "kubernetes.io/arch"),
        ("OSError: [Errno 24] Too many open files: 'a.bin'", "set_sharing_strategy"),
        ("RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly", "names its signal"),
        ("RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed. ", "limits.memory"),
        ("BlockingIOError: [Errno 11] Resource temporarily unavailable", "podPidsLimit"),
        ("RuntimeError: can't start new thread", "OMP_NUM_THREADS"),
        ("OSError: [Errno 30] Read-only file system: 'result.csv'", "readOnlyRootFilesystem"),
        (
            "OSError: [Errno 30] Read-only file system: 'out.txt'",
            "Files under $SHUNTER_CHECKPOINT_DIR are kept; /tmp is deleted with the pod",
        ),
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
