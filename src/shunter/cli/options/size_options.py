"""Options of `size`: the training, and the names for manifests."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NamedTuple

import typer

from shunter.sizing.options import Checkpointing, JobApi, Loss, Optimizer, Precision, Strategy


class Form(StrEnum):
    """Values of `-o`."""

    table = "table"
    json = "json"
    yaml = "yaml"
    manifests = "manifests"


class TrainingOptions(NamedTuple):
    """How the model is trained."""

    seq: Annotated[
        int | None,
        typer.Option("--seq", min=1, help="Sequence length in tokens [default: 8192, at most the maximum of the model]."),
    ] = None
    batch: Annotated[int, typer.Option("--batch", help="Sequences per step on each data-parallel rank.")] = 1
    optimizer: Annotated[Optimizer, typer.Option("--optimizer", help="Optimizer; determines the bytes per parameter.")] = "adamw"
    precision: Annotated[Precision, typer.Option("--precision", help="Precision of parameters and computation.")] = "bf16-mixed"
    strategy: Annotated[Strategy, typer.Option("--strategy", help="auto: DDP if it fits, else FSDP (ZeRO-3).")] = "auto"
    tp: Annotated[int, typer.Option("--tp", help="Tensor parallel size, within a machine.")] = 1
    pp: Annotated[int, typer.Option("--pp", help="Pipeline parallel size. Not modeled: no verdict if above 1.")] = 1
    cp: Annotated[int, typer.Option("--cp", help="Context parallel size: GPUs that share a sequence.")] = 1
    checkpointing: Annotated[Checkpointing, typer.Option("--checkpointing", help="Activation checkpointing.")] = "full"
    loss: Annotated[Loss, typer.Option("--loss", help="eager: all logits in memory; fused: fused, chunked or compiled loss.")] = (
        "eager"
    )
    hsdp: Annotated[bool, typer.Option("--hsdp", help="Shard within each machine and replicate across machines.")] = False
    lora_rank: Annotated[int, typer.Option("--lora-rank", help="Rank of the adapters with lora and qlora.")] = 16
    tokens: Annotated[str, typer.Option("--tokens", help="Number of tokens to estimate the duration for, as in 10B.")] = "1B"
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help="Number of machines [default: the smallest that fits, at most 64].")
    ] = None


class NameOptions(NamedTuple):
    """Names for manifests."""

    name: Annotated[str, typer.Option("--name", help="With -o manifests: name of the job and its objects.")] = "training"
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="With -o manifests: namespace of the job.")] = "default"
    api: Annotated[JobApi, typer.Option("--api", help="With -o manifests: kind of the job.")] = "trainjob"
    image: Annotated[str, typer.Option("--image", help="With -o manifests: image of the training container.")] = ""
    role: Annotated[str, typer.Option("--role", help="With -o manifests: IAM role of Karpenter's nodes.")] = ""
    subnet: Annotated[
        list[str], typer.Option("--subnet", help="With -o manifests: id of a subnet or security group; repeatable.")
    ] = []
    security_group: Annotated[
        list[str],
        typer.Option("--security-group", help="With -o manifests: id of a subnet or security group; repeatable."),
    ] = []
    ami: Annotated[
        str, typer.Option("--ami", help="With -o manifests: AMI of the nodes, as in al2023@v20260801 or ami-0123.")
    ] = ""
    zone: Annotated[str, typer.Option("--zone", help="With -o manifests: zone of the nodes; required with EFA.")] = ""
    capacity_reservation: Annotated[
        str, typer.Option("--capacity-reservation", help="With -o manifests: id of a capacity reservation to use first.")
    ] = ""
    spot: Annotated[bool, typer.Option("--spot", help="With -o manifests: use spot instead of on-demand machines.")] = False
    kueue: Annotated[bool, typer.Option("--kueue", help="With -o manifests: add Kueue queues for the job.")] = False
