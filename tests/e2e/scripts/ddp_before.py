"""A DDP script as many are written: for machines with GPUs, saved by rank 0 at the end. What to change: docs/training/ddp.md, and
ddp_after.py is what comes of that."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Points(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    def __init__(self, size: int) -> None:
        self.data = torch.randn(size, 784)
        self.labels = self.data[:, :10].argmax(1)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.data[index], self.labels[index]


def setup() -> tuple[int, int]:
    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    master_addr, master_port = os.environ.get("MASTER_ADDR", "localhost"), os.environ.get("MASTER_PORT", "23456")
    dist.init_process_group(backend="nccl", init_method=f"tcp://{master_addr}:{master_port}", world_size=world_size, rank=rank)
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    return rank, local_rank


def train() -> None:
    rank, local_rank = setup()
    model = DDP(nn.Linear(784, 10).to(local_rank), device_ids=[local_rank])
    dataset = Points(2000)
    sampler: DistributedSampler[tuple[torch.Tensor, torch.Tensor]] = DistributedSampler(dataset)
    dataloader = DataLoader(dataset, batch_size=50, sampler=sampler)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        epoch_loss = 0.0
        for data, target in dataloader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(data.to(local_rank)), target.to(local_rank))
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        avg_loss = epoch_loss / len(dataloader)  # aggregate across all ranks
        if rank == 0:
            print(f"epoch {epoch}: loss {avg_loss:.4f}")
    if rank == 0:
        torch.save(model.module.state_dict(), "/workspace/model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    train()
