"""The rules, in the order in which their verdicts are told: K what the cluster says, T what logs say, H stacks, S pace.

A rule is a module with `RULE`: an id, what it needs, and a pure function. A module that is put into one of the folders
takes part. Its cases are data: recordings of live jobs in tests/doctor/corpus, found by the rule's id in expected.yaml, and
small ones and near misses in tests/doctor/rule_cases.py, which test_rules.py reads. What else is held of a rule is in
tests/doctor/rules, in a file of its name.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from shunter.doctor.rules.rule import Rule

_FOLDERS = ("cluster", "logs", "stacks", "pace")


def _modules() -> Iterator[ModuleType]:
    for folder in _FOLDERS:
        package = importlib.import_module(f"{__name__}.{folder}")
        for name in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
            module = importlib.import_module(f"{package.__name__}.{name}")
            if hasattr(module, "RULE"):
                yield module


MODULES = tuple(_modules())
RULES: tuple[Rule, ...] = tuple(module.RULE for module in MODULES)
