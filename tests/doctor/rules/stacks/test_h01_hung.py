"""Ranks that wait for their GPUs, in C and on a CPU, where stacks do not show it; and computations that look nearly the same."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from doctor.evidences import log, traceback
from doctor.working_ranks import COMPUTES, IN_CALL, RESTS, WAITS, WORKER, Work, found
from shunter.doctor.evidence import Frame, Log


def test_a_rank_that_rests_while_the_others_wait_for_their_gpus_is_named() -> None:
    (verdict,) = found(WAITS, RESTS, WAITS)
    assert (verdict.id, verdict.ranks, verdict.victims, verdict.confidence) == ("H01", (1,), (0, 2), "likely")


@pytest.mark.parametrize(
    ("works", "why"),
    [
        ((WAITS, RESTS), "one that runs may compute what the other waits for"),
        ((WAITS._replace(uses_cuda=None), RESTS, WAITS._replace(uses_cuda=None)), "whether they use CUDA is not known"),
    ],
    ids=["two ranks", "CUDA unknown"],
)
def test_what_may_be_a_computation_is_only_possible(works: tuple[Work, ...], why: str) -> None:
    (verdict,) = found(*works)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("H01", (1,), "possible"), why


SAVE = (
    Frame(function="save", file="torch/serialization.py", line=9),
    Frame(function="train", file="train.py", line=20, is_own=True),
)
COMPILE = (
    Frame(function="wait", file="threading.py", line=9),
    Frame(function="result", file="concurrent/futures/_base.py", line=9),
    Frame(function="wait", file="torch/_inductor/async_compile.py", line=9),
    Frame(function="train", file="train.py", line=20, is_own=True),
)


def test_an_exception_of_a_thread_is_shown_with_the_rank_that_the_others_wait_for() -> None:
    raised = ("step 1 loss 0.5", "Exception in thread Thread-3:", traceback("ValueError: bad shard"))
    logs = [log(0, "step 1 loss 0.5", at=40), log(1, *raised, at=40), log(2, "step 1 loss 0.5", at=40)]
    (verdict,) = found(IN_CALL, RESTS, IN_CALL, logs=logs)
    assert (verdict.id, verdict.ranks) == ("H01", (1,))
    assert [(one.text, one.rank) for one in verdict.evidence][-1] == ("ValueError: bad shard", 1)


def test_a_rank_that_a_signal_has_stopped_is_named_wherever_it_stood() -> None:
    (verdict,) = found(IN_CALL, IN_CALL._replace(state="T"), IN_CALL)
    assert (verdict.id, verdict.ranks, verdict.victims, verdict.confidence) == ("H01", (1,), (0, 2), "likely")
    assert verdict.evidence[0].text.startswith("stopped by a signal in train (train.py:70)")
    assert "kill -CONT" in verdict.remedy


@pytest.mark.parametrize("waits", [WAITS, IN_CALL], ids=["for their GPUs", "in a collective"])
@pytest.mark.parametrize(
    ("work", "children", "confidence"),
    [
        (RESTS, (), "likely"),
        (RESTS, (WORKER,), "likely"),
        (RESTS._replace(switches=400), (), "possible"),
        (RESTS._replace(cpu=0.6), (), "possible"),
        (RESTS._replace(frames=SAVE), (), "possible"),
        (RESTS._replace(frames=COMPILE), (), "possible"),
        (RESTS, (WORKER, WORKER._replace(state="R", cpu=4.0)), "possible"),
        (RESTS, (WORKER._replace(state="D"),), "possible"),
    ],
    ids=["rests", "idle workers", "downloads", "uses its CPU a little", "saves", "compiles", "a busy grandchild", "reads a disk"],
)
def test_of_a_rank_that_may_go_on_by_itself_a_hang_is_only_possible(
    waits: Work, work: Work, children: tuple[Work, ...], confidence: str
) -> None:
    """A healthy job looks so while one rank evaluates, saves, compiles or downloads alone."""
    (verdict,) = found(waits, work._replace(children=children), waits)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("H01", (1,), confidence)
    assert verdict.cause.endswith(": busy or stuck") is (confidence == "possible")


MONITOR = Work(line=0, state="S", cpu=0.02, switches=6, uses_cuda=None, program="wandb-core")
COPIES = Work(line=0, state="S", cpu=0.15, switches=400, uses_cuda=None, program="rclone copy")
SHELL = Work(line=0, state="S", cpu=0.0, uses_cuda=None, program="sh")
SERVES = (
    Frame(function="select", file="selectors.py", line=415),
    Frame(function="<module>", file="bin/tensorboard", line=8),
)
TENSORBOARD = WORKER._replace(frames=SERVES, program="", switches=30)


@pytest.mark.parametrize(
    ("children", "confidence"),
    [
        pytest.param((MONITOR,), "likely", id="a monitor"),
        pytest.param((WORKER, MONITOR), "likely", id="a monitor of a worker"),
        pytest.param((MONITOR, SHELL, COPIES), "likely", id="a program of a monitor"),
        pytest.param((TENSORBOARD,), "likely", id="a monitor in Python"),
        pytest.param((COPIES,), "possible", id="a download"),
        pytest.param((SHELL, COPIES), "possible", id="by a shell"),
        pytest.param((WORKER, COPIES), "possible", id="by a worker"),
        pytest.param((COPIES._replace(switches=1),), "likely", id="a program that rests"),
        pytest.param((MONITOR._replace(cpu=0.6),), "possible", id="a monitor that works"),
        pytest.param((MONITOR._replace(state="D"),), "possible", id="a monitor that uses a disk"),
    ],
)
def test_of_a_monitor_it_does_not_count_that_it_wakes(children: tuple[Work, ...], confidence: str) -> None:
    """A rank that waits for a program may rest in its own frame (os.system, a pipe). wandb-core, which runs as long as the rank,
    made every hang only possible."""
    (verdict,) = found(IN_CALL, RESTS._replace(children=children), IN_CALL)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("H01", (1,), confidence)
    assert verdict.title == ("HUNG" if confidence == "likely" else "MAY BE HUNG")


@pytest.mark.parametrize(
    ("program", "confidence"),
    [
        ("/usr/bin/nvidia-smi dmon -s u", "likely"),
        ("wandb-service(2-41-s-5151)", "likely"),
        ("dcgmi dmon", "likely"),
        ("dcgm-exporter", "likely"),
        ("rocm-smi", "likely"),
        ("fluent-bit", "likely"),
        ("filebeat", "likely"),
        ("wandb sync", "possible"),
        ("aws s3", "possible"),
        ("curl", "possible"),
    ],
)
def test_monitors_are_known_by_their_names(program: str, confidence: str) -> None:
    (verdict,) = found(IN_CALL, RESTS._replace(children=(MONITOR._replace(program=program),)), IN_CALL)
    assert (verdict.id, verdict.confidence) == ("H01", confidence)


def test_of_a_program_that_the_rank_started_only_the_name_is_shown() -> None:
    """The line of a recording from before 2026-11-29 has the password."""
    copies = Work(line=0, state="S", cpu=0.0, frames=(), program="sshpass -p hunter2secret rsync -a /ckpt me@host:/b")
    (verdict,) = found(IN_CALL, RESTS._replace(children=(copies,)), IN_CALL)
    assert [one.text for one in verdict.evidence if "child process" in one.text] == ["its child process 2: sshpass"]


def test_a_rank_that_evaluates_alone_on_its_gpu_is_only_possibly_stuck() -> None:
    (verdict,) = found(COMPUTES, IN_CALL, IN_CALL)
    cause = "rank 0 does not take part in the collective in which ranks 1 and 2 wait: busy or stuck"
    assert (verdict.id, verdict.ranks, verdict.confidence, verdict.cause) == ("H01", (0,), "possible", cause)


NOBODY: dict[str, tuple[Work, ...]] = {
    "none uses CUDA": (WAITS._replace(uses_cuda=False), RESTS, WAITS._replace(uses_cuda=False)),
    "one prepares data on its CPU while the others wait for their GPUs": (WAITS, COMPUTES, WAITS),
    "one prepares data on its CPU, at several lines": (WAITS, COMPUTES._replace(next_line=21), WAITS),
    "one prepares data on its CPU while the others rest": (COMPUTES, RESTS, RESTS),
    "one prepares data on its CPU while the others compute": (COMPUTES, Work(line=30), Work(line=31)),
    "those that run are at different lines": (WAITS, RESTS, COMPUTES),
    "one that runs goes on": (WAITS, RESTS, WAITS._replace(next_line=67)),
    "those that run give up their CPUs now and then": (WAITS._replace(switches=20), RESTS, WAITS._replace(switches=20)),
    "those that run rest half the time": (WAITS._replace(cpu=2.5), RESTS, WAITS._replace(cpu=2.5)),
    "the one that others may wait for reads a disk": (WAITS, RESTS._replace(state="D"), WAITS),
    "all wait for their GPUs": (WAITS, WAITS, WAITS),
    "all rest": (RESTS, RESTS, RESTS),
}


@pytest.mark.parametrize("works", NOBODY.values(), ids=list(NOBODY))
def test_nobody_is_accused(works: tuple[Work, ...]) -> None:
    assert found(*works) == []


def test_nobody_is_accused_before_the_ranks_have_been_silent_for_long() -> None:
    assert found(WAITS, RESTS, WAITS, silent=9.0) == []


EVERY = 600.0
TABLE = [f"| layer {number} | 1.0 |" for number in range(60)]


def steps(rank: int, number: int, *, silent: float, last: Sequence[str] = ()) -> Log:
    """A log with a step each ten minutes, the latest that many seconds ago, and these lines with it."""
    written = log(rank, *(f"step {step} loss 0.5" for step in range(number)), at=silent - EVERY, every=EVERY)
    return msgspec.structs.replace(written, text=written.text + log(rank, *last, at=silent).text)


@pytest.mark.parametrize(
    ("number", "last"),
    [(2, ()), (3, ()), (51, ()), (52, ()), (8, TABLE), (2, ["W1123 11:59:20.0 torch: retrying"] * 60)],
    ids=["two lines", "three", "51", "52", "a table at the end", "warnings at the end"],
)
def test_ranks_that_seldom_write_have_not_been_silent_for_long(number: int, last: Sequence[str]) -> None:
    works = (IN_CALL, RESTS, IN_CALL)
    assert found(*works, logs=[steps(rank, number, silent=40, last=last) for rank in range(3)]) == []
    (verdict,) = found(*works, logs=[steps(rank, number, silent=3.1 * EVERY, last=last) for rank in range(3)])
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("H01", (1,), "likely")


IMPORT = (
    Frame(function="accept", file="socket.py", line=294),
    Frame(function="<module>", file="settings.py", line=2, is_own=True),
    Frame(function="_find_and_load", file="<frozen importlib._bootstrap>", line=1176),
    Frame(function="<module>", file="train.py", line=1, is_own=True),
)
JOINS = (
    Frame(function="_create_c10d_store", file="torch/distributed/rendezvous.py", line=215),
    Frame(function="<module>", file="train.py", line=9, is_own=True),
)
STUCK = Work(line=2, state="S", cpu=0.0, frames=IMPORT, uses_cuda=False)
IN_RENDEZVOUS = Work(line=9, state="S", cpu=0.0, frames=JOINS)


def test_a_rank_that_rests_in_an_import_minutes_after_its_start_is_named_with_the_line() -> None:
    """An import that waits for a server or a lock for ever got no verdict."""
    (verdict,) = found(IN_RENDEZVOUS, STUCK, IN_RENDEZVOUS, age=301)
    assert (verdict.id, verdict.ranks, verdict.victims, verdict.confidence) == ("H01", (1,), (0, 2), "possible")
    assert verdict.cause == "rank 1 does not join the rendezvous in which ranks 0 and 2 wait"
    assert verdict.evidence[0].text.startswith("an import: <module> (settings.py:2)")
    assert verdict.remedy == "Read settings.py:2 on rank 1."


@pytest.mark.parametrize(
    ("work", "age"),
    [
        (STUCK, 299),
        (STUCK._replace(state="D"), 400),
        (STUCK._replace(state="R", cpu=5.0), 400),
        (STUCK._replace(switches=50), 400),
        (STUCK._replace(children=(Work(line=1, state="R"),)), 400),
    ],
    ids=["it has only just started", "it reads a disk", "it computes", "it wakes often", "its child computes: a compiler"],
)
def test_a_rank_whose_import_may_go_on_is_not_named(work: Work, age: float) -> None:
    assert found(IN_RENDEZVOUS, work, IN_RENDEZVOUS, age=age) == []


def test_ranks_that_all_rest_in_an_import_are_silent() -> None:
    (verdict,) = found(STUCK, STUCK, silent=130)
    assert (verdict.id, verdict.confidence, verdict.remedy) == ("S02", "possible", "Read settings.py:2 on rank 0.")
