"""Trains boosted trees on several nodes: each holds its part of the rows, all build the same trees.

    python xgboost_train.py                                                  # one process
    shunter run xgboost_train.py --runtime xgboost-distributed --nodes 2
    shunter run xgboost_train.py --runtime xgboost-distributed --nodes 2 --gpus 1 -- --device cuda

The operator tells each node by DMLC_* where the tracker is (node 0 starts it) and which worker it is. Saved are the trees so far;
a start that finds some goes on with the next.
"""

import argparse
import contextlib
import os
import signal
import socket
import sys
import time
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # several workers of one machine would take each other's cores by waiting

import numpy as np
import xgboost
from xgboost import collective
from xgboost.tracker import RabitTracker


class Silent:
    """Stands in for progress.py where that is missing, and on all workers but the first."""

    def nothing(self, *_, **__): ...

    __init__ = report = checkpoint = close = nothing


Progress = Silent
with contextlib.suppress(ImportError):
    from progress import Progress  # a file beside this one: shows in `shunter jobs`

parser = argparse.ArgumentParser(allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--rounds", type=int, default=40, help="trees")
parser.add_argument("--depth", type=int, default=4, help="of a tree")
parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
parser.add_argument(
    "--data", help="a .npy file of numbers: a row for each sample, its label in the last column (default: generated data)"
)
parser.add_argument("--checkpoint-dir", default=os.environ.get("SHUNTER_CHECKPOINT_DIR"), help="a directory that all nodes share")
parser.add_argument("--save-every", type=int, default=10, help="rounds between checkpoints")

stopping = []


def address(name):
    """The tracker's; its name appears when its pod has started."""
    for _ in range(600):
        try:
            return socket.gethostbyname(name)
        except OSError:
            time.sleep(0.2)
    sys.exit(f"error: {name}, where the tracker should be, has had no address for two minutes.")


@contextmanager
def group():
    """The group of all workers, in which `train` adds up what it knows of the rows; alone without DMLC_*."""
    if "DMLC_TRACKER_URI" not in os.environ:
        yield
        return
    worker, port, tracker = os.environ["DMLC_TASK_ID"], int(os.environ["DMLC_TRACKER_PORT"]), None
    host = address(os.environ["DMLC_TRACKER_URI"])
    if worker == "0":
        tracker = RabitTracker(n_workers=int(os.environ["DMLC_NUM_WORKER"]), host_ip=host, port=port, sortby="task")
        tracker.start()
    try:
        with collective.CommunicatorContext(dmlc_tracker_uri=host, dmlc_tracker_port=port, dmlc_task_id=worker, dmlc_retry=50):
            yield
    finally:
        if tracker:
            tracker.wait_for(30)  # the others take their leave of it


def say(line):
    if collective.get_rank() == 0:
        print(line, flush=True)


def exit_code(error):
    """2 for wrong input, with which a job of shunter-torch is not restarted; 1 for a disk or a network that failed."""
    wrong = FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError, IsADirectoryError
    cause = error.__cause__ or error
    return 1 if isinstance(cause, OSError) and not isinstance(cause, wrong) else 2


def all_or_none(work, remedy, exit_code=exit_code):
    """What `work()` returns. If it fails on one worker, all end: one that went on would wait for ever."""
    result, error = None, ()
    try:
        result = work()
    except Exception as failure:
        error = f"{str(failure).partition(chr(10))[0] or repr(failure)}. {remedy}", exit_code(failure)
    errors = [collective.broadcast(error, worker) for worker in range(collective.get_world_size())]
    if any(errors):
        sentence, code = next(filter(None, errors))
        say(f"error: {sentence}")
        sys.exit(code)
    return result


def rows(path):
    """This worker's rows: every n-th, so that no two have the same."""
    if path:
        table = np.load(path, mmap_mode="r")
        if table.ndim != 2 or table.shape[1] < 2:
            raise ValueError(f"--data {path} must be a table of two columns or more, the last of them labels")
    else:
        random = np.random.default_rng(0)
        x = random.random((2000, 5))
        table = np.column_stack([x, 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]])
    mine = np.asarray(table[collective.get_rank() :: collective.get_world_size()])
    return mine[:, :-1], mine[:, -1]


