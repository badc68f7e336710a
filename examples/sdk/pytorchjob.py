"""Trains a small network on two workers with the training operator's SDK, as a PyTorchJob.

pip install kubeflow-training, point KUBECONFIG at a cluster (`shunter up` prints the line), and run it; a namespace may be named.
"""

import os
import sys
import time

from kubeflow.training import TrainingClient


def train(parameters: dict[str, float]) -> None:
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
    optimizer = torch.optim.SGD(model.parameters(), lr=parameters["learning_rate"])
    for _ in range(int(parameters["epochs"])):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(samples), targets)
        loss.backward()
        optimizer.step()
    weight = model.module.weight.sum()
    dist.all_reduce(weight)
    print(f"rank {rank} of {size}: loss {loss.item():.4f}, mean weight sum {weight.item() / size:.2f}", flush=True)
    dist.destroy_process_group()


def main(namespace: str) -> None:
    client = TrainingClient(config_file=os.environ.get("KUBECONFIG"), namespace=namespace)
    name = "sdk-pytorchjob"
    client.create_job(
        name=name,
        train_func=train,
        parameters={"epochs": 200, "learning_rate": 0.05},
        num_workers=2,
        num_procs_per_worker=1,
        resources_per_worker={"cpu": "1", "memory": "1Gi"},
    )
    client.wait_for_job_conditions(name, expected_conditions={"Running", "Succeeded"}, polling_interval=1)
    while any(pod.status.phase == "Pending" for pod in client.get_job_pods(name)):
        time.sleep(0.5)  # a pod that waits has no log yet
    client.get_job_logs(name, is_master=False, follow=True)  # prints them as they come
    job = client.wait_for_job_conditions(name, polling_interval=1)
    print(f"{name} has {', '.join(one.type for one in job.status.conditions if one.status == 'True')}")
    print("pods:", *client.get_job_pod_names(name))
    client.delete_job(name)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["default"])
