"""One job of the Kubeflow SDK's local processes, as bench/peers.py starts it; the argument is a wheel that stands for torch's.

The SDK makes a virtual environment for each job and installs torch there; torchrun takes the number of ranks from its variable.
"""

from __future__ import annotations

import sys

from kubeflow.trainer import CustomTrainer, TrainerClient
from kubeflow.trainer.backends.localprocess.types import LocalProcessBackendConfig


def rank() -> None:
    import time

    import torch

    torch.distributed.init_process_group("gloo")
    torch.distributed.all_reduce(torch.ones(1))
    print(f"first all_reduce at {time.time()}", flush=True)
    torch.distributed.destroy_process_group()


client = TrainerClient(LocalProcessBackendConfig())
runtime = client.list_runtimes()[0]
environment = {"PET_NPROC_PER_NODE": "2"}
trainer = CustomTrainer(func=rank, packages_to_install=[f"torch @ file://{sys.argv[1]}"], env=environment)
name = client.train(runtime=runtime, trainer=trainer)
for line in client.get_job_logs(name, follow=True):
    print(line)
if client.wait_for_job_status(name, status={"Complete", "Failed"}, polling_interval=1).status != "Complete":
    sys.exit("the job failed")
