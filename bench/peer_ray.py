"""One job of Ray Train with two ranks, as bench/peers.py starts it, on a cluster of its own."""

from __future__ import annotations

import ray
from ray.train import ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer


def rank() -> None:
    import time

    import torch

    torch.distributed.all_reduce(torch.ones(1))
    print(f"first all_reduce at {time.time()}", flush=True)


ray.init(address="local", num_cpus=2, include_dashboard=False)
scaling = ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1})
TorchTrainer(rank, scaling_config=scaling, torch_config=TorchConfig(backend="gloo")).fit()
