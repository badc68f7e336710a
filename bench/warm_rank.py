"""One rank of a TrainJob: takes the group from what its pod is told, and says when its first all_reduce was through."""

import os
import time

import torch
import torch.distributed

names = {"RANK": "NODE_RANK", "WORLD_SIZE": "NNODES", "MASTER_ADDR": "MASTER_ADDR", "MASTER_PORT": "MASTER_PORT"}
os.environ |= {name: os.environ[f"PET_{source}"] for name, source in names.items()}
torch.distributed.init_process_group("gloo")
torch.distributed.all_reduce(torch.ones(1))
print(f"first all_reduce at {time.time()}", flush=True)
torch.distributed.destroy_process_group()
