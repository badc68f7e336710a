"""Trains a small network with JAX on all devices of all nodes: one program, arrays that are divided among the devices.

    python jax_train.py                                                        # one process on a laptop's CPU
    shunter run jax_train.py --runtime jax-distributed --nodes 2
    shunter run jax_train.py --runtime jax-distributed --nodes 2 --gpus 8      # one process a node, which sees its 8 GPUs

The operator tells each node by JAX_* where process 0 is and which process it is. The weights are on every device, so process 0
saves them alone; for weights that are divided among devices take Orbax.
"""

import argparse
import contextlib
import functools
import os
import signal
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec


class Silent:
    """Stands in for progress.py where that is missing, and on all processes but the first."""

    def nothing(self, *_, **__): ...

    __init__ = report = checkpoint = close = nothing


Progress = Silent
with contextlib.suppress(ImportError):
    from progress import Progress  # a file beside this one: shows in `shunter jobs`

parser = argparse.ArgumentParser(allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--global-batch", type=int, default=64, help="samples of a step, all devices together")
parser.add_argument("--lr", type=float, default=0.3, help="learning rate")
parser.add_argument("--width", type=int, default=64, help="width of the hidden layer")
parser.add_argument("--checkpoint-dir", default=os.environ.get("SHUNTER_CHECKPOINT_DIR"), help="a directory that all nodes share")
parser.add_argument("--save-every", type=int, default=50, help="steps between checkpoints")


def say(line):
    if jax.process_index() == 0:
        print(line, flush=True)


def refuse(sentence, code=2):
    say(f"error: {sentence}")
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices("refused")  # a process that ends takes the others along: not before 0 has said why
    sys.exit(code)


def exit_code(error):
    """2 for wrong input, with which a job of shunter-torch is not restarted; 1 for a disk or a network that failed."""
    wrong = FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError, IsADirectoryError
    cause = error.__cause__ or error
    return 1 if isinstance(cause, OSError) and not isinstance(cause, wrong) else 2


def from_process_0(work, like, exit_code=exit_code):
    """What `work()` returns on process 0, on all: arrays of these shapes. If it fails there, all end."""
    answer, error, code = like, "", 0
    if jax.process_index() == 0:
        try:
            answer = work()
        except Exception as failure:
            error, code = str(failure) or repr(failure), exit_code(failure)
    message = np.zeros(501, np.uint8)
    message[: 1 + len(error.encode()[:500])] = [code, *error.encode()[:500]]
    code, *text = bytes(multihost_utils.broadcast_one_to_all(message)).rstrip(b"\0") or b"\0"
    if code:
        refuse(bytes(text).decode(errors="replace"), code)
    return multihost_utils.broadcast_one_to_all(answer)


def first_weights(width, inputs=8, classes=4):
    first, second = jax.random.split(jax.random.key(0))
    return {
        "first": jax.random.normal(first, (inputs, width)) / inputs**0.5,
        "middle": jnp.zeros(width),
        "second": jax.random.normal(second, (width, classes)) / width**0.5,
    }


def loss_of(weights, x, y):
    scores = jnp.tanh(x @ weights["first"] + weights["middle"]) @ weights["second"]
    return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(len(y)), y])


@jax.jit
def train_step(weights, x, y, lr):
    """The batch is divided among the devices; that the gradients must be added up, the compiler sees by itself."""
    loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree.map(lambda weight, slope: weight - lr * slope, weights, gradient), loss


def made_data(samples=2048):
    random = np.random.default_rng(0)
    x = random.normal(size=(samples, 8)).astype(np.float32)
    return x, np.argmax(x[:, :4] - x[:, 4:], axis=1).astype(np.int32)


