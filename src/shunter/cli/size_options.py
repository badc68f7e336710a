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
        int | None, typer.Option("--seq", min=1, help="Tokens of a sequence [default: 8192, or what the model takes].")
    ] = None
    batch: Annotated[int, typer.Option("--batch", help="Sequences of a step on each data-parallel rank.")] = 1
    optimizer: Annotated[Optimizer, typer.Option("--optimizer", help="Optimizer.")] = "adamw"
    precision: Annotated[Precision, typer.Option("--precision", help="Of parameters and computation.")] = "bf16-mixed"
    strategy: Annotated[Strategy, typer.Option("--strategy", help="auto: DDP where it fits, else FSDP (which is ZeRO-3).")] = (
        "auto"
    )
    tp: Annotated[int, typer.Option("--tp", help="Tensor parallelism, within a machine.")] = 1
    pp: Annotated[int, typer.Option("--pp", help="Pipeline parallelism; not modelled, so that nothing is said to fit.")] = 1
    cp: Annotated[int, typer.Option("--cp", help="Context parallelism: sequences divided over so many GPUs.")] = 1
    checkpointing: Annotated[
        Checkpointing, typer.Option("--checkpointing", help="Activations that are made again in the backward pass.")
    ] = "full"
    loss: Annotated[
        Loss, typer.Option("--loss", help="fused: logits are never whole in memory (fused, chunked or compiled loss).")
    ] = "eager"
    hsdp: Annotated[bool, typer.Option("--hsdp", help="Shard within each machine and replicate over machines.")] = False
    lora_rank: Annotated[int, typer.Option("--lora-rank", help="With lora and qlora: rank of the adapters.")] = 16
    tokens: Annotated[str, typer.Option("--tokens", help="How many the time is told for, like 10B.")] = "1B"
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help="Exactly so many machines [default: as few as fit, at most 64].")
    ] = None


class NameOptions(NamedTuple):
    """Names for manifests."""

    name: Annotated[str, typer.Option("--name", help="With -o manifests: of the job and of all objects with it.")] = "training"
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="With -o manifests: of the job.")] = "default"
    api: Annotated[JobApi, typer.Option("--api", help="With -o manifests: the kind of the job.")] = "trainjob"
    image: Annotated[str, typer.Option("--image", help="With -o manifests: of the training's container.")] = ""
    role: Annotated[str, typer.Option("--role", help="With -o manifests: IAM role of Karpenter's nodes.")] = ""
    subnet: Annotated[list[str], typer.Option("--subnet", help="With -o manifests: id; may be given several times.")] = []
    security_group: Annotated[
        list[str], typer.Option("--security-group", help="With -o manifests: id; may be given several times.")
    ] = []
    ami: Annotated[str, typer.Option("--ami", help="With -o manifests: image of nodes, like al2023@v20260801 or ami-0123.")] = ""
    zone: Annotated[str, typer.Option("--zone", help="With -o manifests: the one zone of machines with EFA.")] = ""
    capacity_reservation: Annotated[
        str, typer.Option("--capacity-reservation", help="With -o manifests: id of reserved machines, used first.")
    ] = ""
    spot: Annotated[bool, typer.Option("--spot", help="With -o manifests: spot machines in place of on-demand ones.")] = False
    kueue: Annotated[bool, typer.Option("--kueue", help="With -o manifests: a queue of Kueue that admits the job.")] = False
