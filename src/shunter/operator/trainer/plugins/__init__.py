"""The table of plugins, in the order in which they change a model: a further one is one module here and one line below.

torch.py               PET_* variables, numProcPerNode; torchtune_command.py: the command of `tune run`
jax.py, xgboost.py     JAX_* and DMLC_* variables
mpi.py                 hostfile, launcher and SSH servers; ssh_keys.py
flux.py                brokers of Flux; flux_scripts.py, curve_certificate.py
plainml.py             runtimes without a framework: numNodes only
coscheduling.py, volcano.py    gang scheduling; pod_group.py: what both say of a job
trainjobstatus.py      token and address of the status server in the training pods
jobset.py              last: the JobSet, with image, command, env and initializers of the TrainJob

Tests: tests/operator/trainer/plugins, image and environment of the launchers and nodes of MPI jobs in test_mpi.py there;
plainml.py in tests/operator/trainer/test_render.py; ssh_keys.py in test_mpi.py.
"""

from __future__ import annotations

from shunter.operator.trainer.plugin import Companion, Plugin
from shunter.operator.trainer.plugins.coscheduling import Coscheduling
from shunter.operator.trainer.plugins.flux import Flux
from shunter.operator.trainer.plugins.jax import JAX
from shunter.operator.trainer.plugins.mpi import MPI
from shunter.operator.trainer.plugins.plainml import PlainML
from shunter.operator.trainer.plugins.torch import Torch
from shunter.operator.trainer.plugins.trainjobstatus import TrainJobStatus
from shunter.operator.trainer.plugins.volcano import Volcano
from shunter.operator.trainer.plugins.xgboost import XGBoost

PLUGINS: tuple[Plugin, ...] = (Torch(), MPI(), JAX(), XGBoost(), Flux(), PlainML(), TrainJobStatus(), Coscheduling(), Volcano())

COMPANIONS: tuple[Companion, ...] = tuple(companion for plugin in PLUGINS for companion in plugin.companions)
"""All objects that a job may have beside its snapshot and its JobSet."""
