"""All topics that the tool can tell of, found where they stand: beside the rules that tell them."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import MappingProxyType

import shunter.migrate
from shunter.migrate.findings import Topic


@cache
def topics() -> MappingProxyType[str, Topic]:
    """Every topic by its id, sorted by id. Two topics of one id are a mistake of ours."""
    found: dict[str, Topic] = {}
    for module in pkgutil.walk_packages(shunter.migrate.__path__, f"{shunter.migrate.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Topic):
                assert found.setdefault(value.id, value) is value, f"two topics are called {value.id}"
    return MappingProxyType(dict(sorted(found.items())))
