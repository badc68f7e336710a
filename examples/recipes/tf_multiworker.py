"""Trains a small network with TensorFlow on several nodes: MultiWorkerMirroredStrategy keeps the weights of all workers the same.

    python tf_multiworker.py                                                                         # one process
    shunter run tf_multiworker.py --runtime jax-distributed --image tensorflow/tensorflow:2.21.0-gpu --nodes 2 --gpus 1
    a TFJob (kubeflow.org/v1), as it is                                                              # it has TF_CONFIG

TrainJobs have no runtime for TensorFlow. The one for JAX starts one process a node and tells it where process 0 is; TF_CONFIG
follows from that, as all nodes are named alike. The training loop is written out, because Keras 3 does not know this strategy.
"""

import argparse
import contextlib
import functools
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf


class Silent:
    """Stands in for progress.py where that is missing, and on all workers but the first."""

    def nothing(self, *_, **__): ...

    __init__ = report = checkpoint = close = nothing


Progress = Silent
with contextlib.suppress(ImportError):
    from progress import Progress  # a file beside this one: shows in `shunter jobs`

parser = argparse.ArgumentParser(allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--global-batch", type=int, default=64, help="samples of a step, all workers together")
parser.add_argument("--lr", type=float, default=0.3, help="learning rate")
parser.add_argument("--width", type=int, default=32, help="width of the hidden layer")
parser.add_argument("--checkpoint-dir", default=os.environ.get("SHUNTER_CHECKPOINT_DIR"), help="a directory that all nodes share")
parser.add_argument("--save-every", type=int, default=50, help="steps between checkpoints")

SAMPLES = 2048
TF = tf.errors
DAMAGED = (IndexError, TF.DataLossError, TF.OutOfRangeError)
"""What TensorFlow's readers raise; IndexError for a file that is too short."""
WRONG = (OSError, ValueError, AssertionError, TF.InvalidArgumentError, TF.NotFoundError, *DAMAGED)


def tf_config(environment):
    """TF_CONFIG of a pod of a runtime for JAX: pod 0 is JOB-node-0-0.JOB, and the others have other last digits."""
    first, port = environment["JAX_COORDINATOR_ADDRESS"].rsplit(":", 1)
    count, index = int(environment["JAX_NUM_PROCESSES"]), int(environment["JAX_PROCESS_ID"])
    workers = [f"{re.sub('-0(?=[.]|$)', f'-{number}', first, count=1)}:{port}" for number in range(count)]
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}})


def made_data():
    generator = tf.random.Generator.from_seed(0)
    x = generator.normal((SAMPLES, 8))
    return x, tf.argmax(x[:, :4] - x[:, 4:], axis=1, output_type=tf.int32)


def newest(directory):
    """The newest complete checkpoint, one with a .metadata: its step, 0 if there is none."""
    return max((int(found.parent.name[5:]) for found in Path(directory).glob("step-[0-9]*/.metadata")), default=0)


