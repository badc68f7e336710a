"""All topics of findings, collected from the modules that report them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from types import MappingProxyType, ModuleType

from shunter.api.late_patterns import late_pattern
from shunter.migrate.findings import Topic

_DEFINITION = late_pattern(r'^\w+ = \w*[Tt]opic\(\s*(?:id=)?"([A-Z]+[0-9]+)"', re.MULTILINE)


@cache
def topics() -> MappingProxyType[str, Topic]:
    """Every topic by its id, sorted by id. Two topics of one id are a mistake of ours."""
    found: dict[str, Topic] = {}
    for module in _modules():
        for value in vars(module).values():
            if isinstance(value, Topic):
                assert found.setdefault(value.id, value) is value, f"two topics are called {value.id}"
    return MappingProxyType(dict(sorted(found.items())))


@cache
def modules() -> MappingProxyType[str, str]:
    """The module that defines each topic, by the topic's id: `shunter.migrate.conversion.rules.ttl`."""
    found = ((id, module.__name__) for module in _modules() for id in _DEFINITION.findall(inspect.getsource(module)))
    return MappingProxyType(dict(found))


def _modules() -> Iterator[ModuleType]:
    package = importlib.import_module("shunter.migrate")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(module.name)
