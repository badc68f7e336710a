"""The operator as a process of its own, to be killed or stopped by signals."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import msgspec

LEASE = "shunter-fault-tests"


def configuration(lease: str, namespace: str, *, duration: float, deadline: float, period: float) -> str:
    """A configuration file with these times of the election, in seconds."""
    return f"""
apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
leaderElection:
  leaderElect: true
  resourceName: {lease}
  resourceNamespace: {namespace}
  leaseDuration: {duration:g}s
  renewDeadline: {deadline:g}s
  retryPeriod: {period:g}s
"""


class OperatorProcess:
    """`shunter operator` without webhooks, elected by one lease of a namespace."""

    def __init__(self, kubeconfig: Path, directory: Path, name: str, configuration: str, namespace: str) -> None:
        self.log = directory / f"{name}.log"
        config = directory / f"{name}.yaml"
        config.write_text(configuration)
        options = {
            "kubeconfig": str(kubeconfig),
            "config": str(config),
            "namespaces": [namespace],
            "webhooks": False,
            "metrics_bind_address": "0",
            "health_probe_bind_address": "0",
        }
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "shunter.operator", msgspec.json.encode(options).decode()], stdout=log, stderr=log
            )

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, seconds: float = 20.0) -> int:
        """Its exit status, once it has ended."""
        return self._process.wait(timeout=seconds)

    def end(self) -> None:
        """Whatever state it is in."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
