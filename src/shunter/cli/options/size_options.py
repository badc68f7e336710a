"""Options of `size`: what is trained, and whose names stand in manifests."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NamedTuple

import typer

from shunter.sizing.options import Checkpointing, JobApi, Loss, Optimizer, Precision, Strategy


class Form(StrEnum):
    """What `-o` accepts."""

    table = "table"
    json = "json"
    yaml = "yaml"
    manifests = "manifests"


class TrainingOptions(NamedTuple):
    """How the model is trained."""

    seq: Annotated[
        int | None, typer.Option("--seq", min=1, help="Sequence length in tokens [default: 8192, or what the model takes].")
    ] = None
    batch: Annotated[int, typer.Option("--batch", help="Sequences a step on each data-parallel rank.")] = 1
    optimizer: Annotated[Optimizer, typer.Option("--optimizer", help="Optimizer, which decides the bytes of a parameter.")] = (
        "adamw"
    )
    precision: Annotated[Precision, typer.Option("--precision", help="Precision of parameters and computation.")] = "bf16-mixed"
    strategy: Annotated[Strategy, typer.Option("--strategy", help="auto: DDP where it fits, else FSDP (which is ZeRO-3).")] = (
        "auto"
    )
    tp: Annotated[int, typer.Option("--tp", help="Tensor parallelism, within a machine.")] = 1
    pp: Annotated[int, typer.Option("--pp", help="Pipeline parallelism. Not modelled: no verdict is given.")] = 1
    cp: Annotated[int, typer.Option("--cp", help="Context parallelism: number of GPUs that share a sequence.")] = 1
    checkpointing: Annotated[Checkpointing, typer.Option("--checkpointing", help="Activation checkpointing.")] = "full"
    loss: Annotated[
        Loss, typer.Option("--loss", help="eager: all logits are in memory; fused: a fused, chunked or compiled loss.")
    ] = "eager"
    hsdp: Annotated[bool, typer.Option("--hsdp", help="Shard within each machine and replicate over machines.")] = False
    lora_rank: Annotated[int, typer.Option("--lora-rank", help="With lora and qlora: rank of the adapters.")] = 16
    tokens: Annotated[str, typer.Option("--tokens", help="Number of tokens to give the time for, like 10B.")] = "1B"
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help="Number of machines [default: as few as fit, at most 64].")
    ] = None


class NameOptions(NamedTuple):
    """Names for manifests."""

    name: Annotated[str, typer.Option("--name", help="With -o manifests: name of the job and of all objects with it.")] = (
        "training"
    )
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="With -o manifests: namespace of the job.")] = "default"
    api: Annotated[JobApi, typer.Option("--api", help="With -o manifests: kind of the job.")] = "trainjob"
    image: Annotated[str, typer.Option("--image", help="With -o manifests: image of the training container.")] = ""
    role: Annotated[str, typer.Option("--role", help="With -o manifests: IAM role of Karpenter's nodes.")] = ""
    subnet: Annotated[
        list[str], typer.Option("--subnet", help="With -o manifests: id of a subnet or group; may be given several times.")
    ] = []
    security_group: Annotated[
        list[str],
        typer.Option("--security-group", help="With -o manifests: id of a subnet or group; may be given several times."),
    ] = []
    ami: Annotated[str, typer.Option("--ami", help="With -o manifests: AMI of the nodes, like al2023@v20260801 or ami-0123.")] = (
        ""
    )
    zone: Annotated[str, typer.Option("--zone", help="With -o manifests: zone of the nodes; needed with EFA.")] = ""
    capacity_reservation: Annotated[
        str, typer.Option("--capacity-reservation", help="With -o manifests: id of a capacity reservation, used first.")
    ] = ""
    spot: Annotated[bool, typer.Option("--spot", help="With -o manifests: use spot machines, not on-demand ones.")] = False
    kueue: Annotated[bool, typer.Option("--kueue", help="With -o manifests: add queues of Kueue for the job.")] = False
