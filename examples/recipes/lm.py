"""Trains a small language model with DDP or FSDP2. Stop it, start it again on more or fewer ranks: the losses stay the same.

    python lm.py                                                               # one process on a laptop's CPU
    torchrun --nproc-per-node 2 -- lm.py --parallel fsdp --checkpoint-dir /tmp/lm
    shunter run lm.py --nodes 2 --gpus 8 -- --parallel fsdp --bf16 --compile   # the same on GPUs, shown in `shunter jobs`

How it survives, and what to keep when you put in your own model and data: docs/training/checkpoints.md.
"""

import argparse
import contextlib
import functools
import json
import os
import signal
import time
from importlib import import_module
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


class Silent:  # in place of a file beside this one that was left out
    __init__ = report = checkpoint = note = log = close = begin = finish = lambda *_, **__: None


Progress = Tracking = Silent
with contextlib.suppress(ImportError):
    from progress import Progress  # shows in `shunter jobs`
with contextlib.suppress(ImportError):
    from tracking import Tracking  # sends to MLflow

parser = argparse.ArgumentParser(allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
option = parser.add_argument
option("--parallel", choices=["ddp", "fsdp"], default="ddp", help="each rank holds the whole model, or a shard of it")
option("--recompute", action="store_true", help="activation checkpointing: compute again instead of keeping in memory")
option("--bf16", action="store_true", help="compute in bfloat16; weights and optimizer stay float32")
option("--compile", action="store_true", help="torch.compile each block")
option("--global-batch", type=int, default=24, help="samples of a step, all ranks together")
option("--accumulate", type=int, default=1, help="passes a step: more passes need less memory")
option("--data", help="a text file (default: the numbers from 0 to 19999)")
option("--checkpoint-dir", default=os.environ.get("SHUNTER_CHECKPOINT_DIR"), help="what all nodes share: a directory or a URL")
option("--keep", type=int, default=3, help="how many of the newest checkpoints stay")
option("--keep-every", type=int, help="keep for good what is a multiple of so many steps, too")
option("--log", help="a file for the loss of each step, as JSON lines")
option("--lr", type=float, default=3e-3, help="learning rate")
for name, default in {"steps": 100, "save-every": 50, "sequence": 64, "dim": 64, "heads": 4, "layers": 2, "seed": 0}.items():
    option(f"--{name}", type=int, default=default, help=" ")


def say(line):
    if dist.get_rank() == 0:
        print(line, flush=True)


def refuse(sentence):
    say(f"error: {sentence}")
    dist.barrier()  # torchrun ends all ranks when one goes: not before rank 0 has said why
    raise SystemExit(2)


def together(work, remedy, alone=False):
    """What `work()` returns here, or on rank 0 if `alone`. Where it fails on one rank all end, not to wait for it for ever."""
    result = error = None
    try:
        result = work() if not alone or dist.get_rank() == 0 else None
    except (Exception, dcp.CheckpointException) as failure:  # DCP wraps what failed, rank by rank
        cause = next(iter(failure.failures.values()))[0] if isinstance(failure, dcp.CheckpointException) else failure
        error = f"{cause}. {remedy}"
    outcomes = [None] * dist.get_world_size()
    dist.all_gather_object(outcomes, (error, result if alone else None))
    if errors := [error for error, _ in outcomes if error]:
        refuse(errors[0])
    return outcomes[0][1] if alone else result


class LanguageModel(nn.Module):
    def __init__(self, args):
        super().__init__()
        block = functools.partial(nn.TransformerEncoderLayer, args.dim, args.heads, 4 * args.dim, dropout=0, activation="gelu")
        self.blocks = nn.ModuleList(block(batch_first=True, norm_first=True) for _ in range(args.layers))
        self.recompute = args.recompute
        self.bytes, self.positions = nn.Embedding(256, args.dim), nn.Embedding(args.sequence, args.dim)
        self.norm, self.head = nn.LayerNorm(args.dim), nn.Linear(args.dim, 256)

    def forward(self, x):
        causal = {"src_mask": nn.Transformer.generate_square_subsequent_mask(x.shape[1], x.device), "is_causal": True}
        x = self.bytes(x) + self.positions.weight
        for block in self.blocks:
            x = (
                torch.utils.checkpoint.checkpoint(block, x, **causal, use_reentrant=False)
                if self.recompute
                else block(x, **causal)
            )
        return self.head(self.norm(x))


def parallel_model(args, device):
    torch.manual_seed(args.seed)  # the same first weights on all ranks
    model = together(lambda: LanguageModel(args), "Change --dim, --heads or --layers.")  # on the CPU: GPUs get shards only
    for block in model.blocks if args.compile else ():
        block.compile()
    if args.parallel == "ddp":
        return nn.parallel.DistributedDataParallel(model.to(device))
    policy = MixedPrecisionPolicy(torch.bfloat16 if args.bf16 else None, reduce_dtype=torch.float32)
    for part in (*model.blocks, model):  # a block is gathered when it is needed, and let go after it
        fully_shard(part, mp_policy=policy)
    return model


def read_text(args):
    text = Path(args.data).read_bytes() if args.data else " ".join(map(str, range(20_000))).encode()
    if len(text) <= args.sequence:
        raise ValueError(f"--data has {len(text)} bytes, a sample needs {args.sequence + 1}")
    return torch.frombuffer(bytearray(text), dtype=torch.uint8)


@functools.lru_cache(maxsize=2)
def epoch_order(seed, epoch, samples):
    return torch.randperm(samples, generator=torch.Generator().manual_seed(1_000_003 * seed + epoch))


def rank_batch(text, args, step):
    """This rank's samples of a step. All epochs make one endless row, cut into batches; each is dealt out to the ranks."""
    samples = (len(text) - 1) // args.sequence
    places = range(step * args.global_batch, (step + 1) * args.global_batch)[dist.get_rank() :: dist.get_world_size()]
    chosen = torch.stack([epoch_order(args.seed, place // samples, samples)[place % samples] for place in places])
    return text[chosen[:, None] * args.sequence + torch.arange(args.sequence + 1)].long()


class Checkpoints:
    """Checkpoints `step-N`, written in the background, one at a time. Complete is what has a .metadata: DCP writes it last."""

    def __init__(self, args, settings, model, optimizer, progress):
        self.args, self.settings, self.model, self.optimizer, self.progress = args, settings, model, optimizer, progress
        self.place, self.reader, self.writer = Path(args.checkpoint_dir), dcp.FileSystemReader, dcp.FileSystemWriter
        if "://" in args.checkpoint_dir:  # then they are those of the file beside this one
            remedy = "A URL needs buckets.py beside lm.py, and the packages that it names."
            self.place, self.reader, self.writer = together(lambda: import_module("buckets").bucket(args.checkpoint_dir), remedy)
        self.group, self.pending = dist.new_group(backend="gloo"), None  # its own: saves must not meet training's collectives

    def complete(self):
        return sorted(int(found.parent.name[5:]) for found in self.place.glob("step-[0-9]*/.metadata"))

    def state(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)  # the same form for DDP, FSDP and any number of ranks
        return {"model": model, "optimizer": optimizer, "settings": json.dumps(self.settings)}

    def load(self):
        """Puts the newest complete checkpoint into model and optimizer; returns its step, 0 if there is none."""
        shared = "--checkpoint-dir must be a directory that all nodes share, or a bucket that they may change."
        together(lambda: self.place.mkdir(parents=True, exist_ok=True), shared)
        mark = self.place / together(lambda: f"tried-{os.urandom(8).hex()}", shared, alone=True)
        together(mark.touch, shared, alone=True)  # else shards end on disks that go with their nodes
        together(mark.stat, shared)
        step = together(lambda: mark.unlink() or max(self.complete(), default=0), shared, alone=True)
        if step:
            path, state = self.place / f"step-{step}", self.state()
            damaged = f"{path} is damaged: remove it, and training goes on from the one before."
            together(self.reader(path).read_metadata, damaged)
            saved = {"settings": ""}
            together(lambda: dcp.load(saved, storage_reader=self.reader(path), process_group=self.group), damaged)
            together(lambda: self.check(path, json.loads(saved["settings"])), "Use those, or another --checkpoint-dir.")
            together(lambda: dcp.load(state, storage_reader=self.reader(path), process_group=self.group), damaged)
            set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
            self.progress.checkpoint(step, every=self.args.save_every)
        elif os.environ.get("SHUNTER_MUST_RESUME"):
            refuse(f"there is no complete checkpoint in {self.place} to go on from.")
        return step

    def check(self, path, settings):
        for name, value in settings.items():
            if value != self.settings[name]:
                raise ValueError(f"{path} was made with {name} {value}, this run has {self.settings[name]}")

    def begin(self, step):
        self.finish()
        begun, writer = time.monotonic(), self.writer(self.place / f"step-{step}")
        future = dcp.async_save(self.state(), storage_writer=writer, process_group=self.group)
        future.add_done_callback(lambda done: done.exception() or self.tell(step, time.monotonic() - begun))
        self.pending = step, future

    def tell(self, step, seconds):
        self.progress.checkpoint(step, seconds, self.args.save_every)
        say(f"saved step {step}")

    def finish(self):
        """Waits for the pending save. Then none is being written, and old ones may go."""
        if self.pending:
            (step, future), self.pending = self.pending, None
            together(future.result, f"Step {step} is not saved: --checkpoint-dir must have room and be writable.")
            together(self.remove_old, "Old checkpoints cannot be removed.", alone=True)

    def remove_old(self):
        every = self.args.keep_every
        for step in [step for step in self.complete()[: -self.args.keep] if not every or step % every]:
            path = self.place / f"step-{step}"
            (path / ".metadata").unlink()  # first: what is half removed must not look complete
            with contextlib.suppress(OSError):  # the rest is only in the way
                for file in path.glob("*"):
                    file.unlink()
                path.rmdir()


def main():
    args, gpu = parser.parse_args(), torch.cuda.is_available()
    for name, value in vars(args).items():
        if type(value) is int and value < 1 and name != "seed":
            parser.error(f"--{name.replace('_', '-')} {value} must be 1 or more")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    alone = {} if "RANK" in os.environ else {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    dist.init_process_group("cuda:nccl,cpu:gloo" if gpu else "gloo", **alone)
    rank, world, fsdp = dist.get_rank(), dist.get_world_size(), args.parallel == "fsdp"
    if args.global_batch % (world * args.accumulate):
        refuse(f"--global-batch {args.global_batch} must be a multiple of {world} ranks x --accumulate {args.accumulate}.")
    text = together(lambda: read_text(args), "Each node needs the text, and more of it than --sequence.")
    model = parallel_model(args, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    step, stop, stopping, checkpoints, progress = 0, False, [], Silent(), Progress()
    tracking = Tracking(vars(args) | {"ranks": world}, progress)
    if args.checkpoint_dir:
        settings = {name: vars(args)[name] for name in ("seed", "global_batch", "sequence", "dim", "heads", "layers")}
        checkpoints = Checkpoints(args, settings | {"bytes": len(text)}, model, optimizer, progress)
        step = checkpoints.load()
    for group in optimizer.param_groups:
        group["lr"] = args.lr  # a checkpoint remembers the one of before
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    log = open((rank == 0 and args.log) or os.devnull, "a", buffering=1)  # noqa: SIM115
    say(f"{args.parallel} on {world} ranks ({device.type}), from step {step} to {args.steps}")
    while step < args.steps and not stop:
        loss_sum = torch.zeros((), device=device)
        for number, rows in enumerate(rank_batch(text, args, step).to(device).chunk(args.accumulate), start=1):
            last = number == args.accumulate  # the gradients of all ranks are joined once a step
            if fsdp:
                model.set_requires_gradient_sync(last)
            with contextlib.nullcontext() if fsdp or last else model.no_sync():
                with torch.autocast(device.type, torch.bfloat16, enabled=args.bf16 and not fsdp):
                    logits = model(rows[:, :-1])
                loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten()) / args.accumulate
                loss.backward()
            loss_sum += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        report = torch.tensor([loss_sum.item() / world, bool(stopping)], dtype=torch.float64)
        dist.all_reduce(report)  # on the CPU, in one message: the mean loss, and whether a rank was told to stop
        loss, stop = report.tolist()
        print(json.dumps({"step": step, "loss": loss, "ranks": world, "time": time.time()}), file=log)
        progress.report(step=step, steps=args.steps, loss=loss)
        tracking.log(step, loss=loss)
        if step % 10 == 0 or step == args.steps:
            say(f"step {step} loss {loss:.4f}")
        if not loss < float("inf"):  # nan, too
            refuse(f"the loss of step {step} is {loss}: go on from the newest checkpoint with a smaller --lr.")
        if stop or step == args.steps or step % args.save_every == 0:
            checkpoints.begin(step)
    checkpoints.finish()
    if stopped := stop and step < args.steps:
        say(f"stopped by SIGTERM, saved {f'step {step}' if args.checkpoint_dir else 'nothing: no --checkpoint-dir'}")
    tracking.close("KILLED" if stopped else "FINISHED")  # without it the run has FAILED
    dist.destroy_process_group()
    raise SystemExit(143 if stopped else 0)


if __name__ == "__main__":
    main()
