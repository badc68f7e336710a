"""Trains with DeepSpeed: ZeRO divides optimizer state (1), gradients too (2), weights too (3) among the ranks.

    python deepspeed_zero.py --stage 2                                                    # one process on a laptop's CPU
    mpirun -n 2 python deepspeed_zero.py --stage 3 --checkpoint-dir /tmp/zero
    shunter run deepspeed_zero.py --runtime deepspeed-distributed --nodes 2 --gpus 8 -- --stage 3 --bf16

DeepSpeed learns from mpirun which rank it is. mpirun gives its processes no time to save when a job is stopped: what was trained
since the last checkpoint is trained again, so --save-every is what you are ready to lose.
"""

import argparse
import contextlib
import errno
import functools
import json
import os
import shutil
import sys
import time
from pathlib import Path

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch.distributed as dist
from torch import nn


class Silent:
    """Stands in for progress.py where that is missing, and on all ranks but the one that reports."""

    def nothing(self, *_, **__): ...

    __init__ = report = checkpoint = close = nothing


Progress = Silent
with contextlib.suppress(ImportError):
    from progress import Progress  # a file beside this one: shows in `shunter jobs`

parser = argparse.ArgumentParser(allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--stage", type=int, choices=[0, 1, 2, 3], default=2, help="stage of ZeRO; 0 shards nothing, as DDP")
parser.add_argument("--bf16", action="store_true", help="weights in bfloat16, optimizer in float32")
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--global-batch", type=int, default=32, help="samples per step, over all ranks")
parser.add_argument(
    "--accumulate", type=int, default=1, help="forward and backward passes per step; more passes need less memory"
)
parser.add_argument("--width", type=int, default=64, help="width of the hidden layers")
parser.add_argument("--lr", type=float, default=3e-3, help="learning rate")
parser.add_argument("--checkpoint-dir", default=os.environ.get("SHUNTER_CHECKPOINT_DIR"), help="a directory that all nodes share")
parser.add_argument("--save-every", type=int, default=20, help="steps between checkpoints")
parser.add_argument("--keep", type=int, default=3, help="number of the newest checkpoints to keep")


def say(line):
    if dist.get_rank() == 0:
        print(line, flush=True)


def refuse(sentence, code=2):
    say(f"error: {sentence}")
    dist.barrier()  # mpirun ends all ranks when one fails: not before rank 0 has said why
    sys.exit(code)


def exit_code(error):
    """2 for wrong input, with which a job of shunter-torch is not restarted; 1 for a disk or a network that failed."""
    wrong = FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError, IsADirectoryError
    cause = error.__cause__ or error
    is_input = isinstance(cause, wrong) or getattr(cause, "errno", None) == errno.EINVAL  # what torch says of a file cut short
    return 1 if isinstance(cause, OSError) and not is_input else 2


def together(work, remedy, exit_code=exit_code):
    """What `work()` returns on this rank. If it fails on one, all end: a rank that went on would wait for the others for ever."""
    result = error = None
    try:
        result = work()
    except Exception as failure:
        error = f"{str(failure).strip().partition(chr(10))[0] or repr(failure)}. {remedy}", exit_code(failure)
    errors = [None] * dist.get_world_size()
    dist.all_gather_object(errors, error)
    if any(errors):
        refuse(*next(filter(None, errors)))
    return result


def decide(work, remedy):
    """What `work()` returns on rank 0, on all ranks."""
    decision = [together(work if dist.get_rank() == 0 else lambda: None, remedy)]
    dist.broadcast_object_list(decision, src=0)
    return decision[0]


def network(width, inputs=16, classes=4):
    torch.manual_seed(0)  # the same first weights on all ranks
    layers = [nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, classes)]
    return nn.Sequential(*layers)


def made_data(samples=2048):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(samples, 16, generator=generator)
    return x, (x @ torch.randn(16, 4, generator=generator)).argmax(dim=1)


def complete(directory):
    """Steps of complete checkpoints: those with a .metadata. DeepSpeed's own file `latest` is not asked."""
    return sorted(int(found.parent.name[5:]) for found in Path(directory).glob("step-[0-9]*/.metadata"))


def resumable(directory):
    """The complete checkpoints. ValueError if there is none for a job that must resume, one of `shunter run --resume`."""
    found = complete(directory)
    if not found and os.environ.get("SHUNTER_MUST_RESUME"):
        raise ValueError(f"no complete checkpoint in {directory} to resume from")
    return found


