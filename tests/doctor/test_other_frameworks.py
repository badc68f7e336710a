"""Ranks of other frameworks than torch: their stacks, as py-spy showed them of real processes that waited for a rank."""

from __future__ import annotations

import msgspec
import pytest

from doctor.working_ranks import RESTS, SECONDS, WAITS, Work, found
from shunter.doctor import stacks
from shunter.doctor.evidence import Frame

OWN = (Frame(function="train", file="train.py", line=80, is_own=True),)
INSIDE = {
    "XGBoost": (("Booster.update", "xgboost/core.py"), ("train", "xgboost/training.py")),
    "JAX": (("pmap.<locals>.wrapped", "jax/_src/pmap.py"),),
    "TensorFlow": (("quick_execute", "tensorflow/python/eager/execute.py"), ("Function._call", "tensorflow/python/eager/x.py")),
    "Paddle": (("all_reduce", "paddle/distributed/communication/stream/all_reduce.py"),),
}


def inside(framework: str) -> Work:
    """A rank that rests in a call of the framework."""
    frames = tuple(Frame(function=function, file=file, line=9) for function, file in INSIDE[framework])
    return Work(line=0, state="S", cpu=0.01, uses_cuda=False, frames=(*frames, *OWN))


@pytest.mark.parametrize("framework", INSIDE)
def test_a_rank_that_rests_in_its_framework_waits_for_the_one_that_does_not_come(framework: str) -> None:
    (verdict,) = found(inside(framework), RESTS)
    assert (verdict.id, verdict.ranks, verdict.victims, verdict.confidence) == ("H01", (1,), (0,), "likely")


@pytest.mark.parametrize("framework", ["XGBoost", "JAX", "TensorFlow"])
def test_a_rank_that_computes_in_its_framework_waits_for_nobody(framework: str) -> None:
    computes = inside(framework)._replace(state="R", cpu=SECONDS)
    for other in (RESTS, computes):
        assert found(computes, other) == []
    in_threads = inside(framework)._replace(cpu=3 * SECONDS)
    assert found(in_threads, RESTS) == []


@pytest.mark.parametrize("framework", INSIDE)
def test_that_all_rest_in_their_framework_is_only_possibly_a_hang(framework: str) -> None:
    (verdict,) = found(inside(framework), inside(framework))
    assert (verdict.id, verdict.confidence) == ("H03", "possible")


IN_MPI = WAITS._replace(uses_cuda=False, uses_mpi=True)


def test_a_rank_that_rests_while_the_others_ask_for_messages_may_be_stuck() -> None:
    """The others may as well compute at one line, and the rank wait for them in an MPI that sleeps."""
    (verdict,) = found(IN_MPI, RESTS, IN_MPI)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("H01", (1,), "possible")
    assert verdict.cause == "rank 1 does not go on while ranks 0 and 2 apparently wait in calls of MPI"
    assert any("like a rank that waits in a call of MPI" in one.text for one in verdict.evidence)
    (verdict,) = found(IN_MPI, RESTS)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("H01", (1,), "possible")


@pytest.mark.parametrize(("cpu", "confidence"), [(SECONDS, "likely"), (0.5 * SECONDS, "possible")], ids=["unbroken", "broken"])
def test_ranks_of_mpi_that_use_cuda_wait_for_their_gpus_only_if_they_never_rest(cpu: float, confidence: str) -> None:
    spins = IN_MPI._replace(uses_cuda=True, cpu=cpu)
    (verdict,) = found(spins, RESTS, spins)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("H01", (1,), confidence)


def test_a_rank_that_does_not_come_to_a_call_of_mpi_that_its_stack_shows_is_named() -> None:
    frames = (Frame(function="Allreduce", file="mpi4py/MPI.pyx", line=9), *OWN)
    (verdict,) = found(IN_MPI._replace(frames=frames), RESTS)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("H01", (1,), "likely")


def test_ranks_of_mpi_that_share_a_cpu_wait_all_the_same() -> None:
    shares = IN_MPI._replace(cpu=0.3 * SECONDS)
    (verdict,) = found(shares, RESTS, shares)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("H01", (1,), "possible")
    assert found(shares._replace(switches=500), RESTS, shares._replace(switches=500)) == []


def test_ranks_that_compute_with_mpi_wait_for_nobody() -> None:
    assert found(IN_MPI, IN_MPI, IN_MPI) == []
    elsewhere = IN_MPI._replace(next_line=67)
    assert found(elsewhere, RESTS, elsewhere) == []


def test_a_process_that_has_loaded_mpi_is_known() -> None:
    output = "H 100 none\nP 7 1 R 10 3\nE OMPI_COMM_WORLD_RANK=1\nG 0\nM 1\nC python train.py\nP 8 7 S 1 1\nG 0\n"
    first, second = stacks.container_sample("p", "c", output).processes
    assert (first.rank, first.uses_mpi, first.uses_cuda, second.uses_mpi) == (1, True, False, False)
    assert b"usesMpi" not in msgspec.json.encode(second)
