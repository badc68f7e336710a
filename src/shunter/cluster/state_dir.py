"""Where one embedded cluster keeps everything: the layout of its state directory (drawn in docs/architecture.md)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from shunter.cluster.disk_space import FULL
from shunter.errors import EnvironmentProblem
from shunter.file_locks import is_held


class Record(msgspec.Struct, kw_only=True):
    """cluster.json: what the supervisor says of itself; written when it starts and whenever a child changes."""

    server: str
    supervisor: int
    children: dict[str, int] = {}
    restarts: dict[str, int] = {}
    operator_health: str = ""
    agent_health: str = ""
    started: float = 0.0
    simulate: bool = False
    strict_resources: bool = False
    status_server: int = 0
    """Port of the operator's status server, if its feature gate is on."""
    mlflow: int = 0
    """Port of the MLflow server, for when there is one."""


def default_state_dir() -> Path:
    """`$XDG_STATE_HOME/shunter/default`, where XDG_STATE_HOME is `~/.local/state` unless set; SHUNTER_STATE_DIR wins."""
    if chosen := os.environ.get("SHUNTER_STATE_DIR"):
        return Path(chosen)
    return user_state() / "default"


def user_state() -> Path:
    """The directory of the user in which state directories are."""
    return Path(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "shunter")


class StateDir(NamedTuple):
    """The files of one cluster, by purpose."""

    root: Path

    @property
    def lock(self) -> Path:
        """The supervisor holds it (flock) for as long as it lives."""
        return self.root / "lock"

    @property
    def record(self) -> Path:
        """What the running supervisor says of itself: read it by `read_record`, which knows whether one runs."""
        return self.root / "cluster.json"

    @property
    def kubeconfig(self) -> Path:
        """The user's own, as administrator."""
        return self.root / "kubeconfig"

    @property
    def pki(self) -> Path:
        """The directory of the CA's ca.crt and ca.key, and the API server's server.crt and server.key."""
        return self.root / "pki"

    @property
    def operator_certificate(self) -> Path:
        """tls.crt, tls.key and ca.crt of the operator's webhooks and status server. The operator need not import the library that
        makes certificates: 12 MB, and a tenth of the time it starts in."""
        return self.pki / "operator"

    @property
    def tokens(self) -> Path:
        """Who each bearer token stands for: user and groups, by token."""
        return self.root / "tokens.json"

    @property
    def logs(self) -> Path:
        """COMPONENT.log of each child of the supervisor."""
        return self.root / "logs"

    @property
    def node(self) -> Path:
        """What the agent keeps of pods (`node.layout`)."""
        return self.root / "node"

    @property
    def volumes(self) -> Path:
        """Where claims get their directories; unlike the node's they are kept for as long as the claims are."""
        return self.root / "volumes"

    @property
    def images(self) -> Path:
        """Environments that stand for images (`node.content.image_environments`). Beside it: pods see nothing that is in it."""
        return self.root.with_name(f"{self.root.name}-images")

    @property
    def checkpoints(self) -> Path:
        """NAMESPACE/JOB below it: where jobs made by `shunter run PROGRAM` keep checkpoints. Kept until they are removed."""
        return self.root / "checkpoints"

    @property
    def mlflow(self) -> Path:
        """Runs and artifacts of the cluster's MLflow server, which starts with the cluster once this is there."""
        return self.root / "mlflow"

    @property
    def page(self) -> Path:
        """Where `shunter ui` serves the web page, while it does."""
        return self.root / "page.json"

    @property
    def page_opener(self) -> Path:
        """A file that leads the browser of `shunter ui` to the page, with a login code; nothing else may read it."""
        return self.root / "page.html"

    @property
    def launch(self) -> Path:
        """What the supervisor is to start; it stays after a stop, and the next start takes the ports from it."""
        return self.root / "launch.json"

    def component_kubeconfig(self, component: str) -> Path:
        """The kubeconfig of `operator` or `agent`, each with a token of its own."""
        return self.root / "kubeconfigs" / component

    def create(self) -> None:
        """Makes the directory tree, private to the user; raises EnvironmentProblem when that is impossible."""
        with self.explained():
            for part in (self.root, self.pki, self.logs, self.node, self.root / "kubeconfigs", self.root / "store"):
                part.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = self.root / ".writable"
            probe.touch()
            probe.unlink()

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Turns what the file system refuses into an EnvironmentProblem that names the directory."""
        try:
            yield
        except OSError as error:
            remedy = "Choose one you can write with --state-dir, or set SHUNTER_STATE_DIR."
            if error.errno in FULL:
                remedy = "Make room on its disk, or choose another directory with --state-dir."
            raise EnvironmentProblem(f"state directory {self.root}: {error.strerror or error}{which(error)}.", remedy) from error

    def read_record(self) -> Record | None:
        """What the running supervisor wrote, or None when no supervisor holds the lock."""
        if not self.is_locked():
            return None
        try:
            return msgspec.json.decode(self.record.read_bytes(), type=Record)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def is_locked(self) -> bool:
        """Whether a supervisor is alive on this directory (the kernel drops its lock however it ends)."""
        with self.explained(), contextlib.suppress(FileNotFoundError, NotADirectoryError), open(self.lock, "rb") as handle:
            return is_held(handle)
        return False


def which(error: OSError) -> str:
    """The file that an error is about, for messages."""
    return f" ({error.filename})" if error.filename else ""


def write_private(path: Path, content: bytes) -> None:
    """Replaces the file in one step, readable by its owner only."""
    fresh = path.with_name(path.name + ".new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as handle:
        handle.write(content)
    fresh.replace(path)
