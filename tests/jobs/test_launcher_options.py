"""Which launchers a command line has, and with which options. More options are in tests/migrate/conversion/commands."""

from __future__ import annotations

import pytest

from shunter.jobs.launcher_options import launchers_in

LINES: dict[str, tuple[tuple[str, ...], list[tuple[str, dict[str, str]]]]] = {
    "words": (("torchrun", "--nnodes", "2", "t.py", "--nnodes", "3"), [("torchrun", {"nnodes": "2"})]),
    "a path and a module": (
        ("/usr/bin/python", "-m", "torch.distributed.launch", "--nproc_per_node=4", "t.py"),
        [("torchrun", {"nproc-per-node": "4"})],
    ),
    "a shell's text": (
        ("sh", "-c", "cd /x && mpirun -n 4 -mca btl tcp torchrun --nn 2 t.py"),
        [("mpirun", {"np": "4", "mca": "btl tcp"}), ("torchrun", {"nnodes": "2"})],
    ),
    "a text in a text": (
        ("bash", "-c", "bash -lc 'accelerate launch --num_machines 2 t.py'"),
        [("accelerate", {"num-machines": "2"})],
    ),
    "a text with an open quote": (("sh", "-c", "torchrun --nnodes=2 it's"), [("torchrun", {"nnodes": "2"})]),
    "an option without its value": (("torchrun", "--nnodes"), [("torchrun", {"nnodes": ""})]),
    "another command of accelerate": (("accelerate", "config", "--num_machines", "2"), []),
    "no launcher": (("python", "train.py", "--nproc-per-node", "4"), []),
}


@pytest.mark.parametrize(("words", "found"), LINES.values(), ids=LINES)
def test_launchers_in(words: tuple[str, ...], found: list[tuple[str, dict[str, str]]]) -> None:
    assert [(one.launcher, dict(one.options)) for one in launchers_in(words)] == found


def test_an_option_is_named_as_it_was_written() -> None:
    (found,) = launchers_in(("mpirun", "--np", "4", "t"))
    assert (found.written["np"], found.number("np"), found.number("H")) == ("--np 4", 4, None)
