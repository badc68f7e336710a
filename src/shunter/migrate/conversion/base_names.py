"""The names that jobs ask for in v2 before suffix and length: their own where v2 allows it, else one that is made of it."""

from __future__ import annotations

import re
from functools import lru_cache

from shunter.api.names import label_1035_faults


def short(kind: str) -> str:
    """`pytorch` of PyTorchJob."""
    return kind.removesuffix("Job").lower()


@lru_cache(maxsize=1024)
def stem(kind: str, name: str, *, is_shared: bool) -> str:
    """`is_shared` when a job of another kind keeps the name."""
    return _as_label(name, short(kind)) + (f"-{short(kind)}" if is_shared else "")


def _as_label(name: str, prefix: str) -> str:
    found = name.rstrip("-")
    if not found or not [fault for fault in label_1035_faults(found) if "more than" not in fault]:
        return found or prefix
    found = re.sub("[^a-z0-9-]", "-", found.lower()).strip("-")
    return found if found[:1].isalpha() else f"{prefix}-{found}".rstrip("-")
