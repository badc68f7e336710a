"""Whether the files of a checkpoint of torch.distributed.checkpoint are all there and whole, by its `.metadata`. Pure.

`.metadata` is a pickle of torch's Metadata, whose `storage_data` says which bytes of which file hold each tensor (torch 2.15,
torch/distributed/checkpoint/filesystem.py). It is read as data: nothing that it names is imported or called.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Mapping
from typing import Any

_TORCH = b"torch.distributed.checkpoint"
"""At the beginning of each `.metadata` of torch."""
_SHARD = re.compile(r"__\d+_\d+\.distcp")
"""A file beside it, as no other library names one."""


def damage(metadata: bytes, sizes: Mapping[str, int]) -> str:
    """What is wrong with a checkpoint, such as `__1_0.distcp is missing`; empty for one that is whole, and for what another
    library has written, of which nothing is known. `sizes` are the bytes of each file beside `.metadata`."""
    if _TORCH not in metadata:
        return ".metadata is truncated" if any(map(_SHARD.fullmatch, sizes)) else ""
    try:
        ends = _ends(_Reader(io.BytesIO(metadata)).load())
    except (EOFError, pickle.UnpicklingError):
        return ".metadata is truncated"
    except Exception:  # another torch may write it in another form
        return ""
    for file, end in sorted(ends.items()):
        if file not in sizes:
            return f"{file} is missing"
        if sizes[file] < end:
            return f"{file} has {sizes[file]:,} bytes of {end:,}"
    return ""


def _ends(metadata: Any) -> dict[str, int]:
    """How many bytes each file must have at least."""
    found: dict[str, int] = {}
    for stored in metadata.state["storage_data"].values():
        file, end = stored.state["relative_path"], stored.state["offset"] + stored.state["length"]
        found[file] = max(end, found.get(file, 0))
    return found


class _Value:
    """Stands for an object of any class, and for that class: it keeps what it is given, and does nothing."""

    state: Any = None

    def __init__(self, *_: Any, **__: Any) -> None:
        """Takes what any class may be made of."""

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        """As of an OrderedDict, which is not looked at."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return type(name, (_Value,), {"__module__": module})
