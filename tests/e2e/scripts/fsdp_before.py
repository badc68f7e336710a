"""An FSDP1 script as many are written, with checkpoints "on rank 0 only". What to change is in docs/training/fsdp.md, and
fsdp_after.py is what comes of that."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP  # noqa: N817
from torch.distributed.fsdp import ShardingStrategy


def train() -> None:
    dist.init_process_group(
        backend="nccl", init_method="env://", world_size=int(os.environ["WORLD_SIZE"]), rank=int(os.environ["RANK"])
    )
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    layers = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(3)), nn.Linear(64, 10))
    model = FSDP(layers, sharding_strategy=ShardingStrategy.FULL_SHARD, device_id=local_rank)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(2):
        for _ in range(20):
            data = torch.randn(32, 64).to(local_rank)
            loss = nn.functional.cross_entropy(model(data), data[:, :10].argmax(1))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        if dist.get_rank() == 0:
            torch.save(model.state_dict(), f"checkpoint_{epoch}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    train()
