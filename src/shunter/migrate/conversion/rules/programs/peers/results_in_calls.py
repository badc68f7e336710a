"""What functions of Python and its libraries do with the answers of look-ups that they are given: they ask for them, keep them,
show them, add them to a collection, or take a number by its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.commands import python_code
from shunter.migrate.conversion.commands.python_reads import ALL_ADDRESSES
from shunter.migrate.conversion.rules.programs.peers.peer_numbers import SHARE, Values, key_before

_OF_RESOLVER = frozenset({"resolve", "query"})
ASKS_DNS = rf"(?:{'|'.join(sorted(ALL_ADDRESSES))}|resolver\.(?:{'|'.join(sorted(_OF_RESOLVER))}))\([\s\\]{{0,200}}"
"""How a text calls one of them, or asks a resolver of dnspython, up to the first argument."""
KEEPERS = frozenset({
    "int", "str", "float", "max", "min", "abs", "round", "list", "set", "sorted", "tuple", "frozenset", "dict", "filter", "map",
    "zip", "reversed", "iter", "array", "asarray", "unique", "Counter", "chain", "fromkeys", "ceil", "floor", "repr", "format",
    "join", "next", "deepcopy", "copy", "tensor", "cast", "open", "Path", "load", "loads", "safe_load",
})  # fmt: skip
"""Functions that return what they are given, or a part of it."""
LISTERS = frozenset({"set", "sorted"})
"""The functions of KEEPERS that are given a whole list."""
SHOWS = late_pattern(
    r"(?:print|log\w*|wandb|mlflow|writer|warnings)\b|.*\.(?:debug|info|warning|error|exception|critical|log\w*|add_scalar)\Z",
    re.DOTALL,
)
"""Functions whose arguments are only shown."""
WRITES = frozenset({"write", "write_text", "writelines"})
ADDS = frozenset({"append", "add", "extend", "update", "insert"})
_POSITIONS: Mapping[str, Mapping[int, str]] = {
    "init_process_group": {3: "world_size", 4: "rank"},
    "init_rpc": {2: "rank", 3: "world_size"},
    "DistributedSampler": {1: "num_replicas", 2: "rank"},
    "split_dataset_by_node": {1: "rank", 2: "world_size"},
    "shard": {0: "num_shards", 1: "index"},
    "array_split": {1: SHARE},
    "linspace": {2: SHARE},
    "tensor_split": {1: SHARE},
    "islice": {3: SHARE},
    "DataLoader": {1: "batch_size"},
    "batch": {0: "batch_size"},
}
"""Parameters of functions of PyTorch, TensorFlow, Hugging Face, NumPy and Python by their places."""


def asks_dns(node: ast.Call, name: str) -> bool:
    """Whether the call, of the function of that name, is a look-up: of the module `socket`, or of a resolver."""
    if not node.args:
        return False
    is_method = isinstance(node.func, ast.Attribute) and "resolver" in ast.unparse(node.func.value).lower()
    return name in ALL_ADDRESSES or (name in _OF_RESOLVER and is_method)


def named_by_place(node: ast.Call, name: str, arguments: Sequence[Values]) -> Iterator[tuple[str, Values]]:
    """The names that arguments of the call, of the function of that name, have by their places: those of parameters, or what a
    text says before it that is formatted."""
    if name == "format" and isinstance(node.func, ast.Attribute) and (text := python_code.literal_text(node.func.value)):
        for before, values in zip(text.split("{}"), arguments, strict=False):
            yield key_before(before), values
    for position, parameter in _POSITIONS.get(name, {}).items():
        if position < len(arguments):
            yield "num_ranks" if parameter == "num_replicas" else parameter, arguments[position]
