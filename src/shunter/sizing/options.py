"""What a training is to be sized for, as values that are checked when they are made, and the texts in which people write
numbers."""

from __future__ import annotations

import dataclasses
import re
from typing import Final, Literal, get_args

from shunter.api.names import image_faults, label_1035_faults, label_faults, label_value_faults
from shunter.argument_types import require_types
from shunter.errors import InputError

Optimizer = Literal["adamw", "adam8bit", "sgd", "adafactor"]
Precision = Literal["bf16-mixed", "bf16", "fp32"]
Strategy = Literal["auto", "ddp", "zero1", "zero2", "fsdp", "lora", "qlora"]
Checkpointing = Literal["none", "selective", "full"]
Loss = Literal["eager", "fused"]
JobApi = Literal["trainjob", "pytorchjob"]

MOST_NODES: Final = 64
MOST: Final = 2**31 - 1
"""The maximum of any other number: some of them are int32 fields of a job."""
MOST_TOKENS: Final = 10**15
LEAST_PARAMETERS: Final = 10**6
"""Below that a unit was forgotten."""
_MAGNITUDES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_MAGNITUDE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)([kmbt]?)", re.ASCII | re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class SizeOptions:
    """How the model is trained. InputError for values that cannot be meant."""

    seq: int = 0
    """Tokens of a sequence; 0: 8192, or what the model can take if that is less."""
    batch: int = 1
    """Sequences of one step, on each data-parallel rank."""
    optimizer: Optimizer = "adamw"
    precision: Precision = "bf16-mixed"
    strategy: Strategy = "auto"
    tp: int = 1
    pp: int = 1
    cp: int = 1
    checkpointing: Checkpointing = "full"
    loss: Loss = "eager"
    hsdp: bool = False
    """Shard within a node and replicate over nodes, where else FSDP shards over all GPUs."""
    lora_rank: int = 16
    tokens: int = 10**9
    """Tokens of the training, for the estimate of its time."""
    nodes: int = 0
    """Exactly so many; 0: as few as fit, at most MOST_NODES."""

    def __post_init__(self) -> None:
        for field, kind in (
            ("optimizer", Optimizer),
            ("precision", Precision),
            ("strategy", Strategy),
            ("checkpointing", Checkpointing),
            ("loss", Loss),
        ):
            value, known = getattr(self, field), get_args(kind)
            if value not in known:
                raise InputError(f"--{field} {value!r} is not known.", f"Use one of: {', '.join(known)}.")
        require_types(SizeOptions, vars(self))
        for field, least, most in (
            ("seq", 0, MOST),
            ("batch", 1, MOST),
            ("tp", 1, MOST),
            ("pp", 1, MOST),
            ("cp", 1, MOST),
            ("lora_rank", 1, MOST),
            ("tokens", 1, MOST_TOKENS),
            ("nodes", 0, MOST),
        ):
            value, option = getattr(self, field), f"--{field.replace('_', '-')}"
            if value < least:
                raise InputError(f"{option} is {value}; it must be at least {max(least, 1)}.")
            if value > most:
                raise InputError(f"{option} is too large; it must be at most {most:,}.")


def require_effect(options: SizeOptions) -> None:
    """InputError for options that change nothing with the strategy that was chosen."""
    strategy = options.strategy
    if options.lora_rank != SizeOptions.lora_rank and strategy not in ("lora", "qlora"):
        raise InputError(
            f"--lora-rank {options.lora_rank} has no effect with --strategy {strategy}, which trains all parameters.",
            "Add --strategy lora or qlora, or leave --lora-rank out.",
        )
    if options.hsdp and strategy == "ddp":
        raise InputError(
            "--hsdp has no effect with --strategy ddp, which shards nothing.", "Use --strategy fsdp, or leave --hsdp out."
        )


@dataclasses.dataclass(frozen=True)
class ManifestOptions:
    """Names of the user's own things for manifests. What is empty is a placeholder in them, by its name: nothing is invented."""

    name: str = "training"
    namespace: str = "default"
    api: JobApi = "trainjob"
    image: str = ""
    role: str = ""
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    ami: str = ""
    """An alias (al2023@v20260801) or an id (ami-0123)."""
    zone: str = ""
    reservation: str = ""
    """Id of a capacity reservation."""
    spot: bool = False
    kueue: bool = False

    def __post_init__(self) -> None:
        if self.api not in get_args(JobApi):
            raise InputError(f"--api {self.api!r} is not known.", f"Use one of: {', '.join(get_args(JobApi))}.")
        require_types(ManifestOptions, vars(self))
        for option, value, faults in (
            ("--name", self.name, label_1035_faults(self.name)),
            ("--namespace", self.namespace, label_faults(self.namespace)),
        ):
            if faults:
                raise InputError(f"{option} {value!r}: {faults[0]}.")
        for option, prefix, values in (
            ("--subnet", "subnet-", self.subnets),
            ("--security-group", "sg-", self.security_groups),
            ("--capacity-reservation", "cr-", (self.reservation,) if self.reservation else ()),
        ):
            for value in values:
                if not re.fullmatch(rf"{prefix}[0-9a-z]+", value):
                    raise InputError(f"{option} {value!r} is not an ID.", f"Write it like {prefix}0123456789abcdef0.")
        if self.image and (faults := image_faults(self.image)):
            raise InputError(f"--image {self.image!r}: {faults[0]}.")
        if faults := label_value_faults(self.zone):
            raise InputError(f"--zone {self.zone!r}: {faults[0]}.", "Write it like us-east-1a.")
        if self.role and not re.fullmatch(r"[A-Za-z0-9+=,.@_-]{1,64}", self.role):
            raise InputError(f"--role {self.role!r} is not the name of an IAM role.", "Write it like KarpenterNodeRole-main.")
        if self.ami and not re.fullmatch(r"ami-[0-9a-z]+|(al2023|bottlerocket)@v[0-9][0-9.]*", self.ami):
            raise InputError(
                f"--ami {self.ami!r} does not pin an image.",
                "Write an alias with its version, like al2023@v20260801, or an id, like ami-0123.",
            )

    @property
    def pool_options(self) -> list[str]:
        """The options that were given and concern only a node pool."""
        fields = ("role", "subnets", "security_groups", "ami", "zone", "reservation", "spot")
        names = {"subnets": "--subnet", "security_groups": "--security-group", "reservation": "--capacity-reservation"}
        return [names.get(field, f"--{field}") for field in fields if getattr(self, field)]


def amount(option: str, text: str) -> int:
    """`8B`, `70b`, `1.5B`, `350M`, `8030261248` -> a whole number. InputError for what is none."""
    found = _MAGNITUDE.fullmatch(text.strip())
    number = round(float(found[1]) * _MAGNITUDES[found[2].lower()]) if found else 0
    if not 1 <= number <= MOST_TOKENS:
        raise InputError(f"{option} {text!r} is not a number.", f"Write it like {option} 8B, 350M or 1.5B.")
    return number


def parameter_count(text: str) -> int:
    """What --params says, as `amount` reads it. InputError also for less than a million."""
    number = amount("--params", text)
    if number < LEAST_PARAMETERS:
        raise InputError(f"--params {text!r} is less than a million.", "Write it like --params 8B, 350M or 1.5B.")
    return number
