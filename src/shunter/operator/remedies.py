"""What to do about an error that says itself what is wrong, however its rank ended. Pure."""

from __future__ import annotations

import re

OTHER_PROCESSOR = (
    "The image is built for another CPU architecture than the node's: use an image for that one, "
    "or select nodes by kubernetes.io/arch."
)
_REMEDIES = (
    (
        re.compile(r"^(?!.*['\"‘]/).*Read-only file system"),
        (
            "Write to another path: with readOnlyRootFilesystem only volumes are writable, and on the embedded cluster shunter "
            "run mounts the program's directory read-only. Files under $SHUNTER_CHECKPOINT_DIR are kept; /tmp is deleted with "
            "the pod."
        ),
    ),
    (
        re.compile(r"^EOFError: EOF when reading a line$"),
        "It reads standard input, which pods do not have: pass what it asks for as arguments, after --, or in variables.",
    ),
    (
        re.compile(r"Address already in use|EADDRINUSE|\[Errno 98\]"),
        (
            "Another process already listens at that port (with hostNetwork, any process on the node). Give each rank a free "
            "port for its own servers, and leave MASTER_PORT to the process group."
        ),
    ),
    (
        # As the kernel, a shell (`bash: line 1: 7 Segmentation fault`), Open MPI (`[host:7] Signal: ...`, and mpirun), UCX and
        # Hydra write it.
        re.compile(
            r"^(?:.+: line \d+:\s+\d+ |\[\S+\] Signal: |.* EXIT STRING: )?segmentation fault\b|signal 11 \(segmentation fault\b",
            re.IGNORECASE,
        ),
        (
            "A library crashed or aborted in native code (if process 1 of a container aborts, the exit code is the same). Run "
            "it with -e PYTHONFAULTHANDLER=1: the log then shows the Python line."
        ),
    ),
    (re.compile(r"exec format error$"), OTHER_PROCESSOR),
    (
        re.compile(r"^OSError: \[Errno 24\]|Too many open files"),
        "Close files after use; for tensors of DataLoader workers: torch.multiprocessing.set_sharing_strategy('file_system').",
    ),
    (
        re.compile(
            r"BlockingIOError: \[Errno 11\] Resource temporarily unavailable|can't start new thread|pthread_create failed"
        ),
        (
            "The limit of processes and threads is reached: that of the pod (podPidsLimit of the kubelet), or that of the user "
            "(ulimit -u). Lower num_workers and OMP_NUM_THREADS, or look for processes that never end."
        ),
    ),
    (
        re.compile(r"DataLoader worker \(pid.*\) is killed by signal: Killed"),
        "A process that loads data was killed, usually for lack of memory: raise resources.limits.memory, or lower num_workers.",
    ),
    (
        re.compile(r"DataLoader worker \(pid.*\) is killed by signal: (?:Segmentation fault|Aborted|Floating point exception)"),
        (
            "A library crashed in native code in a process that loads data. Run it with num_workers=0 and "
            "-e PYTHONFAULTHANDLER=1: the log then shows the Python line."
        ),
    ),
    (
        re.compile(r"DataLoader worker \(pid.*\) exited unexpectedly$"),
        (
            "A process that loads data ended: the exception before this one names its signal. Killed is usually for lack of "
            "memory: raise resources.limits.memory, or lower num_workers."
        ),
    ),
)


def remedy_for(message: str) -> str:
    """The remedy for an exception or refusal of one line; empty for one that is not known."""
    return next((remedy for pattern, remedy in _REMEDIES if pattern.search(message)), "")
