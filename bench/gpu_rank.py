"""A rank of a job on NCCL that breaks in the way that its argument names. Prints a line a step, as trainings do.

All ranks of a job may share one GPU: each says that it runs on a host of its own, as NCCL refuses two of one host on one GPU.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import cast

FAULT = sys.argv[1]
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
os.environ.setdefault("NCCL_HOSTID", f"{os.environ.get('HOSTNAME', 'host')}-{RANK}")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.elastic.control_plane import worker_main  # noqa: E402

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
BREAKS_AT = 12


class Data(torch.utils.data.Dataset[int]):
    """Of which rank 1 never gets all."""

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> int:
        if FAULT == "loader" and RANK == 1 and index >= BREAKS_AT:
            never_returns()
        return index


def never_returns() -> None:
    time.sleep(600)


def break_down(gradient: torch.Tensor) -> None:
    """What rank 1 does in place of its all_reduce."""
    if FAULT in ("stopped", "ahead", "timeout"):
        never_returns()
    elif FAULT == "other call":
        dist.broadcast(gradient, 0)
    elif FAULT == "sizes":
        dist.all_reduce(torch.ones(2 * gradient.numel(), device=DEVICE))
    elif FAULT == "memory":
        torch.empty(200 << 30, dtype=torch.uint8, device=DEVICE)
    else:
        dist.all_reduce(gradient)


def train() -> None:
    weight = torch.randn(2048, 2048, device=DEVICE)
    for number, _ in enumerate(torch.utils.data.DataLoader(Data(), num_workers=1, batch_size=1), 1):
        gradient = (weight @ weight)[:64].contiguous()
        if RANK == 1 and number == BREAKS_AT:
            break_down(gradient)
        else:
            dist.all_reduce(gradient)
        if FAULT == "slow rank" and RANK == 1:
            time.sleep(0.6)
        # Asked for its value at each step, the loss keeps the CPU beside the GPU; else the CPU runs ahead.
        if FAULT != "ahead" or number < BREAKS_AT:
            print(f"step {number} loss {gradient.flatten()[0].abs().item() / number:.3f}", flush=True)
            time.sleep(0.1)


def main() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.set_device(0)
    seconds = {"timeout": 15}.get(FAULT, 600)
    dist.init_process_group("nccl" if DEVICE.type == "cuda" else "gloo", timeout=timedelta(seconds=seconds))
    if RANK == 0:
        print(f"torch {torch.__version__}, {WORLD} ranks on {DEVICE.type}", flush=True)
    train()


with cast(AbstractContextManager[None], worker_main()):  # serves the flight recorder where TORCH_WORKER_SERVER_SOCKET is set
    main()
