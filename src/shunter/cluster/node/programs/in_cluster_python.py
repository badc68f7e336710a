"""Lets Python's Kubernetes clients find the pod's service account at level `plain`, where nothing can be mounted at its path.

They read `/var/run/secrets/kubernetes.io/serviceaccount` whatever their environment says, and JAX asks them in every process that
has KUBERNETES_SERVICE_HOST, even when it knows its peers. So interpreters of pods get a `sitecustomize`. It changes two
constants of these clients, nothing else, when a program imports them. Programs in other languages see no token at this level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from shunter.cluster.node.content.mounts import Mount
from shunter.kube.kubeconfig import SERVICE_ACCOUNT

VARIABLE = "SHUNTER_SERVICE_ACCOUNT"

_SITECUSTOMIZE = f'''\
# Of Shunter's node. In a pod of level plain: where the clients of Kubernetes find the token of the pod's service account.
import os
import sys

MODULES = ("kubernetes.config.incluster_config", "kubernetes_asyncio.config.incluster_config")


class ServiceAccountFinder:
    def find_spec(self, name, path=None, target=None):
        if name not in MODULES:
            return None
        others = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next((found for finder in others if (found := finder.find_spec(name, path, target))), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                module.SERVICE_TOKEN_FILENAME = os.path.join(os.environ["{VARIABLE}"], "token")
                module.SERVICE_CERT_FILENAME = os.path.join(os.environ["{VARIABLE}"], "ca.crt")

            spec.loader.exec_module = exec_module
        return spec


if "{VARIABLE}" in os.environ:
    sys.meta_path.insert(0, ServiceAccountFinder())

# An environment may have a sitecustomize of its own.
directory = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != directory]
this = sys.modules.pop("sitecustomize")
try:
    import sitecustomize
except ImportError as error:
    sys.modules["sitecustomize"] = this
    if error.name != "sitecustomize":
        raise
'''


def write_sitecustomize(directory: Path) -> None:
    """Writes the module where `account_variables` sends interpreters."""
    directory.mkdir(parents=True, exist_ok=True)
    path, fresh = directory / "sitecustomize.py", directory / ".sitecustomize.py"
    if not path.exists() or path.read_text() != _SITECUSTOMIZE:
        fresh.write_text(_SITECUSTOMIZE)
        fresh.replace(path)


def account_variables(mounts: Iterable[Mount], directory: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Further environment variables of a container; none if no token is mounted at the usual path."""
    source = next((mount.source for mount in mounts if mount.target == str(SERVICE_ACCOUNT)), None)
    if source is None:
        return {}
    own = environment.get("PYTHONPATH", "")
    return {VARIABLE: source, "PYTHONPATH": f"{directory}:{own}" if own else str(directory)}
