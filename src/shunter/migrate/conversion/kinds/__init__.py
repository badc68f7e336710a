"""What each kind of v1 becomes: a module a kind, found by name of its kind. A module says `KIND` (a name) and `arrange`.

Tests: tests/scenarios/migrate, a folder a kind; tests/migrate/conversion/kinds.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Protocol

from shunter.migrate.conversion.draft import Draft


class Arranger(Protocol):
    """What a module of this package provides."""

    KIND: str

    def arrange(self, draft: Draft) -> None:
        """Decides groups, mlPolicy, numNodes, profile with its reason, and what restores the kind's own rule of success; takes
        the fields of the kind's spec that no other kind has."""


def arrangers() -> dict[str, Arranger]:
    """By kind, such as `PyTorchJob`. Imports all modules of this package."""
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return {module.KIND: module for module in modules if hasattr(module, "KIND")}
