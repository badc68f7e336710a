"""What each kind of v1 becomes: a module a kind, found by name of its kind. A module says `KIND` (a name) and `arrange`.

pytorch.py      Master and Workers as one group of nodes, or one each; how processes meet: rules/pytorch
tensorflow.py   a replicated job a role, TF_CONFIG; successPolicy
mpi.py          launcher and nodes; mpi_command.py: options of mpirun; mpi_findings.py, mpi_topics.py: its findings;
                mpi_workers.py: workers that only wait
xgboost.py, paddle.py, jax.py    Master and Workers with v1's variables; the pod that all meet; Workers under the jax plugin

Tests: tests/scenarios/migrate, a folder a kind (findings of MPI in mpi/); what holds for all kinds, and pytorch.py, in
tests/migrate/conversion/kinds.
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
