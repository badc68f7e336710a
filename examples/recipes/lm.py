"""Trains a small language model with DDP or FSDP2. Stop it, start it again on more or fewer ranks: the losses stay the same.
Why it is written so, and what to keep for your own model and data: docs/training/ddp.md, fsdp.md and checkpoints.md.

    python lm.py                                                               # one process on a laptop's CPU
    torchrun --nproc-per-node 2 -- lm.py --parallel fsdp --checkpoint-dir /tmp/lm
    shunter run lm.py --nodes 2 --gpus 8 -- --parallel fsdp --bf16 --compile   # the same on GPUs, shown in `shunter jobs`
"""

import argparse
import contextlib
import functools
import json
import os
import pickle
import signal
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


class Silent:  # takes the place of a helper file that is not there
    __init__ = report = checkpoint = note = log = close = begin = finish = lambda *_, **__: None


Progress = Tracking = Silent
with contextlib.suppress(ImportError):
    from progress import Progress  # shows in `shunter jobs`
with contextlib.suppress(ImportError):
    from tracking import Tracking  # sends to MLflow
FILES = (FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError, IsADirectoryError)
WRONG = (*FILES, AssertionError, EOFError, ImportError, LookupError, RuntimeError, TypeError, ValueError, pickle.PickleError)

parser = argparse.ArgumentParser(allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
option = parser.add_argument
option("--parallel", choices=["ddp", "fsdp"], default="ddp", help="each rank holds the whole model, or a shard of it")
option("--recompute", action="store_true", help="activation checkpointing: recompute activations instead of keeping them")
option("--bf16", action="store_true", help="compute in bfloat16; weights and optimizer stay float32")
option("--compile", action="store_true", help="torch.compile each block")
option("--global-batch", type=int, default=24, help="samples per step, over all ranks")
option("--accumulate", type=int, default=1, help="forward and backward passes per step; more passes need less memory")
option("--data", help="a text file (default: the numbers from 0 to 19999)")
option("--checkpoint-dir", default=os.environ.get("SHUNTER_CHECKPOINT_DIR"), help="a directory that all nodes share, or a URL")
option("--keep-every", type=int, help="also keep permanently the checkpoint of every step that is a multiple of this")
option("--log", help="a file for the loss of each step, as JSON lines")
defaults = {"steps": 100, "save-every": 50, "keep": 3, "lr": 3e-3, "sequence": 64, "dim": 64, "heads": 4, "layers": 2, "seed": 0}
for name, default in defaults.items():
    option(f"--{name}", type=type(default), default=default, help=" ")


def say(line):
    if dist.get_rank() == 0:
        print(line, flush=True)


def refuse(sentence, code=2):  # 2: wrong input, with which a job of shunter-torch is not restarted; 1: a disk or network failed
    say(f"error: {sentence}")
    dist.barrier()  # torchrun ends all ranks when the first exits: wait until rank 0 has said why
    time.sleep(dist.get_rank() > 0)  # let it exit first, too: of pods that fail together Kubernetes keeps the log of one
    raise SystemExit(code)


def together(work, remedy, alone=False, wrong=WRONG):
    """Returns what `work()` returns on this rank, or on rank 0 if `alone`. If it fails on any rank, all end with its error."""
    result, error, outcomes = None, None, [None] * dist.get_world_size()
    try:
        result = work() if not alone or dist.get_rank() == 0 else None
    except (Exception, dcp.CheckpointException) as failure:  # DCP wraps what failed, rank by rank
        cause = next(iter(failure.failures.values()))[0] if isinstance(failure, dcp.CheckpointException) else failure
        error = f"{cause}. {remedy}", 2 if isinstance(cause, wrong) else 1
    dist.all_gather_object(outcomes, (error, result if alone else None))
    if errors := [error for error, _ in outcomes if error]:
        refuse(*errors[0])
    return outcomes[0][1] if alone else result


class LanguageModel(nn.Module):
    def __init__(self, args):
        super().__init__()
        block = functools.partial(nn.TransformerEncoderLayer, args.dim, args.heads, 4 * args.dim, dropout=0, activation="gelu")
        self.blocks = nn.ModuleList(block(batch_first=True, norm_first=True) for _ in range(args.layers))
        self.bytes, self.positions = nn.Embedding(256, args.dim), nn.Embedding(args.sequence, args.dim)
        self.norm, self.head, self.recompute = nn.LayerNorm(args.dim), nn.Linear(args.dim, 256), args.recompute

    def forward(self, x):
        mask = {"src_mask": nn.Transformer.generate_square_subsequent_mask(x.shape[1], x.device), "is_causal": True}
        x = self.bytes(x) + self.positions.weight
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False, **mask) if self.recompute else block(x, **mask)
        return self.head(self.norm(x))


