"""The MLflow server of an embedded cluster: where it is, and how the supervisor starts it. Pure but for `is_installed`.

It is not part of every cluster: `mlflow_start.start` makes it one's, and from then on it starts and ends with the cluster.
"""

from __future__ import annotations

import sys

from shunter.api.meta import Json
from shunter.cluster.state_dir import StateDir

CHILD = "mlflow"
NAME = "mlflow.shunter-system.svc"
"""Under which pods reach it, by the same port."""
HOST = "127.0.0.1"
_ENVIRONMENT = {
    # Seven processes that run evaluations of language models.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


def is_installed() -> bool:
    """Whether the whole of MLflow is installed beside us; mlflow-skinny, which is enough to log, has no server."""
    import importlib.metadata

    try:
        importlib.metadata.version("mlflow")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def pod_address(port: int) -> str:
    """The address that pods use."""
    return f"http://{NAME}:{port}"


def is_own(address: str) -> bool:
    """Whether an address in the variables of pods is that of a cluster's own server."""
    return address.startswith(f"http://{NAME}:")


def own_address(address: str) -> str:
    """An address in the variables of pods, as this machine reaches it: for a browser. Others stay as they are."""
    return address.replace(f"//{NAME}:", f"//{HOST}:", 1)


def reach_option(port: int) -> str:
    """How pods get there: an argument of the agent's --reach."""
    return f"{NAME}:{port}={HOST}:{port}"


def child(state: StateDir, port: int) -> Json:
    """What the supervisor starts. The program starts another that serves, and would leave it behind when it is killed; so they
    are ended as a group."""
    settings = [f"{name}={value}" for name, value in _ENVIRONMENT.items()]
    argv = ["env", *settings, sys.executable, "-m", "mlflow", "server", "--workers", "1", "--host", HOST, "--port", str(port)]
    argv += ["--backend-store-uri", f"sqlite:///{state.mlflow}/runs.sqlite3"]
    argv += ["--artifacts-destination", str(state.mlflow / "artifacts")]
    # It answers only those who ask for it by a name that it knows.
    argv += ["--allowed-hosts", f"{HOST}:{port},localhost:{port},{NAME}:{port}"]
    return {"name": CHILD, "argv": argv, "ends_as_group": True}
