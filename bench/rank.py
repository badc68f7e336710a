"""One rank: joins the group over gloo, says when its first all_reduce was through, and ends."""

import time

import torch
import torch.distributed

torch.distributed.init_process_group("gloo")
torch.distributed.all_reduce(torch.ones(1))
print(f"first all_reduce at {time.time()}", flush=True)
torch.distributed.destroy_process_group()
