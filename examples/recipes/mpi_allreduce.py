"""Trains with MPI: each process computes a gradient on its part of the data, an allreduce adds them up. Horovod's way, by hand.

    python mpi_allreduce.py                                                            # one process
    mpirun -n 2 python mpi_allreduce.py --checkpoint-dir /tmp/mpi
    shunter run mpi_allreduce.py --runtime deepspeed-distributed --nodes 2 --procs 4

Line by line beside the same with DDP: docs/training/recipes.md. mpirun gives its processes no time to save when a job is stopped:
what was trained since the last checkpoint is trained again, so --save-every is what you are ready to lose.
"""

import argparse
import contextlib
import functools
import os
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
from mpi4py import MPI


class Silent:
    """Stands in for progress.py where that is missing, and on all ranks but the one that reports."""

    def nothing(self, *_, **__): ...

    __init__ = report = checkpoint = close = nothing


Progress = Silent
with contextlib.suppress(ImportError):
    from progress import Progress  # a file beside this one: shows in `shunter jobs`

parser = argparse.ArgumentParser(allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--global-batch", type=int, default=60, help="samples per step, over all ranks")
parser.add_argument("--lr", type=float, default=0.5, help="learning rate")
parser.add_argument("--checkpoint-dir", default=os.environ.get("SHUNTER_CHECKPOINT_DIR"), help="a directory that all nodes share")
parser.add_argument("--save-every", type=int, default=50, help="steps between checkpoints")

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()


def say(line):
    if rank == 0:
        print(line, flush=True)


def exit_code(error):
    """2 for wrong input, with which a job of shunter-torch is not restarted; 1 for a disk or a network that failed."""
    wrong = FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError, IsADirectoryError
    cause = error.__cause__ or error
    return 1 if isinstance(cause, OSError) and not isinstance(cause, wrong) else 2


def from_rank_0(work, exit_code=exit_code):
    """What `work()` returns on rank 0, on all ranks; if it fails there, all end: one that went on would wait for ever."""
    answer = error = None
    if rank == 0:
        try:
            answer = work()
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as failure:
            error = str(failure) or repr(failure), exit_code(failure)
    answer, error = world.bcast((answer, error))
    if error:
        refuse(*error)
    return answer


def refuse(sentence, code=2):
    say(f"error: {sentence}")
    world.Barrier()  # mpirun ends all ranks when one fails: not before rank 0 has said why
    sys.exit(code)


def load(directory, batch):
    """Step and weights of the newest complete checkpoint; step 0 if there is none. Complete is what has a .metadata."""
    steps = sorted(int(found.parent.name[5:]) for found in directory.glob("step-[0-9]*/.metadata"))
    if not steps and os.environ.get("SHUNTER_MUST_RESUME"):  # a job of `shunter run --resume`
        raise ValueError(f"no complete checkpoint in {directory} to resume from")
    if not steps:
        return 0, np.zeros(11)
    place = directory / f"step-{steps[-1]}"
    try:
        with np.load(place / "state.npz") as saved:
            weights, batch_of_saved = saved["weights"], int(saved["batch"])
    except Exception as error:
        raise ValueError(f"{place} is damaged: remove it, and training resumes from the previous one") from error
    if batch_of_saved != batch:
        made_with = f"--global-batch {batch_of_saved}"
        raise ValueError(f"{place} was made with {made_with}, this run has {batch}; name another --checkpoint-dir")
    return steps[-1], weights


def save(directory, step, weights, batch):
    place = directory / f"step-{step}"
    place.mkdir(parents=True, exist_ok=True)
    np.savez(place / "state.npz", weights=weights, batch=batch)
    (place / ".metadata").touch()  # last: without it the checkpoint does not count


def made_data(samples=1200):
    """Points on either side of a plane, and a column of ones; the same on all ranks."""
    random = np.random.default_rng(0)
    x = random.normal(size=(samples, 10))
    return np.hstack([x, np.ones((samples, 1))]), (x @ random.normal(size=10) > 0.3).astype(float)


def main():
    args = parser.parse_args()
    if min(args.steps, args.save_every) < 1:
        refuse("--steps and --save-every must be 1 or more.")
    x, y = made_data()
    if args.global_batch < 1 or args.global_batch % size or len(x) % args.global_batch:
        refuse(f"--global-batch {args.global_batch} must be a multiple of {size} ranks, and {len(x)} samples a multiple of it.")
    directory = Path(args.checkpoint_dir) if args.checkpoint_dir else None
    step, weights = from_rank_0(lambda: load(directory, args.global_batch)) if directory else (0, np.zeros(11))
    able = world.allgather("KUBEFLOW_TRAINER_SERVER_URL" in os.environ)  # only the processes in mpirun's own pod have it
    progress = Progress() if rank == (able.index(True) if True in able else 0) else Silent()
    say(f"{size} ranks, from step {step} to {args.steps}")
    while step < args.steps:
        # Which samples: a function of the step alone, so that any number of ranks can go on anywhere.
        epoch, place = divmod(step * args.global_batch, len(x))
        order = np.random.default_rng(epoch).permutation(len(x))[place : place + args.global_batch]
        mine = order[rank::size]
        guess = 1 / (1 + np.exp(-x[mine] @ weights))
        loss = -np.sum(y[mine] * np.log(guess + 1e-12) + (1 - y[mine]) * np.log(1 - guess + 1e-12))
        total = np.append(x[mine].T @ (guess - y[mine]), loss)
        world.Allreduce(MPI.IN_PLACE, total)  # gradient and loss of all ranks in one message
        weights = weights - args.lr * total[:-1] / args.global_batch
        step += 1
        progress.report(step=step, steps=args.steps, loss=total[-1] / args.global_batch)
        if step % 20 == 0 or step == args.steps:
            say(f"step {step} loss {total[-1] / args.global_batch:.6f}")
        if directory and (step % args.save_every == 0 or step == args.steps):
            begun = time.monotonic()
            from_rank_0(functools.partial(save, directory, step, weights, args.global_batch), exit_code=lambda _: 1)
            progress.checkpoint(step, time.monotonic() - begun, args.save_every)
    say(f"accuracy {np.mean((x @ weights > 0) == (y > 0)):.2f}")


if __name__ == "__main__":
    main()