@functools.lru_cache(maxsize=2)
def epoch_order(seed, epoch, samples):
    return torch.randperm(samples, generator=torch.Generator().manual_seed(1_000_003 * seed + epoch))


def rank_batch(text, args, step):
    """This rank's samples of a step. The epochs form one endless sequence, cut into batches, which the ranks share out."""
    samples = (len(text) - 1) // args.sequence
    positions = range(step * args.global_batch, (step + 1) * args.global_batch)[dist.get_rank() :: dist.get_world_size()]
    chosen = torch.stack([epoch_order(args.seed, position // samples, samples)[position % samples] for position in positions])
    return text[chosen[:, None] * args.sequence + torch.arange(args.sequence + 1)].long()


class Checkpoints:
    def __init__(self, args, settings, model, optimizer, progress):
        self.args, self.model, self.optimizer, self.progress = args, model, optimizer, progress
        self.settings = together(lambda: settings, "", alone=True)  # those of rank 0: all ranks refuse a checkpoint, or none
        self.place, self.reader, writer = Path(args.checkpoint_dir), dcp.FileSystemReader, dcp.FileSystemWriter
        if "://" in args.checkpoint_dir:
            remedy = "A URL needs buckets.py beside lm.py, and the packages that it names."
            self.place, self.reader, writer = together(lambda: __import__("buckets").bucket(args.checkpoint_dir), remedy)
        self.writer = writer(self.place, cache_staged_state_dict=torch.cuda.is_available())  # keeps pinned memory to copy to
        self.group, self.pending = dist.new_group(backend="gloo"), None  # of its own: saves run beside training's collectives

    def complete(self):  # DCP writes .metadata last
        return sorted(int(found.parent.name[5:]) for found in self.place.glob("step-[0-9]*/.metadata"))

    def state(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)  # the same format for DDP, FSDP and any number of ranks
        return {"model": model, "optimizer": optimizer, "settings": json.dumps(self.settings)}

    def load(self):  # puts the newest complete checkpoint into model and optimizer; returns its step, 0 if there is none
        shared = "--checkpoint-dir must be a directory that all nodes share, or a bucket that they may change."
        mark = self.place / together(lambda: f"tried-{os.urandom(8).hex()}", shared, alone=True)
        together(lambda: self.place.mkdir(parents=True, exist_ok=True) or mark.touch(), shared, alone=True)
        together(mark.stat, shared)  # on disks of their own the ranks' shards would never be read together
        step = together(lambda: mark.unlink() or max(self.complete(), default=0), shared, alone=True)
        if step:
            path = self.place / f"step-{step}"
            together(lambda: self.read(path), f"{path} is damaged: remove it, and training resumes from the previous one.")
            self.progress.checkpoint(step, every=self.args.save_every)
        elif os.environ.get("SHUNTER_MUST_RESUME"):
            refuse(f"no complete checkpoint in {self.place} to resume from.")
        return step

    def read(self, path):
        self.reader(path).read_metadata()  # first: DCP would print a traceback of its own
        saved, state = {"settings": ""}, self.state()
        dcp.load(saved, storage_reader=self.reader(path), process_group=self.group)  # they say why the rest may not fit
        for name, value in sorted(json.loads(saved["settings"]).items() - (own := self.settings).items()):
            refuse(f"{path} was made with {name} {value}, this run has {own[name]}. Use {value}, or another --checkpoint-dir.")
        dcp.load(state, storage_reader=self.reader(path), process_group=self.group)
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])

    def begin(self, step):  # in the background, one at a time
        self.finish()
        begun, to = time.monotonic(), str(self.place / f"step-{step}")
        self.pending = step, dcp.async_save(self.state(), checkpoint_id=to, storage_writer=self.writer, process_group=self.group)
        self.pending[1].add_done_callback(lambda done: done.exception() or self.tell(step, time.monotonic() - begun))

    def tell(self, step, seconds):
        self.progress.checkpoint(step, seconds, self.args.save_every)
        say(f"saved step {step}")

    def finish(self):  # waits for the save that is under way, then removes old checkpoints
        if self.pending:
            (step, future), self.pending = self.pending, None
            together(future.result, f"Step {step} is not saved: --checkpoint-dir must have room and be writable.", wrong=())
            together(self.remove_old, "Old checkpoints cannot be removed.", alone=True, wrong=())

    def remove_old(self):
        for step in (old for old in self.complete()[: -self.args.keep] if not self.args.keep_every or old % self.args.keep_every):
            path = self.place / f"step-{step}"
            (path / ".metadata").unlink()  # first: what is half removed must not look complete
            with contextlib.suppress(OSError):  # what stays of the rest only takes up room
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
    numbers = " ".join(map(str, range(20_000))).encode()
    text = together(lambda: Path(args.data).read_bytes() if args.data else numbers, "Each node needs the file of --data.")
    together(lambda: text[args.sequence], "--data must have more bytes than --sequence.")
    text = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    torch.manual_seed(args.seed)  # the same first weights on all ranks
    model = together(lambda: LanguageModel(args), "Change --dim, --heads or --layers.")  # on the CPU: GPUs get shards only
    for block in model.blocks if args.compile else ():
        block.compile()
    for part in (*model.blocks, model) if fsdp else ():  # a block's weights are gathered to compute it, then freed
        fully_shard(part, mp_policy=MixedPrecisionPolicy(torch.bfloat16 if args.bf16 else None, reduce_dtype=torch.float32))
    model = model if fsdp else nn.parallel.DistributedDataParallel(model.to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    step, stop, stopping, checkpoints, progress = 0, False, [], Silent(), Progress()
    tracking = Tracking(vars(args) | {"ranks": world}, progress)
    if args.checkpoint_dir:
        settings = {name: vars(args)[name] for name in ("seed", "global_batch", "sequence", "dim", "heads", "layers")}
        checkpoints = Checkpoints(args, settings | {"bytes": len(text)}, model, optimizer, progress)
        step = checkpoints.load()
    optimizer.param_groups[0]["lr"] = args.lr  # not the one that the checkpoint was made with
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    log = open((rank == 0 and args.log) or os.devnull, "a", buffering=1)  # noqa: SIM115
    say(f"{args.parallel} on {world} ranks ({device.type}), from step {step} to {args.steps}")
    while step < args.steps and not stop:
        loss_sum = torch.zeros((), device=device)
        for number, rows in enumerate(rank_batch(text, args, step).to(device).chunk(args.accumulate), start=1):
            last = number == args.accumulate  # gradients are averaged over the ranks once a step
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
        dist.all_reduce(report)  # on the CPU, in one message: the mean loss, and whether any rank was told to stop
        loss, stop = report.tolist()
        print(json.dumps({"step": step, "loss": loss, "ranks": world, "time": time.time()}), file=log)
        progress.report(step=step, steps=args.steps, loss=loss)
        tracking.log(step, loss=loss)
        if step % 10 == 0 or step == args.steps:
            say(f"step {step} loss {loss:.4f}")
        if not loss < float("inf"):  # true for nan, too
            refuse(f"the loss of step {step} is {loss}: resume from the newest checkpoint with a smaller --lr.")
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
