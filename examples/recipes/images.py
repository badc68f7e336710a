"""Trains a small image classifier with DDP: the shortest script that resumes where it stopped.

    python images.py                                                         # one process on a laptop's CPU
    torchrun --nproc-per-node 2 -- images.py --checkpoint /tmp/images.pt
    shunter run images.py --nodes 2 --gpus 1                                 # the same on GPUs

With DDP every rank holds the whole model, so rank 0 can save it alone, in one file. For sharded models, and for saves in the
background, see lm.py.
"""

import argparse
import contextlib
import errno
import functools
import os
import signal
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SHARED = os.environ.get("SHUNTER_CHECKPOINT_DIR")


class Silent:
    """Stands in for progress.py where that is missing, and on all ranks but the first."""

    def nothing(self, *_, **__): ...

    __init__ = report = checkpoint = close = nothing


Progress = Silent
with contextlib.suppress(ImportError):
    from progress import Progress  # a file beside this one: shows in `shunter jobs`

parser = argparse.ArgumentParser(allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument(
    "--data", help='a file that torch.save wrote: {"images": bytes of N x channels x height x width, "labels": N numbers}'
)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--global-batch", type=int, default=64, help="images per step, over all ranks")
parser.add_argument("--lr", type=float, default=2e-3, help="learning rate")
parser.add_argument("--checkpoint", default=f"{SHARED}/images.pt" if SHARED else None, help="a file that rank 0 can write")
parser.add_argument("--save-every", type=int, default=20, help="steps between checkpoints")


def made_pictures(count=2500, classes=10):
    """Each class is a pattern of its own, under noise; the same on all ranks."""
    generator = torch.Generator().manual_seed(0)
    patterns = torch.randint(0, 256, (classes, 1, 16, 16), generator=generator)
    labels = torch.randint(0, classes, (count,), generator=generator)
    noise = torch.randint(-200, 200, (count, 1, 16, 16), generator=generator)
    return (patterns[labels] + noise).clamp(0, 255).to(torch.uint8), labels


def read_pictures(path):
    data = torch.load(path, weights_only=True)
    if not {"images", "labels"} <= set(data):
        raise ValueError(f"--data {path} must hold images and labels")
    return data["images"], data["labels"]


def network(channels, classes):
    """No BatchNorm: it would see a rank's pictures only, and give other losses with another number of ranks."""
    layers = [nn.Conv2d(channels, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(32 * 4 * 4, classes))


def exit_code(error):
    """2 for wrong input, with which a job of shunter-torch is not restarted; 1 for a disk or a network that failed."""
    wrong = FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError, IsADirectoryError
    cause = error.__cause__ or error
    is_input = isinstance(cause, wrong) or getattr(cause, "errno", None) == errno.EINVAL  # what torch says of a file cut short
    return 1 if isinstance(cause, OSError) and not is_input else 2


def from_rank_0(work, exit_code=exit_code):
    """What `work()` returns on rank 0, on all ranks; if it fails there, all ranks end."""
    answer = [None, None]
    if dist.get_rank() == 0:
        try:
            answer = [work(), None]
        except Exception as error:
            answer = [None, exit_code(error)]
            print(f"error: {str(error) or repr(error)}", flush=True)
    dist.broadcast_object_list(answer, src=0)
    if answer[1]:
        raise SystemExit(answer[1])
    return answer[0]


def save(path, state):
    """Writes under another name first: a kill in the middle leaves the checkpoint before intact."""
    torch.save(state, f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


def load(path, global_batch, pictures):
    """None if there is no checkpoint yet."""
    if path and not os.path.exists(path) and os.environ.get("SHUNTER_MUST_RESUME"):
        raise ValueError(f"no checkpoint {path} to resume from")
    if not path or not os.path.exists(path):
        return None
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(f"{path} is damaged; remove it to begin again") from error
    if (saved["global_batch"], saved["pictures"]) != (global_batch, pictures):
        raise ValueError(
            f"{path} is of --global-batch {saved['global_batch']} and {saved['pictures']} pictures; name another --checkpoint"
        )
    return saved


def main():
    args, gpu = parser.parse_args(), torch.cuda.is_available()
    if min(args.epochs, args.save_every) < 1:
        parser.error("--epochs and --save-every must be 1 or more")
    if gpu:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))  # torchrun sets it, a PyTorchJob does not
    device = torch.device("cuda" if gpu else "cpu")
    alone = {} if "RANK" in os.environ else {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    dist.init_process_group("cuda:nccl,cpu:gloo" if gpu else "gloo", **alone)
    rank, world = dist.get_rank(), dist.get_world_size()

    def say(line):
        if rank == 0:
            print(line, flush=True)

    images, labels = from_rank_0(lambda: read_pictures(args.data)) if args.data else made_pictures()
    training = len(labels) * 4 // 5  # the last fifth is for the test
    if args.global_batch % world or not 0 < args.global_batch <= training:
        say(f"error: --global-batch {args.global_batch} must be a multiple of {world} ranks and at most {training} pictures.")
        dist.barrier()  # torchrun ends all ranks when the first exits: wait until rank 0 has said why
        raise SystemExit(2)
    images, labels = images.to(device) / 255, labels.to(device)
    steps_per_epoch = training // args.global_batch

    torch.manual_seed(0)
    model = DistributedDataParallel(network(images.shape[1], int(labels.max()) + 1).to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step, stop, stopping = 0, False, []
    saved = from_rank_0(lambda: load(args.checkpoint, args.global_batch, len(labels)))
    if saved:
        step = saved["step"]
        model.module.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    for group in optimizer.param_groups:
        group["lr"] = args.lr  # not the one that the checkpoint was made with
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    progress = Progress() if rank == 0 else Silent()
    last_step = args.epochs * steps_per_epoch
    say(f"{world} ranks ({device.type}), from step {step} to {last_step}")
    while step < last_step and not stop:
        # Which pictures it takes depends on the step alone, so a restart in the middle of an epoch goes on with the next ones.
        epoch, place = divmod(step, steps_per_epoch)
        order = torch.randperm(training, generator=torch.Generator().manual_seed(epoch))
        mine = order[place * args.global_batch :][: args.global_batch][rank::world]
        loss = nn.functional.cross_entropy(model(images[mine]), labels[mine])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        report = torch.tensor([loss.item() / world, len(stopping)], dtype=torch.float64)
        dist.all_reduce(report)  # the mean loss, and whether a rank got SIGTERM: all stop after the same step
        stop = report[1] > 0
        progress.report(step=step, steps=last_step, loss=report[0])
        if step % 10 == 0 or step == last_step:
            say(f"step {step} loss {report[0]:.4f}")
        if args.checkpoint and (stop or step == last_step or step % args.save_every == 0):
            state = {"step": step, "global_batch": args.global_batch, "pictures": len(labels)}
            state |= {"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
            begun = time.monotonic()
            from_rank_0(functools.partial(save, args.checkpoint, state), exit_code=lambda _: 1)
            progress.checkpoint(step, time.monotonic() - begun, args.save_every)

    if stop and step < last_step:
        say(f"stopped by SIGTERM, saved step {step}" if args.checkpoint else "stopped by SIGTERM, saved nothing: no --checkpoint")
        dist.destroy_process_group()
        raise SystemExit(143)
    with torch.no_grad():
        guesses = model.module(images[training + rank :: world]).argmax(dim=1)
    right = (guesses == labels[training + rank :: world]).sum().cpu()
    dist.all_reduce(right)
    say(f"accuracy {right.item() / (len(labels) - training):.2f} of {len(labels) - training} other pictures")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
