"""What each call of the v1 SDK becomes in that of v2: kubeflow-training 1.9 to kubeflow 0.5. For `scan`, and a page of `report`.

The code of `after` is checked against the SDK by a test: names, and names of arguments.
"""

from __future__ import annotations

from typing import NamedTuple


class Counterpart(NamedTuple):
    """Calls of the v1 SDK that have one counterpart. `before` and `after` are the same program with either SDK."""

    calls: tuple[str, ...]
    """Methods of TrainingClient; the class itself is `TrainingClient`."""
    v2: str
    """The call that stands for it, short; empty when there is none."""
    loss: str
    """What is different, or missing."""
    before: str
    after: str


COUNTERPARTS: tuple[Counterpart, ...] = (
    Counterpart(
        calls=("TrainingClient",),
        v2="TrainerClient(backend_config=KubernetesBackendConfig(...))",
        loss="No job_kind: there is one kind. The namespace belongs to the client, not to each call.",
        before="""\
from kubeflow.training import TrainingClient

client = TrainingClient(namespace="team-a", job_kind="PyTorchJob")
""",
        after="""\
from kubeflow.trainer import KubernetesBackendConfig, TrainerClient

client = TrainerClient(backend_config=KubernetesBackendConfig(namespace="team-a"))
""",
    ),
    Counterpart(
        calls=("create_job",),
        v2="train(runtime=..., trainer=CustomTrainer(...))",
        loss=(
            "num_workers counts all ranks and becomes num_nodes. num_procs_per_worker, num_chief_replicas, num_ps_replicas, "
            "volumes and a whole job object have no argument: they belong into a TrainingRuntime, which `shunter migrate "
            "convert` writes. queue_name becomes a label."
        ),
        before="""\
client.create_job(
    name="bert",
    train_func=train,
    parameters={"epochs": 3},
    num_workers=4,
    resources_per_worker={"gpu": 1},
    packages_to_install=["transformers"],
    env_vars={"NCCL_DEBUG": "INFO"},
    queue_name="research",
)
""",
        after="""\
from kubeflow.trainer import CustomTrainer
from kubeflow.trainer.options import Labels, Name

client.train(
    runtime="torch-distributed",
    trainer=CustomTrainer(
        func=train,
        func_args={"epochs": 3},
        num_nodes=4,
        resources_per_node={"gpu": 1},
        packages_to_install=["transformers"],
        env={"NCCL_DEBUG": "INFO"},
    ),
    options=[Name("bert"), Labels({"kueue.x-k8s.io/queue-name": "research"})],
)
""",
    ),
    Counterpart(
        calls=("train",),
        v2="train(runtime=..., initializer=..., trainer=BuiltinTrainer(TorchTuneConfig(...)))",
        loss=(
            "Another program trains (torchtune in place of the Hugging Face Trainer), with parameters of its own; init "
            "containers of the runtime fetch model and data. Losses are not comparable."
        ),
        before="""\
client.train(
    name="tune",
    num_workers=2,
    resources_per_worker={"gpu": 1},
    model_provider_parameters=HuggingFaceModelParams(
        model_uri="hf://meta-llama/Llama-3.2-1B", transformer_type=AutoModelForCausalLM
    ),
    dataset_provider_parameters=HuggingFaceDatasetParams(repo_id="tatsu-lab/alpaca", split="train"),
)
""",
        after="""\
from kubeflow.trainer import (
    BuiltinTrainer,
    HuggingFaceDatasetInitializer,
    HuggingFaceModelInitializer,
    Initializer,
    TorchTuneConfig,
)
from kubeflow.trainer.options import Name

client.train(
    runtime="torchtune-llama3.2-1b",
    initializer=Initializer(
        dataset=HuggingFaceDatasetInitializer(storage_uri="hf://tatsu-lab/alpaca"),
        model=HuggingFaceModelInitializer(storage_uri="hf://meta-llama/Llama-3.2-1B"),
    ),
    trainer=BuiltinTrainer(config=TorchTuneConfig(num_nodes=2, resources_per_node={"gpu": 1})),
    options=[Name("tune")],
)
""",
    ),
    Counterpart(
        calls=("get_job", "list_jobs", "delete_job"),
        v2="the same names",
        loss="They answer with types of the SDK (name, status, steps, num_nodes), not with the object of the cluster.",
        before="""\
job = client.get_job("bert")
succeeded = job.status.replica_statuses["Worker"].succeeded
""",
        after="""\
job = client.get_job("bert")
print(job.status, [(step.name, step.status) for step in job.steps])
""",
    ),
    Counterpart(
        calls=("update_job",),
        v2="",
        loss="A TrainJob's trainer and runtime never change after its creation: delete it and train again, or take another name.",
        before="""\
client.update_job(job, name="bert")
""",
        after="""\
from kubeflow.trainer import CustomTrainer

client.delete_job("bert")
client.train(runtime="torch-distributed", trainer=CustomTrainer(func=train, num_nodes=8))
""",
    ),
    Counterpart(
        calls=(
            "get_job_conditions",
            "is_job_created",
            "is_job_running",
            "is_job_restarting",
            "is_job_succeeded",
            "is_job_failed",
        ),
        v2="get_job(...).status",
        loss="status is Created, Running, Complete, Failed or Unknown; not Restarting or Suspended, and no reasons.",
        before="""\
if client.is_job_succeeded("bert"):
    publish()
""",
        after="""\
if client.get_job("bert").status == "Complete":
    publish()
""",
    ),
    Counterpart(
        calls=("wait_for_job_conditions",),
        v2="wait_for_job_status(...)",
        loss="Succeeded is called Complete; wait_timeout is timeout, callback is callbacks; it looks every 2 s, not 15.",
        before="""\
client.wait_for_job_conditions("bert", expected_conditions={"Succeeded"}, wait_timeout=3600, callback=show)
""",
        after="""\
client.wait_for_job_status("bert", status={"Complete"}, timeout=3600, callbacks=[show])
""",
    ),
    Counterpart(
        calls=("get_job_pods", "get_job_pod_names"),
        v2="get_job(...).steps",
        loss="Pods end in a random part, so ask for their names; none carries training.kubeflow.org/* labels.",
        before="""\
for name in client.get_job_pod_names("bert", is_master=True):
    print(name)
""",
        after="""\
for step in client.get_job("bert").steps:
    print(step.name, step.pod_name)
""",
    ),
    Counterpart(
        calls=("get_job_logs",),
        v2='get_job_logs(..., step="node-0")',
        loss="An iterator over the lines of one step, not texts by pod; events have get_job_events. Rank 0 is node-0.",
        before="""\
logs, events = client.get_job_logs("bert", is_master=True)
print(logs["bert-master-0"])
""",
        after="""\
for line in client.get_job_logs("bert", step="node-0"):
    print(line)
""",
    ),
)


def counterpart_of(call: str) -> Counterpart | None:
    """The counterpart of a method of TrainingClient, or of the class itself; None if there is none."""
    return next((counterpart for counterpart in COUNTERPARTS if call in counterpart.calls), None)
