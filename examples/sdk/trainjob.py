"""Trains a small network on two nodes with the Kubeflow SDK, as a TrainJob.

pip install kubeflow, point KUBECONFIG at a cluster (`shunter up` prints the line), and run it; a namespace may be named.
"""

import os
import sys

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, TrainerClient


def train(epochs: int, learning_rate: float) -> None:
    """Runs in every pod, started by torchrun. Only this function's text travels there, so its imports are inside."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    samples = torch.randn(256, 8)
    targets = samples.sum(dim=1, keepdim=True)
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(samples), targets)
        loss.backward()
        optimizer.step()
    weight = model.module.weight.sum()
    dist.all_reduce(weight)
    print(f"rank {rank} of {size}: loss {loss.item():.4f}, mean weight sum {weight.item() / size:.2f}", flush=True)
    dist.destroy_process_group()


def main(namespace: str) -> None:
    client = TrainerClient(KubernetesBackendConfig(namespace=namespace, config_file=os.environ.get("KUBECONFIG")))
    print("runtimes:", *sorted(runtime.name for runtime in client.list_runtimes()))
    name = client.train(
        runtime=client.get_runtime("torch-distributed"),
        trainer=CustomTrainer(
            func=train,
            func_args={"epochs": 200, "learning_rate": 0.05},
            num_nodes=2,
            resources_per_node={"cpu": 1, "memory": "1Gi"},
        ),
    )
    client.wait_for_job_status(name, status={"Running", "Complete"}, polling_interval=1)
    for line in client.get_job_logs(name, follow=True):
        print(line)
    job = client.wait_for_job_status(name, polling_interval=1)
    for step in job.steps[1:]:
        print(*client.get_job_logs(name, step=step.name), sep="\n")
    print(f"{job.name} is {job.status} on {job.num_nodes} nodes")
    client.delete_job(name)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["default"])
