"""ddp_before.py with the changes of docs/training/ddp.md: it trains with and without GPUs, under torchrun or not."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Points(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    def __init__(self, size: int) -> None:
        self.data = torch.randn(size, 784, generator=torch.Generator().manual_seed(0))
        self.labels = self.data[:, :10].argmax(1)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.data[index], self.labels[index]


def setup() -> tuple[int, torch.device]:
    dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo")
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return dist.get_rank(), device


def train() -> None:
    rank, device = setup()
    model = DDP(nn.Linear(784, 10).to(device))
    dataset = Points(2000)
    sampler: DistributedSampler[tuple[torch.Tensor, torch.Tensor]] = DistributedSampler(dataset)
    dataloader = DataLoader(dataset, batch_size=50, sampler=sampler)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        total = torch.zeros((), device=device)
        for data, target in dataloader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(data.to(device)), target.to(device))
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        print(f"rank {rank}, epoch {epoch}: loss {total.item() / dist.get_world_size() / len(dataloader):.4f}", flush=True)
    if rank == 0:
        path = os.path.join(os.environ["SHUNTER_CHECKPOINT_DIR"], "model.pt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save(model.module.state_dict(), f"{path}.tmp")
        os.replace(f"{path}.tmp", path)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    train()
