"""Where a rank stands and in which call it waits, in words. Pure."""

from __future__ import annotations

from shunter.doctor.evidence import Frame
from shunter.doctor.waiting import INNERMOST, Rank, has_ended


def position_text(rank: Rank) -> str:
    """Where a rank is that others wait for, as `its own code: load (train.py:9)`."""
    if rank.is_stopped:
        return f"stopped by a signal{f' in {frame_text(rank.place)}' if rank.place is not None else ''}"
    if has_ended(rank):
        return f"the end of the program{f': {frame_text(rank.place)}' if rank.place is not None else ''}"
    places = {"data": "DataLoader", "rendezvous": "the rendezvous", "starting": "an import"}
    what = places.get(rank.doing, "its own code")
    return f"{what}: {frame_text(rank.place)}" if rank.place is not None else what


def read_at(rank: Rank) -> str:
    """The remedy for a rank that others wait for: which line to read; empty if no line of the program is known."""
    if rank.is_stopped:
        return "Find out what stopped it (SIGSTOP, a debugger, a profiler), and resume it: kill -CONT in its container."
    frame = rank.place
    return f"Read {frame.file.rsplit('/', 1)[-1]}:{frame.line} on rank {rank.rank}." if frame is not None else ""


def call(rank: Rank) -> str:
    """What a rank waits in, as `all_reduce, called from main (train.py:55)`."""
    if rank.spins:
        at = frame_text(rank.place) if rank.place is not None else rank.last.frames[0].function
        what = "in a call of MPI" if rank.last.uses_mpi else "for its GPU"
        return f"{at}, running all the time, like a rank that waits {what}"
    return f"{collective(rank)}{called(rank)}"


def collective(rank: Rank) -> str:
    """The call in which a rank waits, as `all_reduce`."""
    frames = rank.last.frames
    if any(frame.function == "_engine_run_backward" for frame in frames[:INNERMOST]):
        return "backward of the autograd engine"
    names = (frame.function for frame in frames[:INNERMOST] if "distributed_c10d" in frame.file and frame.function != "wrapper")
    return next(names, "") or ("the rendezvous" if rank.doing == "rendezvous" else frames[0].function)


def called(rank: Rank) -> str:
    """`, called from main (train.py:55)`, to append to a call; empty if no line of the program is known."""
    found = rank.place
    return f", called from {frame_text(found)}" if found is not None else ""


def frame_text(frame: Frame) -> str:
    """`load (train.py:9)`: the function, and the file without its directories."""
    return f"{frame.function} ({frame.file.rsplit('/', 1)[-1]}:{frame.line})"