def main():
    args, stopping = parser.parse_args(), []
    if min(args.steps, args.save_every, args.width, args.global_batch) < 1:
        parser.error("--steps, --save-every, --width and --global-batch must be 1 or more")
    if "TF_CONFIG" not in os.environ and int(os.environ.get("JAX_NUM_PROCESSES", 1)) > 1:
        os.environ["TF_CONFIG"] = tf_config(os.environ)
    strategy = tf.distribute.MultiWorkerMirroredStrategy() if "TF_CONFIG" in os.environ else tf.distribute.get_strategy()
    rank = json.loads(os.environ["TF_CONFIG"])["task"].get("index", 0) if "TF_CONFIG" in os.environ else 0
    workers = strategy.num_replicas_in_sync
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))

    def say(line):
        if rank == 0:
            print(line, flush=True)

    @tf.function
    def sum_of_all(value):
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(lambda own: own, args=(value,)), axis=None)

    def refuse(sentence):
        say(f"error: {sentence}")
        sum_of_all(tf.constant(0))  # a worker that ends takes the others along: not before the first has said why
        sys.exit(2)

    def together(work, wrong=WRONG):
        """What `work()` returns on this worker; if it fails on one, all end: with 2 for wrong input, with which a job that may
        restart is not restarted, and with 1 if a disk or a network failed."""
        result, code = None, 0
        try:
            result = work()
        except Exception as failure:
            code = 2 if isinstance(failure.__cause__ or failure, wrong) else 1
            print(f"error: {str(failure).splitlines()[0] or repr(failure)}", flush=True)
        failed, refused = sum_of_all(tf.constant([code > 0, code == 2], tf.int32)).numpy()
        if failed:
            sys.exit(2 if failed == refused else 1)
        return result

    if args.global_batch % workers or SAMPLES % args.global_batch:
        refuse(f"--global-batch {args.global_batch} must be a multiple of {workers} workers and divide {SAMPLES} samples.")
    x, y = made_data()
    with strategy.scope():
        generator = tf.random.Generator.from_seed(1)
        first = tf.Variable(generator.normal((8, args.width)) / 3)
        middle = tf.Variable(tf.zeros(args.width))
        second = tf.Variable(generator.normal((args.width, 4)) / args.width**0.5)
        batch_of_saved = tf.Variable(args.global_batch)
    weights = [first, middle, second]
    checkpoint = tf.train.Checkpoint(first=first, middle=middle, second=second, batch=batch_of_saved)

    def load(place):
        try:
            checkpoint.read(f"{place}/state").assert_consumed()
        except Exception as error:
            raise ValueError(f"{place} is damaged or of another --width: remove it, or name another place") from error

    def save(step):
        """Only the first worker's files count. The others write too, into their own scratch space: writing may need all."""
        place = Path(args.checkpoint_dir, f"step-{step}")
        place.mkdir(parents=True, exist_ok=True)
        checkpoint.write(f"{place}/state" if rank == 0 else f"/tmp/tf-worker-{os.getpid()}/state")
        if rank == 0:
            (place / ".metadata").touch()  # last: without it the checkpoint does not count

    @tf.function
    def train_step(x, y):
        def on_one(x, y):
            with tf.GradientTape() as tape:
                scores = tf.tanh(x @ first + middle) @ second
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, scores)
                loss = tf.reduce_sum(losses) / args.global_batch
            context = tf.distribute.get_replica_context()
            slopes = context.all_reduce(tf.distribute.ReduceOp.SUM, tape.gradient(loss, weights))
            for weight, slope in zip(weights, slopes, strict=True):
                weight.assign_sub(args.lr * slope)
            return loss

        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(on_one, args=(x, y)), axis=None)

    step = int(sum_of_all(tf.constant(newest(args.checkpoint_dir) if rank == 0 and args.checkpoint_dir else 0)))
    if step:
        together(lambda: load(Path(args.checkpoint_dir, f"step-{step}")))
        if int(batch_of_saved.numpy()) != args.global_batch:
            refuse(f"step-{step} was made with --global-batch {int(batch_of_saved.numpy())}, this run has {args.global_batch}.")
    elif args.checkpoint_dir and os.environ.get("SHUNTER_MUST_RESUME"):  # a job of `shunter run --resume`
        refuse(f"no complete checkpoint in {args.checkpoint_dir} to resume from.")
    say(f"{workers} workers, from step {step} to {args.steps}")
    progress, stop = Progress() if rank == 0 else Silent(), False
    while step < args.steps and not stop:
        # Which samples: a function of the step alone, so that any number of workers can go on anywhere.
        epoch, start = divmod(step * args.global_batch, SAMPLES)
        order = tf.argsort(tf.random.Generator.from_seed(epoch).uniform((SAMPLES,)))
        mine = order[start : start + args.global_batch][rank::workers]
        loss = train_step(tf.gather(x, mine), tf.gather(y, mine))
        step += 1
        progress.report(step=step, steps=args.steps, loss=loss)
        stop = int(sum_of_all(tf.constant(len(stopping)))) > 0  # SIGTERM to one worker stops all after the same step
        if step % 10 == 0 or step == args.steps:
            say(f"step {step} loss {float(loss):.6f}")
        if args.checkpoint_dir and (stop or step % args.save_every == 0 or step == args.steps):
            begun = time.monotonic()
            together(functools.partial(save, step), wrong=())
            progress.checkpoint(step, time.monotonic() - begun, args.save_every)
    if stop and step < args.steps:
        say(f"stopped by SIGTERM, saved step {step}" if args.checkpoint_dir else "stopped by SIGTERM, saved nothing")
        sys.exit(143)


if __name__ == "__main__":
    main()
