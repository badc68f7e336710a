"""The rules, in the order in which their verdicts are told: K what the cluster says, T what logs say, H stacks, S pace.

A rule is a module with `RULE`: an id, what it needs, and a pure function. A module that is put here takes part;
its cases go into tests/doctor/.
"""

import importlib
import pkgutil
from types import ModuleType

from shunter.doctor.rules.rule import Rule

_ORDER = "kths"


def _modules() -> tuple[ModuleType, ...]:
    names = sorted((module.name for module in pkgutil.iter_modules(__path__)), key=lambda name: (_ORDER.find(name[0]), name))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return tuple(module for module in modules if hasattr(module, "RULE"))


MODULES = _modules()
RULES: tuple[Rule, ...] = tuple(module.RULE for module in MODULES)
