"""A rank of a job on gloo that breaks in the way that its argument names. Prints a line a step, as trainings do."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from datetime import timedelta

FAULT = sys.argv[1]
SLOW, SLOWER = 0.1, 0.6
RANK = int(os.environ.get("RANK", "0"))


def step(number: int) -> None:
    print(f"step {number} loss {1 / number:.3f}", flush=True)


def importing() -> None:
    """Is still importing a module while the others train."""
    os.makedirs("/tmp/slow", exist_ok=True)
    with open("/tmp/slow/slow_module.py", "w") as file:
        file.write("import time\ntime.sleep(600)\n")
    sys.path.insert(0, "/tmp/slow")
    __import__("slow_module")


if FAULT == "importing" and RANK == 1:
    importing()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402


class Data(torch.utils.data.Dataset[int]):
    """Whose fourth item never comes, on rank 1."""

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> int:
        if RANK == 1 and index >= 3:
            read_forever()
        return index


def read_forever() -> None:
    time.sleep(600)


def never_returns() -> None:
    time.sleep(600)


def train(batches: Iterable[object]) -> None:
    for number, _ in enumerate(batches, 1):
        tensor = torch.ones(4)
        if FAULT == "sleep" and RANK == 1 and number == 4:
            never_returns()
        if FAULT == "skipped call" and RANK == 1 and number == 4:
            dist.barrier()
        elif FAULT == "other call" and RANK == 1 and number == 4:
            dist.broadcast(tensor, 0)
        elif FAULT == "sizes" and RANK == 1 and number == 4:
            dist.all_reduce(torch.ones(8))
        elif FAULT == "exception" and RANK == 1 and number == 4:
            raise ValueError("no data in shard 7")
        elif FAULT == "killed" and RANK == 1 and number == 4:
            os.kill(os.getpid(), 9)
        elif FAULT == "not permitted" and RANK == 0 and number == 4:
            torch.save(tensor, "/data/checkpoint.pt")
        elif FAULT == "leaves early" and RANK == 1 and number == 4:
            sys.exit(0)
        elif FAULT == "barrier" and number == 4:
            if RANK == 1:
                never_returns()
            dist.monitored_barrier(timeout=timedelta(seconds=5))
        else:
            dist.all_reduce(tensor)
        if FAULT == "not a number" and number > 3:
            print(f"step {number} loss nan", flush=True)
        else:
            step(number)
        time.sleep(SLOWER if FAULT == "straggler" and RANK == 1 else SLOW)


def main() -> None:
    if FAULT == "never joins" and RANK == 1:
        never_returns()
    if FAULT == "retries":
        print("[W1125 20:00:00.1 socket.cpp:767] [c10d] (gai error: -3 - Temporary failure in name resolution).", flush=True)
    if FAULT == "wrong size":
        os.environ["WORLD_SIZE"] = str(int(os.environ["WORLD_SIZE"]) + 1)
    if FAULT == "taken twice" and RANK == 2:
        os.environ["RANK"] = "1"
    if FAULT == "wrong port" and RANK > 0:
        os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + 1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=int(os.environ.get("TIMEOUT", "600"))))
    if FAULT == "loader":
        train(torch.utils.data.DataLoader(Data(), num_workers=1, batch_size=1, prefetch_factor=1))
    else:
        train(range(100_000))


if os.environ.get("TORCH_WORKER_SERVER_SOCKET"):
    from torch.distributed.elastic.control_plane import worker_main

    server = worker_main()
    assert server is not None
    with server:
        main()
else:
    main()
