"""A rank of a job of another framework than torch, of which rank 1 stops after some steps (`hang`), or fails (`fail`):

faulty_frameworks.py mpi|jax|xgboost|tensorflow|paddle hang|fail
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable

FRAMEWORK, FAULT = sys.argv[1:3]
STEPS = 100_000


def never_returns() -> None:
    time.sleep(600)


def step(rank: int, number: int) -> None:
    """Says that a step is done; in the fourth, rank 1 breaks."""
    print(f"step {number} loss {1 / (number + 1):.3f}", flush=True)
    time.sleep(0.1)
    if rank == 1 and number == 4:
        if FAULT == "fail":
            raise ValueError("no data in shard 7")
        never_returns()


def mpi() -> None:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    for number in range(STEPS):
        world.allreduce(number)
        step(world.Get_rank(), number)


def jax() -> None:
    import jax
    import jax.numpy as jnp

    jax.distributed.initialize(
        coordinator_address=f"{os.environ['COORDINATOR_ADDRESS']}:{os.environ['COORDINATOR_PORT']}",
        num_processes=int(os.environ["NUM_PROCESSES"]),
        process_id=int(os.environ["PROCESS_ID"]),
    )
    total = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")
    ones = jnp.ones((jax.local_device_count(),))
    for number in range(STEPS):
        assert float(total(ones)[0]) == jax.device_count()
        step(jax.process_index(), number)


def xgboost() -> None:
    import numpy
    import xgboost
    from xgboost import collective
    from xgboost.tracker import RabitTracker

    rank, size, port = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
    if rank == 0:
        own = socket.gethostbyname(socket.gethostname())
        tracker = RabitTracker(n_workers=size, host_ip=own, port=port, sortby="task")
        tracker.start()
    else:
        own = _address(os.environ["MASTER_ADDR"])

    class Steps(xgboost.callback.TrainingCallback):
        def after_iteration(self, model: object, epoch: int, evals_log: object) -> bool:
            step(rank, epoch)
            return False

    with collective.CommunicatorContext(dmlc_tracker_uri=own, dmlc_tracker_port=port, dmlc_task_id=str(rank), dmlc_retry=20):
        x = numpy.random.default_rng(rank).random((500, 3))
        data = xgboost.DMatrix(x, label=x.sum(axis=1))
        xgboost.train({"nthread": 1}, data, STEPS, callbacks=[Steps()])


def _address(host: str) -> str:
    while True:
        try:
            return socket.gethostbyname(host)
        except OSError:
            time.sleep(0.2)


def tensorflow() -> None:
    import tensorflow as tf  # type: ignore[import-untyped]

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]

    @tf.function  # type: ignore[untyped-decorator]
    def total(x: object) -> object:
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(lambda x: x, args=(x,)), axis=None)

    for number in range(STEPS):
        total(tf.constant(1.0))
        step(rank, number)


def paddle() -> None:
    import paddle
    import paddle.distributed as dist

    paddle.set_device("cpu")
    dist.init_parallel_env()
    for number in range(STEPS):
        dist.all_reduce(paddle.to_tensor([1.0]))
        step(dist.get_rank(), number)


PROGRAMS: dict[str, Callable[[], None]] = {
    "mpi": mpi, "jax": jax, "xgboost": xgboost, "tensorflow": tensorflow, "paddle": paddle,
}  # fmt: skip

if __name__ == "__main__":
    PROGRAMS[FRAMEWORK]()