def newest(directory):
    """The checkpoint with most rounds among the complete ones, those with a .metadata; rank 0 looks, and tells all."""
    found = sorted(int(mark.parent.name[5:]) for mark in Path(directory).glob("step-[0-9]*/.metadata"))
    return collective.broadcast(found[-1] if found else 0, 0)


class Checkpoints(xgboost.callback.TrainingCallback):
    """Saves on rank 0, as all have the same trees; stops all workers after the same round when one has got SIGTERM."""

    def __init__(self, directory, every, rounds):
        self.directory, self.every, self.rounds = directory, every, rounds
        self.progress = Progress() if collective.get_rank() == 0 else Silent()

    def after_iteration(self, model, epoch, evals_log):
        done = model.num_boosted_rounds()
        self.stopped = bool(collective.allreduce(np.array([len(stopping)]), collective.Op.MAX)[0]) and done < self.rounds
        if done % 10 == 0 or done == self.rounds:
            say(f"round {done} rmse {evals_log['train']['rmse'][-1]:.5f}")
        self.progress.report(step=done, steps=self.rounds, rmse=evals_log["train"]["rmse"][-1])
        if self.directory and (self.stopped or done % self.every == 0 or done == self.rounds):
            begun = time.monotonic()
            place, remedy = Path(self.directory, f"step-{done}"), f"Round {done} is not saved."
            all_or_none(lambda: self.save(model, place), remedy, exit_code=lambda _: 1)
            self.progress.checkpoint(done, time.monotonic() - begun, self.every)
        return self.stopped

    def save(self, model, place):
        if collective.get_rank() == 0:
            place.mkdir(parents=True, exist_ok=True)
            model.save_model(place / "model.ubj")
            (place / ".metadata").touch()  # last: without it the checkpoint does not count


def main():
    args = parser.parse_args()
    if min(args.rounds, args.save_every, args.depth) < 1:
        parser.error("--rounds, --depth and --save-every must be 1 or more")
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    with group():
        x, y = all_or_none(lambda: rows(args.data), "Each node needs the data.")
        done, model = newest(args.checkpoint_dir) if args.checkpoint_dir else 0, None
        if done:
            place = Path(args.checkpoint_dir, f"step-{done}")
            model = all_or_none(lambda: xgboost.Booster(model_file=place / "model.ubj"), f"{place} is damaged: remove it.")
            if model.num_features() != x.shape[1]:
                say(f"error: {place} is of {model.num_features()} columns, --data has {x.shape[1]}; name another place.")
                sys.exit(2)
        elif args.checkpoint_dir and os.environ.get("SHUNTER_MUST_RESUME"):  # a job of `shunter run --resume`
            say(f"error: no complete checkpoint in {args.checkpoint_dir} to resume from.")
            sys.exit(2)
        say(f"{collective.get_world_size()} workers ({args.device}), from round {done} to {args.rounds}")
        data, keeper = xgboost.DMatrix(x, label=y), Checkpoints(args.checkpoint_dir, args.save_every, args.rounds)
        settings = {"objective": "reg:squarederror", "max_depth": args.depth, "device": args.device, "nthread": os.cpu_count()}
        if done < args.rounds:
            left = {"num_boost_round": args.rounds - done, "xgb_model": model, "callbacks": [keeper]}
            model = xgboost.train(settings, data, evals=[(data, "train")], verbose_eval=False, **left)
            if keeper.stopped:
                step = model.num_boosted_rounds()
                say(f"stopped by SIGTERM, saved {f'step {step}' if args.checkpoint_dir else 'nothing: no --checkpoint-dir'}")
                sys.exit(143)
        say(f"{model.num_boosted_rounds()} trees, {model.eval(data).split(':')[-1]} rmse over all rows")


if __name__ == "__main__":
    main()
