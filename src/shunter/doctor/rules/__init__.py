"""The rules, in the order of their verdicts: K by the cluster's objects, T by logs, H by stacks, S by pace.

cluster/, logs/, stacks/, pace/    the rules, a module each
rule.py                            what a rule is
carried.py                         verdicts about causes that `operator.causes` has decided

A rule is a module with `RULE` in one of the folders: an id, what it needs, and a pure function. Its cases are data: recordings of
live jobs in tests/doctor/corpus, with the rule's id in expected.yaml, and small ones in tests/doctor/rule_cases.py, which
test_rules.py reads. Tests: which rules have a verdict, in those; confidence, texts, thresholds and near misses of a rule in
tests/doctor/rules, in the file of its module; carried.py in those of rules/cluster.
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
