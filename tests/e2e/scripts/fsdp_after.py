"""fsdp_before.py with the changes of docs/training/fsdp.md: FSDP2, and a checkpoint that holds the whole model."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard


def train() -> None:
    dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo")
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(3)]
    model = nn.Sequential(*blocks, nn.Linear(64, 10))
    for part in (*blocks, model):
        fully_shard(part)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    order = torch.Generator().manual_seed(dist.get_rank())
    for epoch in range(2):
        total = torch.zeros((), device=device)
        for _ in range(20):
            data = torch.randn(32, 64, generator=order).to(device)
            loss = nn.functional.cross_entropy(model(data), data[:, :10].argmax(1))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
        dist.all_reduce(total)
        print(f"rank {dist.get_rank()}, epoch {epoch}: loss {total.item() / dist.get_world_size() / 20:.4f}", flush=True)
        save(model, os.path.join(os.environ["SHUNTER_CHECKPOINT_DIR"], f"checkpoint_{epoch}.pt"))
    if dist.get_rank() == 0:
        saved = torch.load(os.path.join(os.environ["SHUNTER_CHECKPOINT_DIR"], "checkpoint_1.pt"), weights_only=True)
        print(f"saved {sum(weight.numel() for weight in saved.values() if type(weight) is torch.Tensor)} weights", flush=True)
    dist.destroy_process_group()


def save(model: nn.Module, path: str) -> None:
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))  # on all ranks
    if dist.get_rank() == 0:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save(whole, f"{path}.tmp")
        os.replace(f"{path}.tmp", path)
    dist.barrier()


if __name__ == "__main__":
    train()