def finish(directory, step, settings, keep):
    """When all ranks have written: marks the checkpoint as complete, and removes old ones."""
    place = Path(directory, f"step-{step}")
    (place / "settings.json").write_text(json.dumps(settings))
    (place / ".metadata").touch()  # last: without it the checkpoint does not count
    for old in complete(directory)[:-keep]:
        place = Path(directory, f"step-{old}")
        (place / ".metadata").unlink()  # first: what is half removed must not look complete
        shutil.rmtree(place, ignore_errors=True)


def main():
    args, gpu = parser.parse_args(), torch.cuda.is_available()
    if min(args.steps, args.save_every, args.keep, args.accumulate) < 1:
        parser.error("--steps, --save-every, --keep and --accumulate must be 1 or more")
    if not gpu:  # a kernel for ranks of one CPU, which is compiled at the first start; gloo does without
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    if "OMPI_COMM_WORLD_SIZE" not in os.environ and "RANK" not in os.environ:
        os.environ |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
    deepspeed.init_distributed("nccl" if gpu else "gloo", verbose=False)
    rank, world = dist.get_rank(), dist.get_world_size()
    passes = world * args.accumulate
    if args.global_batch < 1 or args.global_batch % passes:
        refuse(f"--global-batch {args.global_batch} must be a multiple of {world} ranks x --accumulate {args.accumulate}.")
    x, y = made_data()
    config = {
        "train_batch_size": args.global_batch,
        "gradient_accumulation_steps": args.accumulate,
        "zero_optimization": {"stage": args.stage, "stage3_param_persistence_threshold": 0},
        "bf16": {"enabled": args.bf16},
        "zero_allow_untested_optimizer": True,
    }
    model = network(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    # A part of a checkpoint belongs to a rank, so stage and number of ranks stay; DeepSpeed's "universal" ones can change them.
    settings = {"stage": args.stage, "ranks": world, "global_batch": args.global_batch, "width": args.width, "bf16": args.bf16}
    step = 0
    if args.checkpoint_dir:
        found = decide(lambda: resumable(args.checkpoint_dir), "--checkpoint-dir must be a directory that all nodes share.")
        if found:
            step, place = found[-1], Path(args.checkpoint_dir, f"step-{found[-1]}")
            saved = decide(lambda: json.loads((place / "settings.json").read_text()), f"{place} is damaged: remove it.")
            for name, value in settings.items():
                if saved.get(name) != value:
                    refuse(
                        f"{place} was made with {name} {saved.get(name)}, this run has {value}; name another --checkpoint-dir."
                    )
            together(lambda: engine.load_checkpoint(args.checkpoint_dir, tag=place.name), f"{place} is damaged: remove it.")
    able = [False] * world  # only the processes in mpirun's own pod know where to report
    dist.all_gather_object(able, "KUBEFLOW_TRAINER_SERVER_URL" in os.environ)
    reporter = able.index(True) if True in able else 0
    progress = Progress({**os.environ, "RANK": "0"}) if rank == reporter else Silent()
    say(f"{world} ranks ({engine.device.type}), ZeRO {args.stage}, from step {step} to {args.steps}")
    while step < args.steps:
        # Which samples: a function of the step alone.
        epoch, place = divmod(step, len(x) // args.global_batch)
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        mine = order[place * args.global_batch :][: args.global_batch][rank::world]
        total = torch.zeros((), device=engine.device)
        for part in mine.chunk(args.accumulate):
            inputs = x[part].to(engine.device, torch.bfloat16 if args.bf16 else None)
            loss = nn.functional.cross_entropy(engine(inputs).float(), y[part].to(engine.device))
            engine.backward(loss)
            engine.step()  # steps after the last pass
            total += loss.detach() / passes
        dist.all_reduce(total)
        step += 1
        progress.report(step=step, steps=args.steps, loss=total)
        if step % 10 == 0 or step == args.steps:
            say(f"step {step} loss {total:.6f}")
        if args.checkpoint_dir and (step % args.save_every == 0 or step == args.steps):
            begun = time.monotonic()
            remedy, save = f"Step {step} is not saved.", functools.partial(engine.save_checkpoint, args.checkpoint_dir)
            together(functools.partial(save, tag=f"step-{step}", save_latest=False), remedy, exit_code=lambda _: 1)
            decide(functools.partial(finish, args.checkpoint_dir, step, settings, args.keep), remedy)
            progress.checkpoint(step, time.monotonic() - begun, args.save_every)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
