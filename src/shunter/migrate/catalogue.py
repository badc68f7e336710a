"""All topics of findings, collected from the modules that report them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections import Counter
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
def modules() -> MappingProxyType[str, tuple[str, ...]]:
    """By the id of each topic the modules that report it: the one that defines it (`shunter.migrate.conversion.rules.ttl`), or,
    where that one only defines it, as `mpi_topics` does, those that use it."""
    reporting: dict[str, list[str]] = {}
    definers: dict[str, str] = {}
    for module in _modules():
        source = inspect.getsource(module)
        definers |= dict.fromkeys(_DEFINITION.findall(source), module.__name__)
        for id in _used(module, source):
            reporting.setdefault(id, []).append(module.__name__)
    found = {id: reporting.get(id, [definer]) for id, definer in definers.items()}
    return MappingProxyType({id: (definers[id],) if definers[id] in users else tuple(users) for id, users in found.items()})


def _used(module: ModuleType, source: str) -> set[str]:
    """The ids of the topics with which a module does more than to define or import them."""
    words = Counter(re.findall(r"(?<![.\w])\w+", source))
    used = {value.id for name, value in vars(module).items() if isinstance(value, Topic) and words[name] > 1}
    for alias, imported in vars(module).items():
        if isinstance(imported, ModuleType) and imported.__name__.startswith("shunter.migrate."):
            named = (vars(imported).get(name) for name in re.findall(rf"(?<![.\w]){alias}\.(\w+)", source))
            used |= {topic.id for topic in named if isinstance(topic, Topic)}
    return used


def _modules() -> Iterator[ModuleType]:
    package = importlib.import_module("shunter.migrate")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(module.name)