def load(directory, flat, batch):
    """Step and weights of the newest complete checkpoint, one with a .metadata; step 0 if there is none."""
    steps = sorted(int(found.parent.name[5:]) for found in Path(directory).glob("step-[0-9]*/.metadata"))
    if not steps and os.environ.get("SHUNTER_MUST_RESUME"):  # a job of `shunter run --resume`
        raise ValueError(f"no complete checkpoint in {directory} to resume from")
    if not steps:
        return np.int32(0), flat
    place = Path(directory, f"step-{steps[-1]}")
    try:
        with np.load(place / "state.npz") as state:
            saved, batch_of_saved = state["weights"], int(state["batch"])
    except Exception as error:
        raise ValueError(f"{place} is damaged: remove it, and training resumes from the previous one") from error
    if (saved.shape, batch_of_saved) != (flat.shape, batch):
        made_with = f"{saved.size} weights and --global-batch {batch_of_saved}"
        raise ValueError(f"{place} was made with {made_with}, this run has {flat.size} and {batch}; name another directory")
    return np.int32(steps[-1]), saved


def save(directory, step, weights, batch):
    place = Path(directory, f"step-{step}")
    place.mkdir(parents=True, exist_ok=True)
    np.savez(place / "state.npz", weights=ravel_pytree(weights)[0], batch=batch)
    (place / ".metadata").touch()  # last: without it the checkpoint does not count
    return np.int32(step)


def main():
    args = parser.parse_args()
    if min(args.steps, args.save_every, args.width, args.global_batch) < 1:
        parser.error("--steps, --save-every, --width and --global-batch must be 1 or more")
    stopping, in_group = [], "JAX_COORDINATOR_ADDRESS" in os.environ
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))  # of a process alone; in a group JAX catches it
    if in_group:
        place = {"num_processes": int(os.environ["JAX_NUM_PROCESSES"]), "process_id": int(os.environ["JAX_PROCESS_ID"])}
        jax.distributed.initialize(os.environ["JAX_COORDINATOR_ADDRESS"], **place)
    x, y = made_data()
    if args.global_batch % jax.device_count() or len(x) % args.global_batch:
        refuse(f"--global-batch {args.global_batch} must be a multiple of {jax.device_count()} devices, and divide {len(x)}.")
    mesh = Mesh(np.array(jax.devices()), ("data",))
    everywhere, divided = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))

    def on_devices(array, sharding):
        return jax.make_array_from_callback(array.shape, sharding, lambda part: array[part])

    flat, shaped = ravel_pytree(first_weights(args.width))
    step, flat = np.int32(0), np.asarray(flat)
    if args.checkpoint_dir:
        step, flat = from_process_0(lambda: load(args.checkpoint_dir, flat, args.global_batch), (step, flat))
    step, stop = int(step), False
    weights = jax.tree.map(lambda array: on_devices(np.asarray(array), everywhere), shaped(jnp.asarray(flat)))
    progress = Progress() if jax.process_index() == 0 else Silent()
    devices = f"{jax.process_count()} processes, {jax.device_count()} {jax.default_backend()} devices"
    say(f"{devices}, from step {step} to {args.steps}")
    while step < args.steps and not stop:
        # Which samples: a function of the step alone, so that any number of devices can go on anywhere.
        epoch, start = divmod(step * args.global_batch, len(x))
        chosen = np.random.default_rng(epoch).permutation(len(x))[start : start + args.global_batch]
        weights, loss = train_step(weights, on_devices(x[chosen], divided), on_devices(y[chosen], divided), args.lr)
        step += 1
        progress.report(step=step, steps=args.steps, loss=loss)
        if step % 10 == 0 or step == args.steps:
            say(f"step {step} loss {float(loss):.6f}")
        # After the same step on all processes, when one has got SIGTERM.
        stop = multihost_utils.reached_preemption_sync_point(step) if in_group else bool(stopping)
        if args.checkpoint_dir and (stop or step % args.save_every == 0 or step == args.steps):
            begun = time.monotonic()
            saving = functools.partial(save, args.checkpoint_dir, step, weights, args.global_batch)
            from_process_0(saving, np.int32(0), exit_code=lambda _: 1)
            progress.checkpoint(step, time.monotonic() - begun, args.save_every)
    if stop and step < args.steps:
        say(f"stopped by SIGTERM, saved step {step}" if args.checkpoint_dir else "stopped by SIGTERM, saved nothing")
        sys.exit(143)


if __name__ == "__main__":
    main()
