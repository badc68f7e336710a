"""One rank that goes on from the step it saved last: joins the group over gloo, says when its first all_reduce was through, and
steps on until it is told to end. Argument: the directory that all ranks share. Without torchrun it takes the group from what the
pods of a TrainJob are told."""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed

shared = Path(sys.argv[1])
if "RANK" not in os.environ:
    names = {"RANK": "NODE_RANK", "WORLD_SIZE": "NNODES", "MASTER_ADDR": "MASTER_ADDR", "MASTER_PORT": "MASTER_PORT"}
    os.environ |= {name: os.environ[f"PET_{source}"] for name, source in names.items()}
step = int((shared / "step").read_text()) if (shared / "step").exists() else 0
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
torch.distributed.all_reduce(torch.ones(1))
with (shared / "marks").open("a") as marks:
    marks.write(f"{rank} {step} {time.time()}\n")
end = torch.zeros(1)
while not end:
    end[0] = float((shared / "end").exists())
    torch.distributed.all_reduce(end)
    step += 1
    if rank == 0:
        (shared / "step.new").write_text(str(step))
        (shared / "step.new").rename(shared / "step")
    time.sleep(0.05)
torch.distributed.destroy_process_group()
